"""The Gibbs sweep over rows: right, it keeps the posterior; as printed, it does not."""

import numpy as np
import pytest

from experiments.printed import gibbs as printed_gibbs
from experiments.printed.rows import flip_matrix
from ribp import counts
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.model import Model
from ribp.testing import exact
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.printed_cases import CODE, LAW, THETA

A = np.random.default_rng(5).normal(size=(5, 3))
NOISE = np.array([0.8, 1.5, 1.1])
X = np.array([0.7, -0.4, 1.2])


def posterior(seen=(True, True, True)):
    """Return log p(x | z) and p(z | x) for all rows."""
    residual = ((X - exact.all_rows(5) @ A) / NOISE)[:, list(seen)]
    height = -0.5 * (residual**2).sum(axis=1)
    weight = exact.row_probs(THETA, LAW) * np.exp(height)
    return height, weight / weight.sum()


def swept(rng, rows, printed, data):
    given = GaussianParameters(A, np.zeros(3), NOISE, 1.0)
    log_f = LAW.log_probs(5)[None]
    which = np.zeros(len(rows), np.int64)
    return printed_gibbs.sweep_rows(rng, data, rows, given, THETA, log_f, which, printed=printed)


@pytest.mark.parametrize("missing", [False, True])
def test_a_right_sweep_keeps_the_posterior_and_a_printed_one_does_not(missing):
    x = np.where([False, missing, False], np.nan, X)
    _, law = posterior((True, not missing, True))

    def p_values(n, seed, printed=False):
        rng = np.random.default_rng(seed)
        data = (with_missing if missing else complete)(np.tile(x, (n, 1)))
        rows = exact.all_rows(5)[rng.choice(32, n, p=law)]
        found = np.bincount(swept(rng, rows, printed, data) @ CODE, minlength=32)
        return [frequencies_p_value(found, law)]

    assert holds(p_values, replicates(40_000))
    assert is_caught(lambda n, seed: p_values(n, seed, printed=True), 10_000)


@pytest.mark.parametrize("printed", [False, True])
def test_a_sweep_moves_as_its_matrix_says(printed):
    start = 6
    height, law = posterior()
    steps = [flip_matrix(THETA, LAW, i, height, printed=printed) for i in range(5)]
    expected = np.linalg.multi_dot(steps)[start]

    def p_values(n, seed):
        rng, rows = np.random.default_rng(seed), np.tile(exact.all_rows(5)[start], (n, 1))
        found = swept(rng, rows, printed, complete(np.tile(X, (n, 1))))
        return [frequencies_p_value(np.bincount(found @ CODE, minlength=32), expected)]

    assert holds(p_values, replicates(40_000))
    kept = max(np.abs(law @ step - law).max() for step in steps)
    assert (kept > 0.01) if printed else (kept < 1e-15)


def test_rows_that_cannot_change_stay():
    rng = np.random.default_rng(2)
    rows = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 1, 0]], np.int8)
    given = GaussianParameters(A, np.zeros(3), NOISE, 1.0)
    log_f, which = counts.exactly(2).log_probs(5)[None], np.zeros(2, np.int64)
    data = complete(np.tile(X, (2, 1)))
    found = printed_gibbs.sweep_rows(rng, data, rows, given, THETA, log_f, which)
    np.testing.assert_array_equal(found, rows)


@pytest.mark.jit
def test_a_sweep_over_everything():
    laws = counts.as_row_counts(counts.uniform(0, 2), 20)
    model = Model(laws, 4, LinearGaussian())
    rng = np.random.default_rng(3)
    state, values = model.simulate(rng, 3)
    for _ in range(3):
        state, info = printed_gibbs.update(rng, state, model, complete(values))
    assert state.number == 3
    assert np.isfinite(info.log_joint)
    assert state.rows.sum(axis=1).max() <= 2
