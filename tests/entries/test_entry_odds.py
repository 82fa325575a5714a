"""Odds of count entries: against their definition, in range and out of it."""

import numpy as np
import pytest
from scipy import special, stats

from ribp.entries import negative_binomial_nonzero, negative_binomial_one, poisson_nonzero
from ribp.errors import InputError

THETA = np.array([-12.0, -2.0, 0.0, 0.7, 3.0])


def test_poisson_nonzero_is_the_odds_of_a_poisson_entry():
    rate = np.exp(THETA)
    zero = stats.poisson.pmf(0, rate)
    np.testing.assert_allclose(np.exp(poisson_nonzero(THETA)), -np.expm1(-rate) / zero, rtol=1e-13)


def test_poisson_one_is_what_the_atom_carries():
    rate = np.exp(THETA)
    np.testing.assert_allclose(stats.poisson.pmf(1, rate) / stats.poisson.pmf(0, rate), rate)


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.5])
def test_negative_binomial_odds_are_those_of_the_entry(shape):
    pi = special.expit(THETA)
    law = stats.nbinom(shape, 1 - pi)  # SciPy counts failures before `shape` successes
    odds = law.sf(0) / law.pmf(0)
    np.testing.assert_allclose(np.exp(negative_binomial_nonzero(THETA, shape)), odds, rtol=1e-11)
    one = law.pmf(1) / law.pmf(0)
    np.testing.assert_allclose(np.exp(negative_binomial_one(THETA, shape)), one, rtol=1e-11)


def test_shape_one_has_the_odds_of_a_bernoulli_entry():
    theta = np.array([-1e5, -40.0, 0.0, 30.0, 500.0])
    np.testing.assert_allclose(negative_binomial_nonzero(theta, 1.0), theta, atol=1e-15)


def test_extremes_stay_finite_or_infinite_for_a_reason():
    np.testing.assert_allclose(poisson_nonzero([-1e6, 6.0, np.inf]), [-1e6, np.exp(6.0), np.inf])
    ends = np.array([-np.inf, -1e6, 1e6, np.inf])
    want = [-np.inf, np.log(2.5) - 1e6, 2.5e6, np.inf]
    np.testing.assert_allclose(negative_binomial_nonzero(ends, 2.5), want, rtol=1e-15)
    want = [-np.inf, np.log(2.5) - 1e6, np.log(2.5), np.log(2.5)]
    np.testing.assert_allclose(negative_binomial_one(ends, 2.5), want, rtol=1e-15)


@pytest.mark.parametrize("function", [negative_binomial_nonzero, negative_binomial_one])
@pytest.mark.parametrize("shape", [0.0, -1.0, np.inf, "r"])
def test_shape_must_be_positive(function, shape):
    with pytest.raises(InputError, match="shape must be"):
        function(0.0, shape)
