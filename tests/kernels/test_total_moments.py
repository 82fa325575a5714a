"""Totals of rows with k ones against inclusion and pair probabilities of brute force."""

import numpy as np
import pytest

from ribp.kernels.total_moments import total_moments
from ribp.testing import exact
from tests.helpers.harsh_cases import CASES


def moments(theta, k, x):
    log_e, mean, cov = np.empty(1), np.empty((1, x.shape[1])), np.empty((1, *[x.shape[1]] * 2))
    total_moments(theta[None], np.array([k]), x[None], log_e, mean, cov)
    return log_e[0], mean[0], cov[0]


def by_pairs(theta, k, x):
    """Return mean and covariance of the totals from all pairs."""
    n = theta.size
    eta = exact.inclusion_probs(theta, k)
    pairs = np.diag(eta)
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        pairs[i, j] = pairs[j, i] = exact.pair_prob(theta, k, i, j)
    return x.T @ eta, x.T @ (pairs - np.outer(eta, eta)) @ x


@pytest.mark.parametrize("name", [name for name in CASES if 1 < CASES[name].size < 12])
def test_moments_are_brute_force(name):
    theta = CASES[name]
    x = np.random.default_rng(0).normal(3.0, 1.0, (theta.size, 2))
    for k in range(theta.size + 1):
        log_e, mean, cov = moments(theta, k, x)
        truth = exact.log_esp(theta, k)[k]
        assert log_e == pytest.approx(truth, rel=1e-12, abs=1e-12)
        for found, right in zip((mean, cov), by_pairs(theta, k, x), strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-11)


def test_infinite_log_odds_are_left_out():
    theta = np.array([0.3, np.inf, -np.inf, -1.0, 0.7])
    x = np.arange(10.0).reshape(5, 2)
    log_e, mean, cov = moments(theta, 2, x)
    rest = [0, 3, 4]
    of_rest = moments(theta[rest], 1, x[rest])
    assert log_e == of_rest[0]
    np.testing.assert_allclose(mean, of_rest[1] + x[1], rtol=1e-15)
    np.testing.assert_array_equal(cov, of_rest[2])


def test_a_shift_of_x_changes_no_covariance():
    """The mean is taken off where it is small: x far from zero loses no digits it has."""
    rng = np.random.default_rng(1)
    theta, x = rng.normal(size=40), rng.integers(0, 5, (40, 2)).astype(float)
    np.testing.assert_allclose(
        moments(theta, 15, x + 2.0**30)[2], moments(theta, 15, x)[2], rtol=1e-6
    )


def test_nodes_that_fill_whole_vectors():
    """With 14 features there are eight nodes, and none of weight zero to stop at."""
    theta = np.random.default_rng(2).normal(size=14)
    log_e, mean, _ = moments(theta, 6, np.eye(14))
    assert log_e == pytest.approx(exact.log_esp(theta, 6)[6], rel=1e-13)
    np.testing.assert_allclose(mean, exact.inclusion_probs(theta, 6), atol=1e-13)
