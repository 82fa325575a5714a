"""Rows whose entries have a size, in shards and on a cluster: the same draws, bit for bit."""

import numpy as np
import pytest

from ribp.likelihoods import (
    GaussianStrengths,
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
    PoissonStrengths,
)
from ribp.mcmc import gibbs_rows
from ribp.mcmc.rows_given_features import DrawnExposures, all_rows, layout, rows_in_memory
from ribp.model import Model
from ribp.rows.local import LocalStore
from ribp.rows.source import ArraySource
from tests.helpers.dask_cases import ON_DASK, store_on
from tests.helpers.same_bits import assert_same_states
from tests.helpers.store_cases import DIMS, FEATURES, LAWS, SHARDS, data_of

pytestmark = ON_DASK
CASES = {
    "strengths": (GaussianStrengths(strength_law="positive"), "weak-limit", 0.0),
    "sums": (PoissonMultiplicities(restrict="sum", background=True), "gamma-odds", 0.3),
    "non-zeros": (NegativeBinomialMultiplicities(failures=2.0), "weak-limit", 0.0),
    "exposures": (PoissonStrengths(background=True, exposure="given"), "weak-limit", 0.2),
    "learned exposures": (PoissonStrengths(exposure="learn"), "weak-limit", 0.0),
}
OWN = np.random.default_rng(9).gamma(3.0, 0.4, len(LAWS))
SWEEPS = 6


def simulated(name):
    likelihood, weights, share = CASES[name]
    model = Model(LAWS, FEATURES, likelihood, 1.2, 2.0, weights)
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, DIMS)
    return model, state, np.where(rng.random(values.shape) < share, np.nan, values)


def in_memory(name):
    model, state, values = simulated(name)
    data, rng, log_joints = data_of(values), np.random.default_rng(3), []
    if model.likelihood.exposure == "given":
        data = data._replace(exposures=OWN)
    for _ in range(SWEEPS):
        state, info = gibbs_rows.update_in_memory(rng, np.uint64(5), state, model, data)
        log_joints.append(info.log_joint)
    if model.likelihood.exposure == "learn":
        table = rows_in_memory(data, LAWS.law_of_row, state.rows)
        drawn = np.concatenate(table.do(DrawnExposures(np.uint64(5), 3, state.parameters)))
        log_joints += drawn.tolist()
    return state, log_joints


def in_shards(name, store_of):
    model, state, values = simulated(name)
    store = store_of(values)
    store.look()
    if model.likelihood.exposure == "given":
        store.use_exposures(OWN)
    rows = store.rows(layout(FEATURES, model.likelihood.entries), LAWS.law_of_row)
    rows.load(state.rows)
    state, rng, log_joints = model.without_rows(state), np.random.default_rng(3), []
    for _ in range(SWEEPS):
        state, info = gibbs_rows.update(rng, np.uint64(5), state, model, rows)
        log_joints.append(info.log_joint)
    sizes = all_rows(rows)
    np.testing.assert_array_equal(info.tally.sizes, (sizes != 0).sum(axis=0))
    if model.likelihood.exposure == "learn":
        drawn = np.concatenate(rows.do(DrawnExposures(np.uint64(5), 3, state.parameters)))
        log_joints += drawn.tolist()
    return state._replace(rows=sizes), log_joints


@pytest.mark.parametrize("shards", ["two threads", "three shards"])
@pytest.mark.parametrize("name", CASES)
def test_shards_and_threads_change_nothing(name, shards):
    n_threads, edges = SHARDS[shards]
    found = in_shards(name, lambda values: LocalStore(ArraySource(values), n_threads, edges))
    assert_same_states(in_memory(name), found)


@pytest.mark.parametrize("name", ["strengths", "sums", "exposures", "learned exposures"])
def test_a_cluster_changes_nothing(name, client):
    assert_same_states(in_memory(name), in_shards(name, store_on(client)))
