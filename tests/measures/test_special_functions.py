"""Elementary functions where sizes underflow: against closed forms and high precision."""

import math

import numpy as np
import pytest
from scipy import special as sp

from ribp.measures import special


def test_softplus_and_its_log_over_the_whole_line():
    theta = np.array([-1e6, -800.0, -31.0, -29.0, -1.0, 0.0, 3.0, 40.0, 1e6, np.inf])
    want = np.array([-1e6, -800.0, -31.0 - math.exp(-31) / 2, 0, 0, 0, 0, math.log(40), 0, np.inf])
    middle = slice(3, 7)
    want[middle] = [math.log(math.log1p(math.exp(t))) for t in theta[middle]]
    want[8] = math.log(1e6)
    np.testing.assert_allclose(special.log_softplus(theta), want, rtol=2e-15)
    np.testing.assert_allclose(np.exp(special.log_softplus(theta[2:])), special.softplus(theta[2:]))


@pytest.mark.parametrize("log_x", [-1e6, -700.0, -2.0, -1e-3, -1e-300])
def test_logit_from_log(log_x):
    theta = float(special.logit_from_log(log_x))
    assert -float(special.softplus(-theta)) == pytest.approx(log_x, rel=1e-14)


def test_log_exprel_is_smooth_at_zero_and_does_not_overflow():
    z = np.array([-1e8, -3.0, -1e-9, 0.0, 1e-9, 3.0, 1e8])
    want = [-math.log(1e8), math.log(-math.expm1(-3) / 3), -5e-10, 0, 5e-10,
            math.log(math.expm1(3) / 3), 1e8 - math.log(1e8)]  # fmt: skip
    np.testing.assert_allclose(special.log_exprel(z), want, rtol=1e-15, atol=1e-16)


def test_log_exp_integral_at_every_rate_and_length():
    rate = np.array([2.0, 0.0, -0.5, 2.0, 0.0, -0.5, 2.0])
    log_length = np.array([0.0, 1.5, 1.0, np.inf, np.inf, np.inf, -5000.0])
    want = [math.log(-math.expm1(-2) / 2), 1.5, math.log(math.expm1(0.5 * math.e) / 0.5),
            -math.log(2), math.inf, math.inf, -5000.0]  # fmt: skip
    np.testing.assert_allclose(special.log_exp_integral(rate, log_length), want, rtol=1e-15)


@pytest.mark.parametrize("x", [1e-9, 0.3, 7.0, 15.999, 16.0, 200.0, 1e5, 1e9, 1e15])
def test_log_gamma_ratio_against_products(x):
    np.testing.assert_allclose(special.log_gamma_ratio(x, 1.0), math.log(x), rtol=1e-14, atol=2e-14)
    want = math.log(x) + math.log1p(x)
    np.testing.assert_allclose(special.log_gamma_ratio(x, 2.0), want, rtol=1e-14, atol=2e-14)
    halves = special.log_gamma_ratio(x, 0.5) + special.log_gamma_ratio(x + 0.5, 0.5)
    np.testing.assert_allclose(halves, math.log(x), rtol=1e-14, atol=2e-14)


def test_log_gamma_ratio_where_gammaln_has_lost_its_digits():
    """Log Gamma(1e9 + .5) - log Gamma(1e9) = log(1e9)/2 - 1/8e9 + O(1e-18)."""
    want = 0.5 * math.log(1e9) - 1.25e-10
    assert float(special.log_gamma_ratio(1e9, 0.5)) == pytest.approx(want, rel=1e-15)
    naive = sp.gammaln(1e9 + 0.5) - sp.gammaln(1e9)
    assert abs(naive - want) > 1e-8


def test_log_beta():
    np.testing.assert_allclose(special.log_beta(0.3, [2.0, 0.01]), sp.betaln(0.3, [2.0, 0.01]))
