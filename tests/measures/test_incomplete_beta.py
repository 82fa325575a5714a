"""The incomplete beta integral: against SciPy, against quadrature, and against itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ribp.measures.incomplete_beta import inverse_log_incomplete_beta, log_incomplete_beta
from ribp.measures.special import log_beta
from tests.helpers.levy_integrals import integral, softplus

THETA = np.array([-20.0, -9.0, -2.0, -0.5, 0.0, 0.4, 1.0, 3.0, 9.0])


def by_quadrature(theta, p, q):
    def density(u):
        return -p * softplus(-u) - q * softplus(u)

    low = min(theta, -np.log(max(q, 1.0))) - 45.0 / min(p, 1.0)
    return integral(density, low, theta, panel=min(0.5, 8.0 / p))


@pytest.mark.parametrize("p", [0.05, 0.7, 1.0, 2.5, 30.0])
@pytest.mark.parametrize("q", [0.1, 0.999, 1.0, 3.0, 400.0])
def test_against_scipy_where_both_parameters_are_positive(p, q):
    whole = special.betaln(p, q)
    want = np.log(special.betainc(p, q, special.expit(THETA))) + whole
    np.testing.assert_allclose(log_incomplete_beta(THETA, p, q), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [0.3, 1.0, 1.4, 12.0, 150.0])
@pytest.mark.parametrize("q", [-0.97, -0.4, -1e-7, 0.0, 0.3])
@pytest.mark.parametrize("theta", [-1.3, 0.2, 1.7, 4.4, 6.1, 12.0])
def test_against_quadrature_where_the_complete_integral_is_infinite(theta, p, q):
    want = by_quadrature(theta, p, q)
    assert float(log_incomplete_beta(theta, p, q)) == pytest.approx(want, rel=1e-12, abs=1e-12)


def test_ends_of_the_line():
    ends = np.array([-np.inf, np.inf])
    for p in (0.6, 1.0, 8.0):
        for q in (0.4, 1.0, 7.0):
            low, high = log_incomplete_beta(ends, p, q)
            assert low == -np.inf
            assert high == pytest.approx(float(log_beta(p, q)), abs=1e-14)
        for q in (-0.5, 0.0):
            assert list(log_incomplete_beta(ends, p, q)) == [-np.inf, np.inf]


def test_many_second_parameters_at_once():
    q = np.array([-0.5, 0.0, 0.5, 1.0, 5.0, 1e6])
    for p in (0.5, 1.0):
        together = log_incomplete_beta(0.3, p, q)
        alone = [float(log_incomplete_beta(0.3, p, one)) for one in q]
        np.testing.assert_array_equal(together, alone)


@given(
    p=st.floats(0.1, 50.0),
    q=st.floats(-0.999, 3.0) | st.floats(0.0, 9.0).map(lambda digits: 10.0**digits),
    theta=st.floats(-50.0, 50.0),
)
def test_against_quadrature_for_any_parameters(p, q, theta):
    want = by_quadrature(theta, p, q)
    assert float(log_incomplete_beta(theta, p, q)) == pytest.approx(want, rel=1e-12, abs=1e-11)


@given(
    p=st.sampled_from([1e-3, 0.5, 0.97, 1.0]),
    q=st.floats(1e-2, 1e8),
    theta=st.floats(-1e4, 30.0),
    log_u=st.floats(-1e4, -1e-12),
)
def test_inverse_returns_what_went_in(p, q, theta, log_u):
    target = float(log_incomplete_beta(theta, p, q)) + log_u
    root = inverse_log_incomplete_beta(target, p, q)
    again = float(log_incomplete_beta(root, p, q))
    assert again == pytest.approx(target, rel=1e-12, abs=1e-12)
