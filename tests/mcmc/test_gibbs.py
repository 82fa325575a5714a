"""The sampler with features integrated out keeps the joint law of states and data."""

import numpy as np
import pytest

import ribp.model
from ribp.likelihoods.data import complete
from ribp.mcmc import gibbs, rows_collapsed
from ribp.testing.goodness import holds, is_caught
from tests.helpers.gibbs_cases import (
    GAUSSIAN,
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


@pytest.mark.parametrize("name", GAUSSIAN)
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Trial(GAUSSIAN[name], gibbs.update).one_sweep, SWEEPS)


@pytest.mark.parametrize("name", some(without_offsets(GAUSSIAN), ["gap", "blank row and column"]))
def test_data_and_state_in_turn_keep_it(name):
    assert holds(Trial(GAUSSIAN[name], gibbs.update).in_turn, STEPS)


@pytest.mark.parametrize(
    ("name", "spoil", "replicates"),
    [
        ("noise per column", noisier, 400),
        ("noise per column", heavier, 400),
        ("learned laws", forgetful, 200),
    ],
)
def test_broken_twins_are_caught(name, spoil, replicates):
    assert is_caught(Trial(GAUSSIAN[name], gibbs.update, spoil).one_sweep, replicates)


def test_a_broken_twin_is_caught_by_the_chain():
    assert is_caught(Trial(GAUSSIAN["noise per column"], gibbs.update, noisier).in_turn, 1500)


def zeros_for_data(rng, seed, state, model, data):
    """Update rows as if missing entries had been seen, and were zero."""
    rows = rows_collapsed.update(rng, seed, state, model, complete(data.values))
    return gibbs.finish_in_memory(rng, state._replace(rows=rows), model, data)


def fills_for_data(rng, seed, state, model, data):
    """Update rows as if missing entries had been seen, with values drawn given the features."""
    drawn = rows_collapsed.filled(rng, data, state.rows, state.parameters)
    seen = complete(drawn * state.parameters.noise_scale)
    rows = rows_collapsed.update(rng, seed, state, model, seen)
    return gibbs.finish_in_memory(rng, state._replace(rows=rows), model, data)


def test_missing_entries_are_not_data():
    """Zeros are wrong. Fills are right, though slow: a row's own ones hold it where it is."""
    assert is_caught(Trial(GAUSSIAN["shared noise"], zeros_for_data).one_sweep, 600)
    assert holds(Trial(GAUSSIAN["shared noise"], fills_for_data).one_sweep, SWEEPS)


def counts_of_a_row(sweeps):
    """Return how many ones the first row has, sweep after sweep, under a law on {1, 3}."""
    trial, rng = Trial(GAUSSIAN["gap"], gibbs.update), np.random.default_rng(0)
    state, data = trial.simulate(rng)
    found = []
    for _ in range(sweeps):
        state = trial.update(rng, state, data)
        found.append(int(state.rows[0].sum()))
    return set(found)


def test_rows_cross_a_gap(monkeypatch):
    assert counts_of_a_row(100) == {1, 3}
    # The broken twin: without whole rows a row stays on its side for ever.
    monkeypatch.setattr(ribp.model, "needs_whole_rows", lambda tables: np.zeros(len(tables), bool))
    assert len(counts_of_a_row(100)) == 1


@pytest.mark.parametrize("name", ["background", "gap, missing", "learned laws"])
def test_same_seed_same_draws(name):
    def chain(seed):
        model, _ = GAUSSIAN[name]
        rng = np.random.default_rng(seed)
        state, values = model.simulate(np.random.default_rng(0), 3)
        data = Trial(GAUSSIAN[name], gibbs.update).observe(values)
        for _ in range(10):
            state, _ = gibbs.update(rng, np.uint64(seed), state, model, data)
        return state

    assert_same_states(chain(3), chain(3))
    with pytest.raises(AssertionError):
        assert_same_states(chain(3), chain(4))
