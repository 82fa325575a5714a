"""The gamma process: formulas against quadrature, draws against their law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ribp.entries import poisson_nonzero
from ribp.errors import InputError
from ribp.measures import GammaProcess
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.levy_integrals import integral

# log E_1(x), by mpmath with 40 digits.
E1 = [
    (1e-12, 3.2978276775059353),
    (0.3, -0.09907293324693408),
    (1.0, -1.5169319590020456),
    (49.0, -52.911637765533072),
    (51.0, -54.950887056621259),
    (800.0, -806.68585939233841),
]


def tail_integral(measure, log_t, log_function):
    """Return the integral of exp(log_function(log lambda)) nu over atoms below t."""

    def density(u):
        return np.log(measure.mass) - np.exp(u) / measure.scale + log_function(u)

    return float(np.exp(integral(density, log_t - 50.0, log_t, panel=0.5)))


def many_draws(measure, n, seed, n_atoms):
    """Return the n_atoms largest atoms of n measures, at once."""
    steps = np.random.default_rng(seed).standard_exponential((n, n_atoms))
    return measure.inverse_levy_tail(np.cumsum(steps, axis=1))


@pytest.mark.parametrize(("x", "want"), E1)
def test_tail_against_high_precision(x, want):
    measure = GammaProcess(mass=3.0, scale=0.5)
    got = measure.log_levy_tail(math.log(0.5 * x))
    assert float(got) - math.log(3.0) == pytest.approx(want, rel=1e-14)


def test_tail_of_atoms_too_small_and_too_large_to_write():
    measure = GammaProcess(2.0)
    tails = measure.log_levy_tail(np.array([-1e6, 800.0]))
    np.testing.assert_allclose(tails, [math.log(2 * (1e6 - np.euler_gamma)), -np.inf])


@pytest.mark.parametrize("mass", [1e-3, 5.0, 1000.0])
def test_inverse_returns_the_arrivals(mass):
    measure = GammaProcess(mass, 2.5)
    arrivals = np.logspace(-6, 6, 4001)
    log_sizes = measure.inverse_levy_tail(arrivals)
    assert np.all(np.diff(log_sizes) < 0)
    residual = np.abs(np.exp(measure.log_levy_tail(log_sizes)) - arrivals)
    assert np.all(residual <= 1e-13 * arrivals)


@given(mass=st.floats(1e-3, 1e3), log_size=st.floats(-1e5, 6.0))
def test_forward_after_inverse(mass, log_size):
    measure = GammaProcess(mass)
    arrival = np.exp(measure.log_levy_tail(log_size))
    if arrival > 0:
        assert float(measure.inverse_levy_tail(arrival)) == pytest.approx(log_size, abs=1e-9)


@pytest.mark.parametrize("log_t", [-5.0, -1.0, 0.5, 2.0])
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0])
def test_expected_tail_odds_against_quadrature(log_t, scale):
    measure = GammaProcess(2.0, scale)
    got = float(measure.log_expected_tail_odds(log_t))
    assert math.exp(got) == pytest.approx(tail_integral(measure, log_t, lambda u: u), rel=1e-12)
    assert math.exp(got) == pytest.approx(-2 * scale * math.expm1(-math.exp(log_t) / scale))


@pytest.mark.parametrize("log_t", [-5.0, -1.0, 0.5, 2.0])
def test_tail_of_nonzero_odds_is_bounded_as_stated(log_t):
    measure, t = GammaProcess(2.0, 0.4), math.exp(log_t)
    bound = math.exp(float(measure.log_expected_tail_odds(log_t, poisson_nonzero)))
    truth = tail_integral(measure, log_t, lambda u: np.log(np.expm1(np.exp(u))))
    assert truth <= bound * (1 + 1e-12)
    assert bound == pytest.approx(-2 * 0.4 * math.expm1(-t / 0.4) * math.expm1(t) / t, rel=1e-12)
    if t < 0.01:
        assert bound == pytest.approx(truth, rel=t)


def test_tail_odds_at_the_ends():
    measure = GammaProcess(2.0, 3.0)
    ends = np.array([-1e6, np.inf])
    want = [math.log(2) - 1e6, math.log(6)]
    np.testing.assert_allclose(measure.log_expected_tail_odds(ends), want, rtol=1e-15)
    assert measure.log_expected_tail_odds(np.inf, poisson_nonzero) == np.inf


def test_number_of_atoms_and_largest_atom_have_their_law():
    def p_values(n, seed, scale=2.0):
        draws = many_draws(GammaProcess(3.0, 2.0), n, seed, 60)
        claimed = GammaProcess(3.0, scale)
        above = (draws > math.log(0.05)).sum(axis=1)
        mean = math.exp(float(claimed.log_levy_tail(math.log(0.05))))
        largest = np.exp(-np.exp(claimed.log_levy_tail(draws[:, 0])))
        total = np.exp(draws).sum(axis=1)
        return [
            mean_p_value(above, mean),
            stats.kstest(largest, "uniform").pvalue,
            stats.kstest(total, stats.gamma(3.0, scale=scale).cdf).pvalue,
        ]

    assert holds(p_values, replicates(3000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, scale=1.4))], 1500)  # by each of them


def test_weak_limit_has_the_total_of_the_process():
    def p_values(n, seed, scale=2.0):
        measure, rng = GammaProcess(3.0, 2.0), np.random.default_rng(seed)
        totals = [np.exp(measure.weak_limit(rng, 20)).sum() for _ in range(n)]
        return [stats.kstest(totals, stats.gamma(3.0, scale=scale).cdf).pvalue]

    assert holds(p_values, replicates(3000))
    assert is_caught(lambda n, seed: p_values(n, seed, scale=1.5), 1500)


def test_expected_tail_is_the_mean_of_the_tail():
    def p_values(n, seed, factor=1.0):
        measure = GammaProcess(3.0)
        draws = many_draws(measure, n, seed, 100)
        expected = np.exp(measure.log_expected_tail_odds(draws[:, 2]))
        return [mean_p_value(np.exp(draws[:, 3:]).sum(axis=1) - factor * expected, 0.0)]

    assert holds(p_values, replicates(4000))
    assert is_caught(lambda n, seed: p_values(n, seed, factor=1.2), 1000)


@pytest.mark.parametrize("wrong", [0.0, -2.0, np.inf, np.nan, "big"])
def test_parameters_are_checked(wrong):
    with pytest.raises(InputError, match="mass must be"):
        GammaProcess(wrong)
    with pytest.raises(InputError, match="scale must be"):
        GammaProcess(1.0, wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_arrivals_are_checked(wrong):
    with pytest.raises(InputError, match="arrivals must be positive and finite"):
        GammaProcess(1.0).inverse_levy_tail([1.0, wrong])
