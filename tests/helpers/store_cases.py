"""Small runs with many rows: data, models, and sweeps with rows in memory or in shards."""

import signal
import subprocess
import sys
import time

import numpy as np

from ribp import counts
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import with_missing
from ribp.mcmc import gibbs_rows, rows_given_features
from ribp.model import Model
from ribp.recording import pack_rows, unpack_rows
from tests.helpers import ROOT

ROWS, DIMS, FEATURES = 9000, 4, 5  # three groups of blocks, the last one short
LAWS = counts.by_group(
    {"a": counts.learned([1.0] * 4), "b": counts.table([0, 0.5, 0, 0.5])}, list("ab") * (ROWS // 2)
)
CASES = {
    "gaussian": (LinearGaussian(), 0.0),
    "background, missing": (LinearGaussian(background=True), 0.3),
    "shared noise": (LinearGaussian(shared=True, background=True), 0.0),
    "counts": (PoissonCounts(background=True), 0.0),
    "counts, missing": (PoissonCounts(background=True), 0.3),
}


SHARDS = {
    "one shard": (1, (0,)),
    "two threads": (2, (0,)),
    "uneven shards": (1, (0, 8192)),
    "three shards": (2, (0, 4096, 8192)),
}


class StoppedError(Exception):
    """What a machine that fails would raise."""


def simulated(likelihood, share, unit=None):
    """Return a model, a state of it, and data, perhaps rounded, with NaN where missing."""
    model = Model(LAWS, FEATURES, likelihood)
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, DIMS)
    if unit is not None:
        values = np.round(values / unit)
    return model, state, np.where(rng.random(values.shape) < share, np.nan, values)


def case(name):
    return simulated(*CASES[name])


def features(n_rows=ROWS, seed=0, share=0.0):
    """Return rows of one or two of three clear features, with noise."""
    rng = np.random.default_rng(seed)
    loads = 3.0 * np.eye(3, DIMS) + 1.0
    rows = np.zeros((n_rows, 3))
    rows[np.arange(n_rows), rng.integers(3, size=n_rows)] = 1.0
    rows[rng.random(n_rows) < 0.3, 0] = 1.0
    values = rows @ loads + 0.3 * rng.normal(size=(n_rows, DIMS))
    return np.where(rng.random(values.shape) < share, np.nan, values), rows


def data_of(values):
    return with_missing(values.copy())


def model_of(n_rows, n_features=4):
    """Return a model of `features`."""
    laws = {"a": counts.uniform(1, 2), "b": counts.learned([1.0] * 3)}
    law = counts.by_group(laws, list("ab" * n_rows)[:n_rows])
    return Model(law, n_features, LinearGaussian(background=True))


def in_memory(name, n_sweeps=6):
    """Return the last of some states, and the log joints."""
    model, state, values = case(name)
    data, rng, log_joints = data_of(values), np.random.default_rng(3), []
    for _ in range(n_sweeps):
        state, info = gibbs_rows.update_in_memory(rng, np.uint64(5), state, model, data)
        log_joints.append(info.log_joint)
    return state, log_joints


def in_shards(name, store_of, n_sweeps=6):
    """Return the same from rows in shards."""
    model, state, values = case(name)
    store = store_of(values)
    store.look()
    rows = store.rows(rows_given_features.layout(FEATURES), model.counts.law_of_row)
    rows.load(pack_rows(state.rows))
    state, rng, log_joints = state._replace(rows=state.rows[:0]), np.random.default_rng(3), []
    for _ in range(n_sweeps):
        state, info = gibbs_rows.update(rng, np.uint64(5), state, model, rows)
        log_joints.append(info.log_joint)
    z = unpack_rows(rows.packed(), FEATURES)
    np.testing.assert_array_equal(info.tally.sizes, z.sum(axis=0))
    return state._replace(rows=z), log_joints


def kill_driver(code, run):
    """Run code in another process, and kill it when its first chain has some draws in a folder."""
    driver = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    deadline = time.monotonic() + 120
    while not list(run.glob("chain-0-draws-0003*")) and time.monotonic() < deadline:
        assert driver.poll() is None
        time.sleep(0.005)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
