"""Coins, picks and binomial numbers made of counter-based uniforms."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import choose
from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair
from ribp.testing.goodness import holds, is_caught, replicates
from tests.helpers.binomial_cells import binomial_p_value


def test_coins_compare_the_uniform_of_their_place():
    for at in range(6):
        u = uniform_pair(1, 2, 3, at // 2)[at % 2]
        log_odds = math.log(u / (1 - u))
        assert choose.coin(1, 2, 3, at, log_odds + 1e-9)
        assert not choose.coin(1, 2, 3, at, log_odds - 1e-9)


@pytest.mark.parametrize("log_odds", [37.1, 1e300, math.inf])
def test_certain_coins(log_odds):
    least = 2.0**-53
    assert math.log((1 - least) / least) < 37 < log_odds
    assert choose.coin(0, 0, 0, 0, log_odds)
    assert not choose.coin(0, 0, 0, 0, -log_odds)
    assert not choose.coin(0, 0, 0, 0, math.nan)


def test_picks_have_their_probabilities():
    log_weights = np.array([-1.0, -math.inf, 0.5, -45.0, 0.0, 0.5]) + 1000
    probs = np.exp(log_weights - 1000.5)
    edges = np.cumsum(probs) / probs.sum()
    for i, (low, high) in enumerate(zip([0, *edges[:-1]], edges, strict=True)):
        if high - low > 1e-3:
            for u in (low + 1e-6, (low + high) / 2, high - 1e-6):
                assert choose.pick(log_weights.copy(), u) == i
    for u in (1e-16, 0.5, 1 - 1e-16):
        assert choose.pick(np.array([-50.0, 3.0, -38.0]), u) == 1
        assert choose.pick(np.full(3, -math.inf), u) == -1
        assert choose.pick(np.array([-1e308, 1e308]), u) == 1


def exact_log_binomial(k, n, p):
    """Return log P(k) with 50 digits."""
    with localcontext(prec=50):
        chance = Decimal(p)
        value = math.comb(n, k) * chance**k * (1 - chance) ** (n - k)
        return float(value.ln())


@pytest.mark.parametrize("n", [1, 2, 17, 40, 300])
@pytest.mark.parametrize("p", [1e-12, 0.01, 0.3, 0.5, 1 - 2**-20])
def test_log_binomial_is_exact(n, p):
    for k in {0, 1, n // 3, n // 2, n - 1, n} - {-1}:
        found = choose.log_binomial(float(k), float(n), p)
        assert found == pytest.approx(exact_log_binomial(k, n, p), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("n", [1e6, 1e10])
def test_log_binomial_of_large_numbers(n):
    """Ratios of neighbours are rational; the sum is one up to the width of the grid."""
    p = 0.3
    centre, spread = round(n * p), math.sqrt(n * p * (1 - p))
    for k in centre + np.round(spread * np.linspace(-6, 6, 13)):
        ratio = math.log((n - k) / (k + 1) * (p / (1 - p)))
        found = choose.log_binomial(k + 1, n, p) - choose.log_binomial(k, n, p)
        assert found == pytest.approx(ratio, abs=1e-9)
    grid = np.round(centre + spread * np.linspace(-9, 9, 601))
    density = np.exp([choose.log_binomial(k, n, p) for k in grid])
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=2e-6)


@pytest.mark.parametrize("n", [20, 40, 100, 1000, 10**5, 10**8])
@pytest.mark.parametrize("p", [1e-6, 1e-3, 0.1, 0.25, 0.5])
def test_rejection_has_a_hat_above_and_a_squeeze_below(n, p):
    if n * p < 10:
        return
    a, b, alpha, squeeze = choose.rejection_constants(float(n), p)
    u = np.concatenate([np.linspace(-0.5, 0.5, 20_001)[1:-1], 0.5 - np.logspace(-9, -4, 200)])
    u = np.concatenate([u, -u])
    h = 0.5 - np.abs(u)
    k = np.floor((2 * a / h + b) * u + n * p + 0.5)
    mode = np.floor((n + 1) * p)
    ratio = np.exp(stats.binom.logpmf(k, n, p) - stats.binom.logpmf(mode, n, p))
    height = ratio * (a / h**2 + b) / alpha
    assert height.max() <= 1.0
    inside = h >= 0.07
    assert height[inside].min() >= squeeze
    assert 0 <= k[inside].min() <= k[inside].max() <= n


def test_impossible_and_certain_outcomes():
    for n, p, k in [(0.0, 0.5, 0.0), (7.0, 0.0, 0.0), (7.0, 1.0, 7.0), (7.0, math.nan, 0.0)]:
        assert choose.binomial(0, 0, 0, 5, n, p) == (k, 5)


@jit
def draws(seed, n, p, size):
    out = np.empty(size)
    for row in range(size):
        out[row], _ = choose.binomial(seed, 0, row, 0, n, p)
    return out


def check(n, p, shift=0.0):
    """Return a check of draws, whose mean may be off by a part of their spread."""
    drawn_p = p + shift * math.sqrt(n * p * (1 - p)) / n

    def p_values(size, seed):
        return [binomial_p_value(draws(np.uint64(seed), float(n), drawn_p, size), n, p)]

    return p_values


CASES = [(1, 0.3), (5, 0.2), (5, 0.8), (30, 0.5), (30, 0.97), (200, 0.3), (10**6, 1e-6)]
CASES += [(10**6, 0.5), (10**6, 1 - 1e-5), (10**9, 0.123), (10**12, 1e-11), (33, 0.31)]


@pytest.mark.jit
@pytest.mark.parametrize(("n", "p"), CASES)
def test_binomial_frequencies(n, p):
    assert holds(check(n, p), replicates(100_000))


@pytest.mark.jit
@pytest.mark.parametrize(("n", "p"), [(5, 0.2), (200, 0.3), (10**6, 0.5)])
def test_wrong_binomials_are_caught(n, p):
    assert is_caught(check(n, p, shift=0.05), 100_000)

    def rounded(size, seed):
        normal = np.random.default_rng(seed).normal(n * p, math.sqrt(n * p * (1 - p)), size)
        return [binomial_p_value(np.floor(normal), n, p)]

    if n < 1000:  # the central limit is not enough
        assert is_caught(rounded, 100_000)


@pytest.mark.parametrize(("n", "p"), [(6, 0.3), (60, 0.4), (60, 0.7)])
def test_binomial_without_the_compiler(n, p):
    assert holds(check(n, p), replicates(1000))


@pytest.mark.parametrize("most", [-30.0, -5.0, -1.0, -1e-3, 0.0, 2.0, math.inf, -math.inf])
def test_what_is_sure_is_what_the_coin_shows(most):
    """For no uniform is a coin sure of what it does not show; far from even it mostly is."""
    draws = np.linspace(0.0, 1.0, 2001)[1:-1]
    sure = np.array([choose.surely_tails(u, most) for u in draws])
    assert not (sure & (np.log(draws / (1.0 - draws)) < most)).any()
    assert sure.mean() > (0.95 if most <= -5.0 else 0.0) or most >= 0.0
