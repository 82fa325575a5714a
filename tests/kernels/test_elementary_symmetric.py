"""Kernels for all counts against many-digit arithmetic, and draws against enumeration."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import elementary_symmetric as esp
from ribp.testing import exact
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.harsh_cases import CASES, falling


def unit(k):
    weights = np.zeros(k + 1)
    weights[k] = 1.0
    return weights


@pytest.mark.parametrize("name", CASES)
def test_log_esp_all_counts(name):
    theta = CASES[name]
    truth = exact.log_esp(theta, theta.size)
    for k_max in (theta.size, theta.size // 2, 1):
        found = esp.log_esp(theta, k_max)
        bound = 1e-12 * np.maximum(1, np.abs(truth[: k_max + 1]))
        assert (np.abs(found - truth[: k_max + 1]) <= bound).all()


@pytest.mark.parametrize("name", CASES)
def test_weighted_inclusion_is_brute_force(name):
    theta = CASES[name]
    for k in range(theta.size + 1):
        truth = exact.inclusion_probs(theta, k)
        for block in (1, 4, theta.size):
            found = esp.weighted_inclusion(theta, unit(k), block)
            np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


def test_weighted_inclusion_is_linear_and_the_gradient():
    theta = CASES["normal"]
    weights = np.random.default_rng(0).random(theta.size + 1)
    found = esp.weighted_inclusion(theta, weights, 3)
    parts = [w * exact.inclusion_probs(theta, k) for k, w in enumerate(weights)]
    np.testing.assert_allclose(found, np.sum(parts, axis=0), atol=1e-12)
    step = 1e-5
    for i in range(theta.size):
        shift = step * (np.arange(theta.size) == i)
        values = [weights @ esp.log_esp(falling(theta + s * shift), 14) for s in (1, -1)]
        assert found[i] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-8)


@pytest.mark.jit
@pytest.mark.parametrize("spread", ["normal", "uniform(+-700)"])
def test_a_hundred_thousand_features(spread):
    rng = np.random.default_rng(1)
    n, k = 100_000, 3
    theta = rng.normal(0, 2, n) if spread == "normal" else rng.uniform(-700, 700, n)
    theta = falling(theta)
    truth = exact.log_esp(theta, k)
    found = esp.log_esp(theta, k)
    assert (np.abs(found - truth) <= 1e-10 * np.maximum(1, np.abs(truth))).all()
    probs = esp.weighted_inclusion(theta, unit(k), 316)
    np.testing.assert_allclose(probs, exact.inclusion_probs(theta, k), rtol=0, atol=1e-12)


@pytest.mark.jit
def test_many_counts_of_many_features():
    # e_k for k up to 2000 of 4000 equal odds is a binomial coefficient, times 10^(100 k).
    n, scale = 4000, 100 * math.log(10)
    found = esp.log_esp(np.full(n, scale), 2000)
    truth = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                      + k * scale for k in range(2001)])  # fmt: skip
    assert (np.abs(found - truth) <= 1e-10 * np.maximum(1, np.abs(truth))).all()


def test_skip_table_is_the_law_of_the_last_member():
    theta = CASES["normal"]
    n, k_max = theta.size, 5
    table, logs = esp.skip_table(theta, k_max)
    assert not logs
    for j in range(1, k_max + 1):
        base = theta[:j].sum()
        for i in range(j, n + 1):
            truth = exact.log_esp(theta[:i], j)[j] - base
            assert math.log(table[j, i]) == pytest.approx(truth, abs=1e-12)


def test_skip_table_across_its_blocks():
    theta = falling(np.random.default_rng(3).normal(0, 1, 600))
    table, _ = esp.skip_table(theta, 2)
    for i in (255, 256, 257, 512, 600):
        truth = exact.log_esp(theta[:i], 2)[2] - theta[:2].sum()
        assert math.log(table[2, i]) == pytest.approx(truth, abs=1e-11)


def test_skip_table_in_logs_where_doubles_end():
    # C(740, 370) is about exp(509): the table holds logarithms, and draws still have the law.
    theta = np.zeros(740)
    table, logs = esp.skip_table(theta, 370)
    assert logs
    truth = math.lgamma(741) - 2 * math.lgamma(371)
    assert table[370, 740] == pytest.approx(truth, rel=1e-12)
    # equal odds: the number below the middle is hypergeometric
    law = stats.hypergeom(740, 370, 370).pmf(np.arange(371))

    def p_values(n, seed):
        counts = np.full(n, 370)
        flat = esp.draw_sets(np.uint64(seed), 0, counts, table, logs, np.arange(740))
        sets = flat.reshape(n, 370)
        assert all(len(set(row)) == 370 for row in sets)
        return [frequencies_p_value(np.bincount((sets < 370).sum(axis=1), minlength=371), law)]

    def coins(n, seed):  # the broken twin: a member may be drawn twice
        below = np.random.default_rng(seed).binomial(370, 0.5, n)
        return [frequencies_p_value(np.bincount(below, minlength=371), law)]

    assert holds(p_values, replicates(100))
    assert is_caught(coins, 1000)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_draws_have_the_law_of_sets(k):
    theta = falling([1.5, 0.3, 0.3, -0.7, 2.0, -3.0])
    sets = list(combinations(range(6), k))
    mass = np.array([np.exp(theta[list(s)].sum()) for s in sets])
    table, logs = esp.skip_table(theta, k)
    index = {s: at for at, s in enumerate(sets)}

    def p_values(n, seed, power=1.0):
        flat = esp.draw_sets(np.uint64(seed), 0, np.full(n, k), table, logs, np.arange(6))
        drawn = np.sort(flat.reshape(n, k), axis=1)
        seen = np.bincount([index[tuple(d)] for d in drawn], minlength=len(sets))
        return [frequencies_p_value(seen, mass**power)]

    assert holds(p_values, replicates(6000))
    if len(sets) > 1:
        assert is_caught(lambda n, seed: p_values(n, seed, power=0.7), 3000)


def test_draws_of_mixed_counts_are_laid_end_to_end():
    counts = np.array([0, 3, 1, 0, 4])
    table, logs = esp.skip_table(falling(np.arange(4.0)), 4)
    flat = esp.draw_sets(np.uint64(9), 3, counts, table, logs, np.arange(4))
    parts = np.split(flat, np.cumsum(counts)[:-1])
    assert [len(set(part)) for part in parts] == counts.tolist()
    # A row's draw depends on (seed, sweep, row) only, not on the rows before it.
    alone = esp.draw_sets(np.uint64(9), 3, np.array([0, 0, 0, 0, 4]), table, logs, np.arange(4))
    np.testing.assert_array_equal(alone, parts[4])
