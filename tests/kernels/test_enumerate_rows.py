"""Rows summed out by visiting all of them: against brute force, and the draw made on the way."""

from functools import partial
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp.kernels import enumerate_rows as kernel
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.row_cases import (
    DIMS,
    FEATURES,
    ONES,
    ROWS,
    SEEN,
    TABLE,
    THETA,
    gaussian_log_likelihood,
    poisson_log_likelihood,
)

RNG = np.random.default_rng(8)
A = RNG.gamma(1.0, 1.0, (FEATURES, DIMS))
X = np.array([2.0, 0.0, 1.0, 4.0, 1.0])
NONE_ON = {"no ones": np.array([0.0, *[-np.inf] * FEATURES])}
ALL_ON = {"all ones": np.array([*[-np.inf] * FEATURES, -THETA.sum()])}
TABLES = TABLE | NONE_ON | ALL_ON
SEED = np.array([5], np.uint64)


def visited(features, smallest, largest):
    """Return the sets that `next_set` visits, in order."""
    members, size = np.empty(largest, np.int64), 0
    sets = []
    while size >= 0:
        sets.append(tuple(members[:size].tolist()))
        size = kernel.next_set(members, size, features, smallest, largest)
    return sets


@pytest.mark.parametrize("features", [1, 4, 6])
def test_every_possible_set_is_visited_once_and_few_others(features):
    for smallest in range(features + 1):
        for largest in range(smallest, features + 1):
            sets = visited(features, smallest, largest)
            assert len(sets) == len(set(sets))
            for size in range(smallest, largest + 1):
                expected = set(combinations(range(features), size))
                assert {s for s in sets if len(s) == size} == expected
            for found in sets:  # all others are on the way to one of them
                last = found[-1] if found else -1
                assert len(found) + features - 1 - last >= smallest


def test_three_of_24_cost_little_more_than_their_number():
    assert len(visited(24, 3, 3)) < 1.2 * comb(24, 3)


def blank(rows):
    """Return space for log sums, probabilities and draws."""
    return np.empty(rows), np.empty((rows, FEATURES)), np.empty((rows, FEATURES), np.int8)


def enumerate_gaussian(seen, table, x=X, seeds=SEED):
    loadings = np.ascontiguousarray(A.T)
    gram = A @ A.T
    out, rows = blank(len(seeds)), len(seeds)
    kernel.gaussian(
        seeds, np.tile(np.where(seen, x, 0.0), (rows, 1)), np.tile(seen, (rows, 1)), loadings,
        gram - np.diag(np.diag(gram)), np.diag(gram).copy(), THETA, table, *out,
    )  # fmt: skip
    return out


def enumerate_poisson(seen, table, offset, features=A, exposure=1.0):
    out = blank(1)
    kernel.poisson(
        SEED, X[None], seen[None], np.array([exposure]), np.ascontiguousarray(features.T), offset,
        THETA, table, *out,
    )  # fmt: skip
    return out


def check(out, log_likelihood, table):
    log_sums, probs, sample = out
    log_p = table[ONES] + ROWS @ THETA + log_likelihood
    total = logsumexp(log_p)
    if total == -np.inf:
        assert log_sums[0] == -np.inf
        assert np.isnan(probs).all()
        assert not sample.any()
        return
    np.testing.assert_allclose(log_sums[0], total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(probs[0], np.exp(log_p - total) @ ROWS, rtol=0, atol=1e-13)
    assert log_p[sample[0] @ (1 << np.arange(FEATURES))] > -np.inf


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", TABLES)
def test_gaussian_rows(table, seen):
    out = enumerate_gaussian(SEEN[seen], TABLES[table])
    check(out, gaussian_log_likelihood(X, A, SEEN[seen]), TABLES[table])


@pytest.mark.parametrize("background", [0.3, 0.0])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", TABLES)
def test_poisson_rows(table, seen, background):
    offset = np.full(DIMS, background)
    for exposure in (1.0, 2.3):
        out = enumerate_poisson(SEEN[seen], TABLES[table], offset, exposure=exposure)
        exact = poisson_log_likelihood(X, A, SEEN[seen], offset, exposure)
        check(out, exact, TABLES[table])


def test_poisson_rows_when_few_z_are_possible():
    features = np.zeros_like(A)
    features[[0, 1, 2, 2], [0, 2, 3, 4]] = 1.5  # x has counts in columns 0, 2, 3, 4
    offset = np.zeros(DIMS)
    log_likelihood = poisson_log_likelihood(X, features, SEEN["all"], offset)
    assert (log_likelihood > -np.inf).sum() == 2
    out = enumerate_poisson(SEEN["all"], TABLE["interval"], offset, features)
    check(out, log_likelihood, TABLE["interval"])
    np.testing.assert_array_equal(out[1][0, :3], 1.0)


def test_a_likelihood_far_from_one_neither_overflows_nor_underflows():
    for size in (1e3, -1e3):
        (log_sum,), probs, _ = enumerate_gaussian(SEEN["all"], TABLE["interval"], x=size * X)
        assert np.isfinite(log_sum)
        np.testing.assert_allclose(probs[0], float(size > 0), atol=1e-12)


def choice_p_values(log_weights, n, seed, scaled=True):
    """Compare how often each set was chosen with its weight; the twin never scales its goal."""
    counts = np.zeros(len(log_weights))
    tally, sums, z = np.empty(4), np.empty(len(log_weights)), np.empty(len(log_weights), np.int8)
    for key in range(seed, seed + n):
        kernel.start(tally, sums, z)
        for i, value in enumerate(log_weights):
            if not scaled and value > tally[kernel.TOP] > -np.inf:
                tally[kernel.GOAL] *= np.exp(value - tally[kernel.TOP])
            kernel.weigh(np.uint64(key), value, np.array([i]), tally, sums, z)
        counts += z
    return [frequencies_p_value(counts, np.exp(log_weights - log_weights.max()))]


STREAMS = {
    "rising": np.log([0.05, 0.1, 0.15, 0.3, 0.4]),
    "falling": np.log([0.4, 0.3, 0.15, 0.1, 0.05]) + 700.0,
    "mixed": np.array([-np.inf, -800.0, -1.0, -2.0, -np.inf, -1.5]),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_set_of_the_stream_is_chosen_in_proportion_to_its_weight(stream):
    assert holds(partial(choice_p_values, STREAMS[stream]), replicates(600))


def test_a_choice_whose_goal_is_not_scaled_is_caught():
    assert is_caught(partial(choice_p_values, STREAMS["rising"], scaled=False), 600)


@pytest.mark.jit
def test_draws_have_the_law_of_z_given_x():
    prior = TABLE["interval"][ONES] + ROWS @ THETA

    def p_values(log_law, n, seed):
        seeds = np.random.default_rng(seed).integers(2**63, size=n, dtype=np.uint64)
        _, _, sample = enumerate_gaussian(SEEN["few"], TABLE["interval"], seeds=seeds)
        counts = np.bincount(sample @ (1 << np.arange(FEATURES)), minlength=len(ROWS))
        return [frequencies_p_value(counts, np.exp(log_law))]

    posterior = prior + gaussian_log_likelihood(X, A, SEEN["few"])
    assert holds(partial(p_values, posterior), replicates(20_000))
    assert is_caught(partial(p_values, prior), 20_000)
