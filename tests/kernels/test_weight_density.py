"""Densities of log-odds in kernels are those of the priors and of the laws of rows."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import ribp
from ribp.kernels import weight_density as kernel
from ribp.weights import WEIGHT_PRIORS

SUMS, HISTOGRAM = np.array([9.0, 0.0, 4.0, 2.0, 0.0, 1.0]), np.array([1.0, 3.0, 5.0, 1.0, 0, 0, 0])
THETA = np.array([-0.5, -30.0, 0.5, -3.0, 1.0, 2.0])
LARGE = np.array([-800.0, 0.0, 650.0, 12.0, 3.0, 40.0])
COMPILED = [name for name in WEIGHT_PRIORS if WEIGHT_PRIORS[name].compiled is not None]
each_compiled = pytest.mark.parametrize("name", COMPILED)


def test_which_priors_kernels_know():
    assert COMPILED == ["weak-limit", "gamma-odds"]


def test_a_subclass_is_not_taken_for_its_parent():
    class Other(WEIGHT_PRIORS["weak-limit"]):
        pass

    class Known(WEIGHT_PRIORS["weak-limit"]):
        compiled = 7

    assert (Other.compiled, Known.compiled) == (None, 7)


def test_densities_of_mass_and_concentration():
    for x in (1e-3, 0.7, 5.0):
        mass = stats.expon.logpdf(x) + math.log(x)
        concentration = stats.gamma.logpdf(x, 2, scale=0.5) + math.log(x)
        assert kernel.log_mass_density(x) == pytest.approx(mass, rel=1e-12)
        assert kernel.log_concentration_density(x) == pytest.approx(concentration, rel=1e-12)


def test_softplus_and_slopes():
    x = np.array([-800.0, -30.0, -1.0, 0.0, 1.0, 30.0, 800.0])
    both = kernel.WEAK_LIMIT, kernel.GAMMA_ODDS
    np.testing.assert_allclose([kernel.softplus(v) for v in x], np.logaddexp(0, x), rtol=1e-15)
    np.testing.assert_allclose([kernel.held_slope(both[0], v) for v in x], expit(x), rtol=1e-14)
    odds = [*np.exp(x[:-1]), math.inf]
    np.testing.assert_allclose([kernel.held(both[1], v) for v in x], odds, rtol=1e-15)
    np.testing.assert_allclose([kernel.held_slope(both[1], v) for v in x], odds, rtol=1e-15)


@each_compiled
@pytest.mark.parametrize("theta", [THETA, LARGE])
@pytest.mark.parametrize(("mass", "c"), [(2.0, 1.5), (0.01, 0.3), (5.9, 30.0)])
def test_priors_are_those_in_python(name, theta, mass, c):
    prior = WEIGHT_PRIORS[name](mass, c, 6)
    sums = kernel.prior_sums(prior.compiled, theta)
    found = kernel.prior_log_density(prior.compiled, mass, c, 6, *sums)
    assert found == pytest.approx(prior.log_density(theta), rel=1e-12)


@each_compiled
def test_whole_density_and_its_gradient(name):
    prior = WEIGHT_PRIORS[name](2.0, 1.5, 6)
    law = (SUMS, HISTOGRAM, prior.compiled, 2.0, 1.5)
    rows = SUMS @ THETA - HISTOGRAM @ ribp.log_esp(THETA)
    assert kernel.log_density(THETA, *law) == pytest.approx(rows + prior.log_density(THETA))
    included = sum(n * ribp.inclusion_probs(THETA, k) for k, n in enumerate(HISTOGRAM))
    expected = SUMS - included + prior.gradient(THETA)
    found = kernel.gradient(THETA, np.argsort(-THETA), *law)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_large_tables_are_kept_in_part(monkeypatch):
    order = np.argsort(-THETA)
    expected = kernel.row_gradient(THETA, order, SUMS, HISTOGRAM)
    monkeypatch.setattr(kernel, "_LARGE", 2)  # seen where kernels are not compiled
    found = kernel.row_gradient(THETA, order, SUMS, HISTOGRAM)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_no_rows_say_nothing():
    nothing = np.zeros(6), np.zeros(7)
    assert kernel.last_count(nothing[1]) == 0
    assert kernel.last_count(HISTOGRAM) == 3
    assert kernel.row_log_density(THETA, *nothing) == 0.0
    assert not kernel.row_gradient(THETA, np.argsort(-THETA), *nothing).any()


def test_orders():
    for theta in product([0.0, 1.0, 2.0], repeat=3):
        theta, order = np.array(theta), np.arange(3)
        kernel.sort_falling(theta, order)
        assert sorted(order) == [0, 1, 2]
        np.testing.assert_array_equal(theta[order], np.sort(theta)[::-1])
