"""Small runs with many rows: data, models, and the draws of a fit as arrays."""

import numpy as np

from ribp import counts
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.base import with_missing
from ribp.model import Model

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


def case(name):
    """Return a model, a state of it, and data with NaN where missing."""
    likelihood, share = CASES[name]
    model = Model(LAWS, FEATURES, likelihood)
    rng = np.random.default_rng(0)
    state, values = model.simulate(rng, DIMS)
    return model, state, np.where(rng.random(values.shape) < share, np.nan, values)


def features(n_rows=ROWS, seed=0, share=0.0):
    """Return rows of one or two of three clear features, with noise."""
    rng = np.random.default_rng(seed)
    loads = 3.0 * np.eye(3, DIMS) + 1.0
    rows = np.zeros((n_rows, 3))
    rows[np.arange(n_rows), rng.integers(3, size=n_rows)] = 1.0
    rows[rng.random(n_rows) < 0.3, 0] = 1.0
    values = rows @ loads + 0.3 * rng.normal(size=(n_rows, DIMS))
    return np.where(rng.random(values.shape) < share, np.nan, values), rows


def assert_same_draws(one, other):
    """Compare two results, bit for bit."""
    for group in ("posterior", "features", "warmup"):
        here, there = (r.tree.children[group].dataset for r in (one, other))
        assert set(here) == set(there)
        for name in here:
            np.testing.assert_array_equal(here[name].to_numpy(), there[name].to_numpy(), name)


def data_of(values):
    return with_missing(values.copy())
