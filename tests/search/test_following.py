"""From a start to a state: rows that were not searched follow, and states are sound."""

import numpy as np
import pytest

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.counts.finite import free_law
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs, gibbs_rows
from ribp.model import Model
from ribp.search import capacity, pool
from ribp.search.following import best_start
from ribp.testing.recovery import f1
from tests.helpers.search_cases import ODD, obey

UPDATES = {"gibbs": gibbs.update, "gibbs-rows": gibbs_rows.update_in_memory}


def after(rng, model, state, data, method, n_sweeps):
    """Return the state after some sweeps."""
    for _ in range(n_sweeps):
        state, _ = UPDATES[method](rng, np.uint64(7), state, model, data)
    return state


@pytest.mark.jit
@pytest.mark.parametrize("unrestricted", [False, True])
def test_more_rows_than_the_search_takes(unrestricted, monkeypatch):
    monkeypatch.setattr(pool, "SEARCH_ROWS", 60)
    rng = np.random.default_rng(0)
    truth = np.eye(5, dtype=np.int8)[rng.integers(5, size=200)]
    data = complete(truth @ rng.normal(0, 3, (5, 8)) + 0.3 * rng.normal(size=(200, 8)))
    model = Model(counts.as_row_counts(counts.exactly(1), 200), 8, LinearGaussian())
    state = best_start(rng, BuffetModel(200, LinearGaussian()) if unrestricted else model, data, 2)
    assert len(state.rows) == 200
    assert unrestricted or obey(state.rows, model)
    assert f1(state.rows, truth) > 0.95


@pytest.mark.jit
@pytest.mark.parametrize("method", ["gibbs", "gibbs-rows"])
@pytest.mark.parametrize("name", ODD)
def test_chains_go_on_from_odd_data(name, method, short_searches):
    data, rng = as_data(ODD[name]), np.random.default_rng(0)
    variance = float(np.nan_to_num(data.values.var())) or 1.0
    likelihood = LinearGaussian(noise_variance=variance)
    laws = counts.as_row_counts(counts.uniform(0, 2), len(data.values))
    model = Model(laws, 5, likelihood)
    state = after(rng, model, best_start(rng, model, data, 2), data, method, 5)
    assert np.isfinite(model.log_joint(state, data))
    assert np.isfinite(state.parameters.features).all()
    assert (state.parameters.noise_scale > 0).all()


@pytest.mark.jit
@pytest.mark.parametrize("method", ["gibbs", "gibbs-rows"])
def test_a_state_can_get_more_room(method, short_searches):
    rng = np.random.default_rng(0)
    truth = np.eye(4, dtype=np.int8)[rng.integers(4, size=40)]
    data = complete(truth @ rng.normal(0, 4, (4, 9)) + 0.3 * rng.normal(size=(40, 9)))
    model = Model(counts.as_row_counts(counts.exactly(1), 40), 4, LinearGaussian())
    state = best_start(rng, model, data, 1)
    assert capacity.needs_room(truth)
    larger, state = capacity.enlarged(rng, model, state)
    assert state.rows.shape[1] == larger.n_features == state.log_odds.size == 6
    assert not capacity.needs_room(state.rows)
    following = after(rng, larger, state, data, method, 1)
    assert following.rows.shape == state.rows.shape


def test_counts_cannot_be_integrated_out():
    model = Model(counts.as_row_counts(counts.exactly(1), 4), 3, PoissonCounts())
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, 2)
    with pytest.raises(InputError, match="gibbs-rows"):
        gibbs.update(rng, np.uint64(0), state, model, complete(values))


def test_first_guess_leaves_room_for_the_law():
    assert capacity.first_guess(counts.as_row_counts(counts.exactly(30), 5)) == 60
    assert capacity.first_guess(counts.as_row_counts(counts.uniform(0, 40), 5)) == 41
    assert len(free_law().base) == 21
    assert len(free_law(5).base) == 6
