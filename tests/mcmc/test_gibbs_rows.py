"""The sampler with features kept: joint law, broken twins, threads, and a count law learned."""

import numpy as np
import pytest

from ribp import counts
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete, with_missing
from ribp.mcmc import gibbs, gibbs_rows
from ribp.mcmc.rows_given_features import Step, Sweep, layout, sweep_rows
from ribp.model import Model
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.local import in_memory
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.gibbs_cases import (
    CASES,
    STEPS,
    SWEEPS,
    Trial,
    forgetful,
    heavier,
    noisier,
    some,
    without_offsets,
)
from tests.helpers.same_bits import assert_same_states

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", CASES)
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Trial(CASES[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


@pytest.mark.parametrize("name", some(without_offsets(CASES), ["gap", "counts, background"]))
def test_data_and_state_in_turn_keep_it(name):
    assert holds(Trial(CASES[name], gibbs_rows.update_in_memory).in_turn, STEPS)


def zeros_for_data(rng, seed, state, model, data):
    """Update rows as if missing entries had been seen, and were zero."""
    steps = (Step(state.number, model.row_prior(state)),)
    sweep = Sweep(model.likelihood, seed, state.parameters, steps)
    rows, _ = sweep_rows(sweep, complete(data.values), model.counts.law_of_row, state.rows)
    return gibbs.finish_in_memory(rng, state._replace(rows=rows), model, data)


def stronger(rng, state, model):
    """Spoil a state: features with a larger mean."""
    given = state.parameters
    return state._replace(parameters=given._replace(feature_scale=1.2 * given.feature_scale))


@pytest.mark.parametrize(
    ("name", "update", "spoil", "replicates"),
    [
        ("noise per column", gibbs_rows.update_in_memory, noisier, 400),
        ("noise per column", gibbs_rows.update_in_memory, heavier, 400),
        ("learned laws", gibbs_rows.update_in_memory, forgetful, 200),
        ("counts", gibbs_rows.update_in_memory, stronger, 400),
        ("shared noise", zeros_for_data, None, 600),
        ("counts, fixed mean", zeros_for_data, None, 100),
    ],
)
def test_broken_twins_are_caught(name, update, spoil, replicates):
    broken = Trial(CASES[name], update, spoil) if spoil else Trial(CASES[name], update)
    assert is_caught(broken.one_sweep, replicates)


# Repeatable, whatever the threads


def swept(rng, seed, state, model, data, n_threads):
    """Return a state after a sweep on some threads."""
    rows = in_memory(data, n_threads).rows(layout(model.n_features), model.counts.law_of_row)
    rows.load(pack_rows(state.rows))
    state, info = gibbs_rows.update(rng, seed, state, model, rows)
    return state._replace(rows=unpack_rows(rows.packed(), model.n_features)), info


MANY = 1300  # more than two blocks of rows
LAWS = counts.by_group(
    {"a": counts.learned([1.0] * 4), "b": counts.table([0, 0.5, 0, 0.5])}, list("ab") * (MANY // 2)
)
LIKELIHOODS = {
    "gaussian": (LinearGaussian(background=True), 0.0),
    "gaussian, missing": (LinearGaussian(), 0.3),
    "counts": (PoissonCounts(background=True), 0.0),
    "counts, missing": (PoissonCounts(background=True), 0.3),
}


def chain(name, seed, n_threads):
    likelihood, share = LIKELIHOODS[name]
    model = Model(LAWS, 5, likelihood)
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, 4)
    data = with_missing(np.where(rng.random(values.shape) < share, np.nan, values))
    rng = np.random.default_rng(seed)
    for _ in range(4):
        state, _ = swept(rng, np.uint64(seed), state, model, data, n_threads)
    return state


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_same_seed_same_draws_on_one_thread_or_two(name):
    first = chain(name, 3, 1)
    assert_same_states(first, chain(name, 3, 1))
    assert_same_states(first, chain(name, 3, 2))
    with pytest.raises(AssertionError):
        assert_same_states(first, chain(name, 4, 1))


# A count law that nobody knows

TRUTH = np.array([0.1, 0.4, 0.0, 0.3, 0.15, 0.05])
BASE = np.full(7, 0.5)


def learned_law(n_draws, seed, spoil=lambda rng, state, model: state):
    """Return draws of a law learned from 2000 rows of six clear features, and the rows' counts.

    The chain starts with the right features, and rows that know nothing of the data.
    """
    rng = np.random.default_rng(seed)
    likelihood = LinearGaussian(noise_scale=0.3, feature_scale=3.0)
    model = Model(counts.as_row_counts(counts.learned(BASE), 2000), 6, likelihood)
    state, _ = model.simulate(rng, 60)
    with np.errstate(divide="ignore"):
        rows = model.draw_rows(rng, np.zeros(6), np.log([[*TRUTH, 0.0]]))
    values = likelihood.draw_data(rng, rows, state.parameters)
    state = state._replace(log_odds=np.zeros(6))
    found = []
    for sweep in range(10 + n_draws):
        state, _ = gibbs_rows.update_in_memory(rng, np.uint64(1), state, model, complete(values))
        state = spoil(rng, state, model)
        if sweep >= 10:
            found.append(np.exp(state.count_log_probs[0]))
    return np.array(found), np.bincount(rows.sum(axis=1), minlength=7)


def law_given_rows(spoil=lambda rng, state, model: state):
    """Return a check that the law has the Dirichlet posterior of the rows' counts.

    Its draws are independent given the rows, and of these the data leave no doubt.
    """

    def check(n, seed):
        found, histogram = learned_law(n, seed, spoil)
        shape = BASE + histogram
        return list(map(mean_p_value, found.T, shape / shape.sum()))

    return check


def test_a_learned_law_is_recovered():
    assert holds(law_given_rows(), replicates(60))
    assert is_caught(law_given_rows(forgetful), 60)
    found, _ = learned_law(30, 0)
    np.testing.assert_allclose(found.mean(axis=0), [*TRUTH, 0.0], atol=0.05)  # 4.5 errors of f
