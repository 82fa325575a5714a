"""Starts and chains: rows obey their laws, seeds repeat, features are found, room is made."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ribp import counts
from ribp.datasets import load_chords, scaled
from ribp.errors import InputError
from ribp.kernels import sweep_collapsed as kernel
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete, with_missing
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs, gibbs_rows
from ribp.mcmc.rows_collapsed import summarise
from ribp.model import Model
from ribp.search import capacity, starts

UPDATES = {"gibbs": gibbs.update, "gibbs-rows": gibbs_rows.update_in_memory}


def after(rng, model, state, data, method, n_sweeps):
    """Return the state after some sweeps."""
    for _ in range(n_sweeps):
        state, _ = UPDATES[method](rng, np.uint64(7), state, model, data)
    return state


QUICK = starts.Schedule(steps=5, steps_alone=8, cold_sweeps=2, learning_sweeps=2, growing_sweeps=10)


def f1_score(found, truth):
    """Return F1 of the entries, columns matched one to one by their own F1."""
    both = found.T.astype(float) @ truth
    sizes = found.sum(axis=0)[:, None] + truth.sum(axis=0)
    match = linear_sum_assignment(-both / np.maximum(sizes, 1))
    return 2 * both[match].sum() / (found.sum() + truth.sum())


def test_filling_reaches_the_counts_and_keeps_the_summary():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(7, 4))
    rows = np.zeros((7, 5), np.int8)
    rows[0, 2] = rows[1, 4] = 1
    wanted = np.array([1, 3, 0, 2, 5, 1, 2])
    summary = summarise(data, rows.astype(float), np.full(5, 1.3))
    kernel.fill(np.uint64(3), 0, data, rows, wanted, *summary, np.zeros(5))
    np.testing.assert_array_equal(rows.sum(axis=1), wanted)
    assert rows[0, 2] == rows[1, 4] == 1  # ones that were there stay
    for kept, truth in zip(
        summary, summarise(data, rows.astype(float), np.full(5, 1.3)), strict=True
    ):
        np.testing.assert_allclose(kept, truth, atol=1e-10)


LAWS = {
    "groups": counts.by_group({"a": counts.exactly(2), "b": counts.uniform(1, 3)}, list("ab") * 20),
    "one group": counts.as_row_counts(counts.exactly(2), 40),
    "gap": counts.as_row_counts(counts.table([0, 0.5, 0, 0.5]), 40),
    "wide": counts.as_row_counts(counts.learned([1, 1, 0, 1, 1, 1]), 40),
    "none": counts.as_row_counts(counts.exactly(0), 40),
}


@pytest.mark.jit
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_rows_obey_their_laws_and_seeds_repeat(law, background):
    rng = np.random.default_rng(2)
    data = rng.normal(size=(40, 6))
    data[rng.random(data.shape) < 0.1] = np.nan
    data[3], data[:, 2] = np.nan, np.nan
    model = Model(LAWS[law], 8, LinearGaussian(background=background))

    def run(seed):
        return starts.best_start(np.random.default_rng(seed), model, with_missing(data), 3, QUICK)

    state = run(5)
    probs = model.counts.log_probs(8)[model.counts.law_of_row, state.rows.sum(axis=1)]
    assert np.isfinite(probs).all()
    again = run(5)
    np.testing.assert_array_equal(state.rows, again.rows)
    np.testing.assert_array_equal(state.parameters.features, again.parameters.features)
    assert law == "none" or (state.rows != run(6).rows).any()


@pytest.mark.jit
def test_more_rows_than_the_search_takes(monkeypatch):
    monkeypatch.setattr(starts, "SEARCH_ROWS", 60)
    rng = np.random.default_rng(0)
    truth = np.eye(5, dtype=np.int8)[rng.integers(5, size=200)]
    data = complete(truth @ rng.normal(0, 3, (5, 8)) + 0.3 * rng.normal(size=(200, 8)))
    model = Model(counts.as_row_counts(counts.exactly(1), 200), 8, LinearGaussian())
    state = starts.best_start(rng, model, data, 2, starts.Schedule(steps_alone=60))
    assert f1_score(state.rows, truth) > 0.95


@pytest.mark.jit
def test_chords_are_found():
    """One seed of the recovery study (`experiments/recovery`)."""
    chords = load_chords()
    data = complete(scaled(chords.spectra))
    model = Model(counts.as_row_counts(chords.counts, 232), 24, LinearGaussian())
    rng = np.random.default_rng(0)
    state = after(rng, model, starts.best_start(rng, model, data, 2), data, "gibbs", 10)
    assert f1_score(state.rows, chords.notes) > 0.98


@pytest.mark.jit
@pytest.mark.parametrize("method", ["gibbs", "gibbs-rows"])
def test_room_is_made_where_it_is_needed(method):
    rng = np.random.default_rng(0)
    truth = np.eye(18, dtype=np.int8)[np.repeat(np.arange(18), 8)]
    data = complete(truth @ rng.normal(0, 4, (18, 12)) + 0.3 * rng.normal(size=(144, 12)))
    laws = counts.as_row_counts(counts.exactly(1), 144)
    assert capacity.first_guess(laws) == 16
    model = capacity.with_room(rng, Model(laws, 16, LinearGaussian()), data, UPDATES[method])
    assert model.n_features > 18
    state = starts.best_start(rng, model, data, 1)
    larger, state = capacity.enlarged(rng, model, state)
    assert state.rows.shape[1] == larger.n_features == state.log_odds.size
    assert capacity.spare(state) >= 5
    following = after(rng, larger, state, data, method, 1)
    assert following.rows.shape == state.rows.shape
    assert f1_score(following.rows, truth) > 0.9


@pytest.mark.jit
def test_room_stays_where_it_is_enough():
    rng = np.random.default_rng(0)
    model = Model(counts.as_row_counts(counts.exactly(1), 12), 6, LinearGaussian())
    rows = np.eye(2, dtype=np.int8)[np.arange(12) % 2]
    data = complete(rows @ (9 * np.eye(2, 4)) + 0.1 * rng.normal(size=(12, 4)))
    assert capacity.with_room(rng, model, data, gibbs.update).n_features == 6


def test_first_guess_leaves_room_for_the_law():
    assert capacity.first_guess(counts.as_row_counts(counts.exactly(30), 5)) == 60
    assert capacity.first_guess(counts.as_row_counts(counts.uniform(0, 40), 5)) == 41


@pytest.mark.jit
def test_counts_find_their_rows():
    """The Poisson likelihood borrows the Gaussian search."""
    rng = np.random.default_rng(3)
    truth = np.array([rng.permutation(np.arange(5) < 2) for _ in range(150)], np.int8)
    features = rng.gamma(0.5, 20.0, (5, 25))
    data = complete(rng.poisson(truth @ features + 0.1).astype(float))
    likelihood = PoissonCounts(background=True, prior_mean=float(data.values.mean()))
    model = Model(counts.as_row_counts(counts.exactly(2), 150), 8, likelihood)
    state = starts.best_start(rng, model, data, 2, starts.Schedule(steps_alone=150))
    state = after(rng, model, state, data, "gibbs-rows", 20)
    assert f1_score(state.rows, truth) > 0.95


def test_counts_cannot_be_integrated_out():
    model = Model(counts.as_row_counts(counts.exactly(1), 4), 3, PoissonCounts())
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, 2)
    with pytest.raises(InputError, match="gibbs-rows"):
        gibbs.update(rng, np.uint64(0), state, model, complete(values))


ODD = {
    "one row": np.array([[1.0, 2.0, 3.0]]),
    "one column": np.arange(6.0)[:, None],
    "constant": np.full((5, 3), 2.0),
    "constant column": np.column_stack([np.ones(6), np.arange(6.0)]),
    "nothing observed": np.full((4, 3), np.nan),
    "large": 1e8 * np.random.default_rng(0).normal(size=(6, 3)),
    "small": 1e-8 * np.random.default_rng(0).normal(size=(6, 3)),
}


@pytest.mark.jit
@pytest.mark.parametrize("method", ["gibbs", "gibbs-rows"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_are_no_trouble(name, method):
    data, rng = as_data(ODD[name]), np.random.default_rng(0)
    variance = float(np.nan_to_num(data.values.var())) or 1.0
    likelihood = LinearGaussian(noise_variance=variance)
    laws = counts.as_row_counts(counts.uniform(0, 2), len(data.values))
    model = Model(laws, 5, likelihood)
    state = after(rng, model, starts.best_start(rng, model, data, 2, QUICK), data, method, 5)
    assert np.isfinite(model.log_joint(state, data))
    assert np.isfinite(state.parameters.features).all()
    assert (state.parameters.noise_scale > 0).all()
