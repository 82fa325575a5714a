"""Sharing rows out between two features: dense Gaussian densities, and all outcomes at once."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from ribp.kernels.split_merge import share_out
from ribp.testing.goodness import agrees, frequencies_p_value, n_seeds

SCALE = 1.3
FIRST, SECOND = 2, 0
ROWS = np.array(
    [[1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1]], np.int8
)
ORDER = np.array([5, 0, 3, 2])  # rows that have one of the two features
REST = np.setdiff1d(np.arange(len(ROWS)), ORDER)
X = np.random.default_rng(0).normal(0, 1.5, (len(ROWS), 2))


def log_marginal(data, rows):
    """Return log p(X | Z), the features integrated out, from the dense covariance of a column."""
    covariance = np.eye(len(rows)) + SCALE**2 * rows.astype(float) @ rows.T
    return stats.multivariate_normal(np.zeros(len(rows)), covariance).logpdf(data.T).sum()


def expected_log_prob(data, in_first, grows=1):
    """Return the log probability of one outcome, row after row, by its definition."""
    rows, entered, sizes = ROWS.copy(), list(REST), [2, 2]
    total = 0.0
    for n, first in zip(ORDER, in_first, strict=True):
        choices = []
        for into, size in ((FIRST, sizes[0]), (SECOND, sizes[1])):
            rows[n, [FIRST, SECOND]] = 0
            rows[n, into] = 1
            now = [*entered, n]
            choices.append(math.log(size + 1) + log_marginal(data[now], rows[now]))
        total += choices[not first] - logsumexp(choices)
        rows[n, [FIRST, SECOND]] = first, not first
        sizes[not first] += grows
        entered.append(n)
    return total


def shared(data, rows, given, seed=0):
    """Return what `share_out` returns, and S and M' as it leaves them."""
    rest = rows[REST].astype(float)
    cov = np.linalg.inv(rest.T @ rest + np.eye(3) / SCALE**2)
    mean = np.ascontiguousarray((cov @ rest.T @ data[REST]).T)
    sizes = np.array([2, 2])
    log_prob = share_out(
        np.uint64(seed), 0, data, rows, FIRST, SECOND, ORDER, cov, mean, sizes, given
    )
    return log_prob, cov, mean


def with_outcome(in_first):
    rows = ROWS.copy()
    rows[ORDER, FIRST], rows[ORDER, SECOND] = in_first, np.logical_not(in_first)
    return rows


OUTCOMES = list(itertools.product([True, False], repeat=len(ORDER)))


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_outcomes_have_their_probabilities_and_these_sum_to_one(size):
    """With data of size 30 most choices are certain, one way or the other."""
    found = []
    for outcome in OUTCOMES:
        rows = with_outcome(outcome)
        found.append(shared(size * X, rows, True)[0])
        np.testing.assert_array_equal(rows, with_outcome(outcome))
    assert abs(np.exp(found).sum() - 1.0) < 1e-12
    expected = [expected_log_prob(size * X, outcome) for outcome in OUTCOMES]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_draw_has_the_probability_of_its_outcome():
    for seed in range(20):
        rows = ROWS.copy()
        log_prob, cov, mean = shared(X, rows, False, seed)
        again, same_cov, same_mean = shared(X, rows.copy(), True)
        assert log_prob == again
        np.testing.assert_array_equal(cov, same_cov)
        np.testing.assert_array_equal(mean, same_mean)
        dense = rows.astype(float)
        exact = np.linalg.inv(dense.T @ dense + np.eye(3) / SCALE**2)
        np.testing.assert_allclose(cov, exact, atol=1e-12)
        np.testing.assert_allclose(mean, (exact @ dense.T @ X).T, atol=1e-12)
        np.testing.assert_array_equal(rows[REST], ROWS[REST])
        np.testing.assert_array_equal(rows[:, 1], ROWS[:, 1])
        np.testing.assert_array_equal(rows.sum(axis=1), ROWS.sum(axis=1))


@pytest.mark.jit
def test_draws_have_their_law():
    power = 1 << np.arange(len(ORDER))[::-1]
    seen = np.zeros(len(OUTCOMES))
    for seed in range(n_seeds(4000)):
        rows = ROWS.copy()
        shared(X, rows, False, seed)
        seen[power @ rows[ORDER, SECOND]] += 1
    probs = np.exp([expected_log_prob(X, outcome) for outcome in OUTCOMES])
    assert agrees(frequencies_p_value(seen, probs))
    # The broken twin: sizes of the features that do not grow with the rows they get.
    wrong = np.exp([expected_log_prob(X, outcome, grows=0) for outcome in OUTCOMES])
    assert not agrees(frequencies_p_value(seen, wrong))
