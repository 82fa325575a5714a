"""`ribp.PoissonBinomial` against convolution, many-digit arithmetic and SciPy's binomial."""

from functools import reduce

import numpy as np
import pytest
from scipy import stats

import ribp
from ribp.testing import exact
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.messages import message_of


def test_pmf_is_a_convolution():
    theta = np.random.default_rng(0).normal(0, 2, 12)
    p = 1 / (1 + np.exp(-theta))
    truth = reduce(np.convolve, np.stack([1 - p, p], axis=1))
    np.testing.assert_allclose(ribp.PoissonBinomial(theta).pmf(np.arange(13)), truth, rtol=1e-13)


def test_far_tails_have_small_relative_error():
    theta = np.random.default_rng(1).normal(-20, 5, 25)
    log_zero = -np.logaddexp(0, theta).sum()
    truth = exact.log_esp(theta, 25) + log_zero
    found = ribp.PoissonBinomial(theta).pmf(np.arange(26))
    seen = truth > -600
    np.testing.assert_allclose(np.log(found[seen]), truth[seen], atol=1e-11)


def test_certain_coins_shift_the_law():
    law = ribp.PoissonBinomial([np.inf, 0.0, -np.inf, np.inf])
    assert law.pmf([1, 2, 3, 4]).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert law.mean == 2.5
    assert law.variance == 0.25


@pytest.mark.jit
@pytest.mark.parametrize("n", [2_000, 100_000])
def test_large_inputs(n):
    p = 0.3
    law = ribp.PoissonBinomial(np.full(n, np.log(p / (1 - p))))
    k = np.arange(int(n * p) - 50, int(n * p) + 50)
    np.testing.assert_allclose(law.pmf(k), stats.binom.pmf(k, n, p), rtol=1e-9)
    np.testing.assert_allclose(law.cdf(k), stats.binom.cdf(k, n, p), rtol=1e-9)


def test_cdf_and_quantile_are_inverse():
    law = ribp.PoissonBinomial(np.random.default_rng(2).normal(size=9))
    k = np.arange(10)
    np.testing.assert_allclose(law.cdf(k), np.cumsum(law.pmf(k)), rtol=1e-14)
    assert law.cdf([-1, 9, 50]).tolist() == [0.0, 1.0, 1.0]
    assert law.pmf([-1, 10]).tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(law.quantile(law.cdf(k)), k)
    np.testing.assert_array_equal(law.quantile(law.cdf(k[:-1]) + 1e-9), k[1:])
    assert law.quantile(0.0) == 0
    assert law.quantile(1.0) == 9


def test_draws():
    law = ribp.PoissonBinomial(np.random.default_rng(3).normal(size=6))
    probs = law.pmf(range(7))

    def p_values(n, seed, probs=probs):
        drawn = law.sample(np.random.default_rng(seed), (n, 2))
        assert drawn.shape == (n, 2)
        return [frequencies_p_value(np.bincount(drawn.ravel(), minlength=7), probs)]

    assert holds(p_values, replicates(5000))
    assert is_caught(lambda n, seed: p_values(n, seed, probs[::-1]), 5000)
    assert law.sample(5).shape == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ribp.PoissonBinomial([[0.0], [1.0]]), ["log_odds must have one axis", "(2, 1)"]),
        (lambda: ribp.PoissonBinomial([np.nan]), ["log_odds", "NaN"]),
        (lambda: ribp.PoissonBinomial([0.0]).pmf(0.5), ["k must hold whole numbers", "0.5"]),
        (lambda: ribp.PoissonBinomial([0.0]).quantile(1.5), ["u must lie between 0 and 1", "1.5"]),
        (lambda: ribp.PoissonBinomial([0.0]).quantile("a"), ["u must lie between 0 and 1"]),
        (lambda: ribp.PoissonBinomial([0.0]).sample(0, -1), ["n must be at least 0"]),
        (lambda: ribp.PoissonBinomial([0.0]).sample(0, 2.5), ["n must be a whole number"]),
        (lambda: ribp.PoissonBinomial([0.0]).quantile(np.nan), ["u must lie between 0 and 1"]),
    ],
)
def test_bad_input(call, words):
    message_of(call, *words)


def test_repr():
    assert repr(ribp.PoissonBinomial([0.0, 1.0])) == "PoissonBinomial(<2 log-odds>)"
