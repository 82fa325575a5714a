"""The beta process and the stable-beta process: numbers and laws."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from ribp.entries import negative_binomial_nonzero, negative_binomial_one
from ribp.errors import InputError
from ribp.measures import BetaProcess
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.levy_integrals import beta_integral, beta_intensity, integral, softplus

# c, s, theta, then for alpha = 1 the logs of N, of E[T | t] and of the rate of new atoms (M = 7):
# mpmath with 40 digits, by the hypergeometric series and by Gauss-Legendre quadrature.
REFERENCE = [
    (1, 0, -1000.0, 6.907755278982137, -1000, -1000),
    (1, 0, 0.3, -0.5899495622357356, -0.1574081945586448, -2.080517757892919),
    (0.5, 0, -40.0, 3.029802591381595, -40.69314718055995, -40.69314718055995),
    (0.5, 0, 3.0, -1.508150391988885, 1.278681047070556, -2.708050201219731),
    (2.5, 0, -3.0, 1.525474545036527, -2.144320510727884, -2.330029602851116),
    (2.5, 0, 20.0, -50.00000000368063, 0.5108256237658971, -1.33500106673234),
    (100, 0, -4.6, 3.096339276714497, -0.4543942508523595, -0.4876505957961491),
    (100, 0, 1.5, -169.9421165492531, 0.01005033585350144, -0.06765864847381481),
    (1, 0.5, -10.0, 5.23097000842116, -4.758450657741716, -4.758571715244127),
    (1, 0.5, 7.0, -11.35759473599497, 0.6737416950303491, -0.9345534078090073),
    (1, 1e-08, -1000.0, 6.907760278969854, -999.99998999, -999.99998999),
    (-0.4, 0.5, -3.0, 0.4548358240408802, -3.227138222534872, -3.35202638481942),
    (-0.4, 0.5, 10.0, -1.124256992702229, 6.678912213307058, -2.816935018587214),
    (0.3, 0.999, -1.5, -5.569328662385057, -0.001155874021283871, -0.002314329595365486),
    (100, 0.3, -4.6, 2.705371977403169, -0.2689750392207065, -0.2949983925393517),
    (2, 0.9, 0.05, -4.399173026102888, 0.02978465788940504, -0.1343884114618861),
    (50.5, 1e-05, -1.5, -8.547962738388646, 0.01995368046603272, -0.1298196404690887),
]
# c, s, n and Gamma(1+c)Gamma(n+c+s-1)/(Gamma(n+c)Gamma(c+s)), by mpmath.
DISHES = [
    (2.5, 0.0, 1000, 0.0024962556165751373),
    (1, 0.5, 1000, 0.035678022291708641),
    (-0.3, 0.6, 1000, 0.027388483236750632),
    (2.5, 0.0, 10**9, 2.49999999625e-9),
    (1, 0.5, 10**9, 3.5682482318595112e-5),
    (-0.3, 0.6, 10**9, 0.00010899188994637289),
]
SHAPES = [(1, 0), (0.5, 0), (2.5, 0), (100, 0), (1, 0.4), (30, 0.2), (-0.3, 0.6), (0.2, 0.95)]
by_shape = pytest.mark.parametrize(("c", "s"), SHAPES)


def many_draws(rng, measure, n_draws, n_atoms):
    """Return (n_draws, n_atoms) log-odds at once: `test_stream...` shows these are the atoms."""
    return measure.inverse_levy_tail(np.cumsum(rng.standard_exponential((n_draws, n_atoms)), 1))


# The Levy tail and its inverse


@pytest.mark.parametrize(("c", "s", "theta", "tail", "odds", "rate"), REFERENCE)
def test_against_high_precision(c, s, theta, tail, odds, rate):
    measure, log_mass = BetaProcess(3.0, c, s), math.log(3.0)
    close = partial(pytest.approx, rel=1e-13, abs=1e-13)
    assert float(measure.log_levy_tail(theta)) == close(tail + log_mass)
    assert float(measure.log_expected_tail_odds(theta)) == close(odds + log_mass)
    assert float(measure.new_atom_rate(7, theta)) == close(3.0 * math.exp(rate))


@by_shape
def test_tail_against_the_formulas_of_the_theory(c, s):
    """For s = 0, x -> 0: c alpha (-log x - psi(c) - gamma); for s > 0 by the incomplete beta."""
    measure = BetaProcess(2.0, c, s)
    if s == 0:
        theta = -1e5
        want = 2.0 * c * (-theta - special.psi(c) - np.euler_gamma)
    else:
        theta = -4.0
        x, y = special.expit(theta), special.expit(-theta)
        constant = 1 / special.beta(1 - s, c + s)
        complement = special.betainc(c + s, 1 - s, y)
        want = 2.0 * (constant * x**-s * y ** (c + s) - c * complement) / s
    assert float(np.exp(measure.log_levy_tail(theta))) == pytest.approx(want, rel=1e-12)


@by_shape
@pytest.mark.parametrize("theta", [-30.0, -5.0, -0.5, 1.0, 4.0])
def test_tail_against_quadrature(c, s, theta):
    measure = BetaProcess(2.0, c, s)
    panel = min(1.0, 8.0 / (c + s))
    want = integral(beta_intensity(measure), theta, max(theta, 0.0) + 45.0 / (c + s), panel)
    assert float(measure.log_levy_tail(theta)) == pytest.approx(want, rel=1e-12, abs=1e-12)


@by_shape
@pytest.mark.parametrize("mass", [1e-3, 5.0, 1000.0])
def test_inverse_returns_the_arrivals(c, s, mass):
    measure = BetaProcess(mass, c, s)
    arrivals = np.logspace(-6, 6, 2001)
    log_odds = measure.inverse_levy_tail(arrivals)
    assert np.isfinite(log_odds).all()
    assert np.all(np.diff(log_odds) < 0)
    residual = np.abs(np.exp(measure.log_levy_tail(log_odds)) - arrivals)
    assert np.all(residual <= 1e-12 * arrivals)


@given(
    mass=st.floats(1e-3, 1e3),
    s=st.just(0.0) | st.floats(1e-9, 0.99),
    excess=st.floats(1e-3, 1e4),
    arrival=st.floats(1e-3, 1e6),
)
def test_inverse_for_any_parameters(mass, s, excess, arrival):
    """`excess` is c+s, the exponent of 1-pi: this reaches c < 0 as well."""
    measure = BetaProcess(mass, excess - s, s)
    root = measure.inverse_levy_tail(arrival)
    assert float(np.exp(measure.log_levy_tail(root))) == pytest.approx(arrival, rel=1e-11)


def test_one_parameter_inverse_is_exact_and_never_underflows():
    measure = BetaProcess(2.0)
    arrivals = np.array([1e-12, 1e-3, 2.0, 1e3, 1e6])
    log_pi = -arrivals / 2.0
    want = log_pi - np.log(-np.expm1(log_pi))
    np.testing.assert_allclose(measure.inverse_levy_tail(arrivals), want, rtol=1e-15)
    assert measure.inverse_levy_tail(1e6) == -5e5
    assert measure.inverse_levy_tail([[1.0], [2.0]]).shape == (2, 1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_arrivals_are_checked(wrong):
    with pytest.raises(InputError, match="arrivals must be positive and finite, but got"):
        BetaProcess(1.0).inverse_levy_tail([1.0, wrong])


# Atoms


@by_shape
def test_atoms_are_a_poisson_process(c, s):
    """The number above x is Poisson(N(x)), and exp(-N(largest)) is uniform."""
    measure = BetaProcess(3.0, c, s)
    theta = float(measure.inverse_levy_tail(4.0))
    law = stats.poisson(4.0).pmf(np.arange(61))

    def p_values(n, seed, drawn=measure):
        draws = many_draws(np.random.default_rng(seed), drawn, n, 60)
        above = np.bincount((draws > theta).sum(axis=1), minlength=61)
        uniform = np.exp(-np.exp(measure.log_levy_tail(draws[:, 0])))
        return [frequencies_p_value(above, law), stats.kstest(uniform, "uniform").pvalue]

    assert holds(p_values, replicates(3000))
    broken = BetaProcess(3.0, 3.0 * abs(c) + 2.0, s)  # both must notice another concentration
    assert is_caught(lambda n, seed: [max(p_values(n, seed, broken))], 1000)


def test_one_parameter_atoms_are_stick_products():
    """For c = 1: log pi_1 ~ -Exp(1)/alpha, pi_2/pi_1 ~ Beta(alpha, 1)."""

    def p_values(n, seed, mass=2.5):
        log_pi = -np.logaddexp(0, -many_draws(np.random.default_rng(seed), BetaProcess(2.5), n, 2))
        shares = np.exp([log_pi[:, 0], log_pi[:, 1] - log_pi[:, 0]])
        return [stats.kstest(share, stats.beta(mass, 1).cdf).pvalue for share in shares]

    assert holds(p_values, replicates(4000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, mass=3.5))], 2000)


@by_shape
def test_mass_is_the_expected_total_size(c, s):
    """Campbell: the sizes sum to alpha on average; above t to alpha less the tail."""
    measure, log_t = BetaProcess(3.0, c, s), -3.0
    n_atoms = int(40 + 2 * np.exp(measure.log_levy_tail(log_t)))
    above = 3.0 - float(measure.new_atom_rate(0, log_t))

    def p_values(n, seed, factor=1.0):
        draws = many_draws(np.random.default_rng(seed), measure, n, n_atoms)
        assert np.all(draws[:, -1] < log_t)
        totals = np.where(draws > log_t, special.expit(draws), 0.0).sum(axis=1)
        return [mean_p_value(totals, factor * above)]

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: p_values(n, seed, factor=1.5), 1000)


def test_weak_limit_has_its_beta_law_and_mean():
    measure = BetaProcess(3.0, 2.5)

    def p_values(n, seed, b=1.75):
        rng = np.random.default_rng(seed)
        pi = special.expit(np.array([measure.weak_limit(rng, 10) for _ in range(n)]))
        law = stats.beta(0.75, b)
        return [mean_p_value(pi.sum(axis=1), 10 * law.mean()), stats.kstest(pi.ravel(), law.cdf)[1]]

    assert stats.beta(0.75, 1.75).mean() == pytest.approx(3.0 / 10)
    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, b=2.5))], 500)


@pytest.mark.parametrize("c", [0.5, 1.0, 100.0])
def test_weak_limit_of_tiny_mass_is_finite(c):
    log_odds = BetaProcess(1e-3, c).weak_limit(np.random.default_rng(25), 10_000)
    assert np.isfinite(log_odds).all()


def test_weak_limit_needs_more_features_than_mass():
    with pytest.raises(InputError, match=r"n_features must exceed mass = 5 .*got 5\. Use more"):
        BetaProcess(5.0).weak_limit(np.random.default_rng(0), 5)


# The tail that a truncation drops


@by_shape
@pytest.mark.parametrize("theta", [-6.0, -1.0, 2.0])
def test_expected_tail_odds_against_quadrature(c, s, theta):
    measure = BetaProcess(2.0, c, s)
    got = math.exp(float(measure.log_expected_tail_odds(theta)))
    assert got == pytest.approx(beta_integral(measure, theta, lambda u: u), rel=1e-11)
    t, left = special.expit(theta), special.expit(-theta)
    if s > 0:
        assert got <= 2.0 * special.betainc(1 - s, c + s, t) / left
    elif c == 1:
        assert got == pytest.approx(-2.0 * math.log(left), rel=1e-14)
    else:
        assert got == pytest.approx(c * 2.0 * (1 - left ** (c - 1)) / (c - 1), rel=1e-13)


@by_shape
@pytest.mark.parametrize("theta", [-6.0, -1.0, 2.0])
@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0])
def test_tail_of_negative_binomial_odds(c, s, theta, shape):
    measure = BetaProcess(2.0, c, s)
    t, left = special.expit(theta), special.expit(-theta)
    size = 2.0 * special.betainc(1 - s, c + s, t)

    def log_nonzero(u):
        far = u < -30.0  # there (1-pi)^-r - 1 is r pi
        inside = np.log(np.expm1(shape * softplus(np.where(far, 0.0, u))))
        return np.where(far, math.log(shape) + u, inside)

    nonzero = partial(negative_binomial_nonzero, shape=shape)
    bound = math.exp(float(measure.log_expected_tail_odds(theta, nonzero)))
    truth = beta_integral(measure, theta, log_nonzero)
    assert truth <= bound * (1 + 1e-12)
    assert bound == pytest.approx(size * (left**-shape - 1) / t, rel=1e-11)
    one = partial(negative_binomial_one, shape=shape)
    got = math.exp(float(measure.log_expected_tail_odds(theta, one)))
    assert got == pytest.approx(shape * size, rel=1e-11)


def test_tail_odds_where_t_rounds_to_one_or_to_zero():
    for c, s, want in ((1, 0, math.log(800)), (0.5, 0, 400.0), (3, 0, math.log(1.5))):
        measure = BetaProcess(1.0, c, s)
        assert float(measure.log_expected_tail_odds(800.0)) == pytest.approx(want, rel=1e-12)
        at_one = measure.log_expected_tail_odds(np.inf)
        assert at_one == (pytest.approx(math.log(1.5)) if c > 1 else np.inf)
    assert float(BetaProcess(2.0, 3.0).log_expected_tail_odds(-1e6)) == pytest.approx(
        math.log(6.0) - 1e6, rel=1e-15
    )
    heavy = BetaProcess(1.0, -0.2, 0.5)
    assert np.isfinite(heavy.log_expected_tail_odds(800.0))
    assert heavy.log_expected_tail_odds(np.inf) == np.inf
    one = partial(negative_binomial_one, shape=2.0)
    assert float(heavy.log_expected_tail_odds(np.inf, one)) == pytest.approx(math.log(2.0))


def test_tail_odds_of_the_stream_are_the_mean_of_what_follows():
    measure = BetaProcess(2.0, 2.5)
    stream = measure.atom_stream(np.random.default_rng(26))
    assert stream.log_expected_tail_odds() == pytest.approx(math.log(5.0 / 1.5))

    def p_values(n, seed, factor=1.0):
        draws = many_draws(np.random.default_rng(seed), measure, n, 150)
        expected = np.exp(measure.log_expected_tail_odds(draws[:, 3]))
        return [mean_p_value(np.exp(draws[:, 4:]).sum(axis=1) - factor * expected, 0.0)]

    assert holds(p_values, replicates(4000))
    assert is_caught(lambda n, seed: p_values(n, seed, factor=1.2), 800)


@pytest.mark.parametrize("measure", [BetaProcess(2.0), BetaProcess(2.0, 3.0, 0.4)])
def test_stream_gives_the_same_atoms_however_it_is_asked(measure):
    whole = measure.size_ordered(np.random.default_rng(27), 60)
    stream = measure.atom_stream(np.random.default_rng(27))
    pieces = np.concatenate([stream.extend(n) for n in (1, 9, 50)])
    np.testing.assert_array_equal(pieces, whole)
    np.testing.assert_array_equal(whole, many_draws(np.random.default_rng(27), measure, 1, 60)[0])
    want = float(measure.log_expected_tail_odds(whole[-1]))
    assert stream.log_expected_tail_odds() == want


# Rates and sizes of new atoms


@by_shape
@pytest.mark.parametrize("n_seen", [0, 1, 50])
def test_new_atom_rate_against_quadrature(c, s, n_seen):
    measure = BetaProcess(2.0, c, s)
    want = beta_integral(measure, -1.5, lambda u: -softplus(-u) - n_seen * softplus(u))
    assert float(measure.new_atom_rate(n_seen, -1.5)) == pytest.approx(want, rel=1e-11)
    if s == 0:
        power = c + n_seen
        left = special.expit(1.5) ** power
        assert float(measure.new_atom_rate(n_seen, -1.5)) == pytest.approx(
            c * 2.0 * (1 - left) / power, rel=1e-13
        )


@pytest.mark.parametrize(("c", "s", "n", "want"), DISHES)
def test_new_dish_rate_for_many_customers(c, s, n, want):
    assert float(BetaProcess(3.0, c, s).new_dish_rate(n)) == pytest.approx(3.0 * want, rel=1e-13)


def test_buffet_of_one_parameter():
    measure = BetaProcess(3.0)
    n = np.arange(1, 6)
    np.testing.assert_allclose(measure.new_dish_rate(n), 3.0 / n, rtol=1e-14)
    np.testing.assert_allclose(measure.dish_probability([1, 2, 4], 5), [0.2, 0.4, 0.8])
    assert BetaProcess(3.0, 2.0, 0.25).dish_probability(3, 10) == pytest.approx(2.75 / 11)


@by_shape
def test_first_customer_and_rates_in_bulk(c, s):
    measure = BetaProcess(3.0, c, s)
    assert float(measure.new_dish_rate(1)) == pytest.approx(3.0, rel=1e-13)
    n_seen = np.array([0, 1, 10, 10**6])
    together = measure.new_atom_rate(n_seen, 0.5)
    alone = [float(measure.new_atom_rate(int(n), 0.5)) for n in n_seen]
    np.testing.assert_allclose(together, alone, rtol=1e-14)
    assert np.all(together <= measure.new_dish_rate(n_seen + 1) * (1 + 1e-12))


@by_shape
def test_atoms_taken_by_one_row_or_another_are_the_atoms_taken_by_either(c, s):
    """Two rows take new atoms at rates r_0 + r_1 in all: the integral of 1 - (1-pi)^2."""
    measure = BetaProcess(2.0, c, s)
    want = beta_integral(measure, 0.7, lambda u: np.log1p(special.expit(-u)) - softplus(-u))
    assert measure.new_atom_rate([0, 1], 0.7).sum() == pytest.approx(want, rel=1e-11)


@by_shape
@pytest.mark.parametrize("log_threshold", [-2.0, 0.5, np.inf])
def test_new_atoms_have_their_truncated_beta_law(c, s, log_threshold):
    measure = BetaProcess(2.0, c, s)

    def p_values(n, seed, shift=0.0):
        atoms = measure.draw_new_atoms(np.random.default_rng(seed), n, 3, log_threshold)
        assert np.all(atoms <= log_threshold)
        below = measure.new_atom_rate(3, atoms - shift)
        return [stats.kstest(below / measure.new_atom_rate(3, log_threshold), "uniform").pvalue]

    assert holds(p_values, replicates(3000))
    assert is_caught(lambda n, seed: p_values(n, seed, shift=1 / (1 - s)), 500)


@by_shape
def test_new_atoms_below_thresholds_that_underflow(c, s):
    measure = BetaProcess(2.0, c, s)

    def p_values(n, seed, scale=1.0):
        atoms = measure.draw_new_atoms(np.random.default_rng(seed), n, 10**6, -1e5)
        assert np.isfinite(atoms).all()
        assert atoms.max() <= -1e5
        # there pi/t is a power of a uniform: (1-s)(log t - log pi) is exponential
        return [stats.kstest(scale * (1 - s) * (-1e5 - atoms), "expon").pvalue]

    assert holds(p_values, replicates(500))
    assert is_caught(lambda n, seed: p_values(n, seed, scale=2.0), 500)


def test_no_new_atoms():
    for log_threshold in (-1.0, np.inf):
        for s in (0.0, 0.5):
            atoms = BetaProcess(1.0, 1.0, s).draw_new_atoms(
                np.random.default_rng(0), 0, 2, log_threshold
            )
            assert atoms.shape == (0,)


# Parameters


@pytest.mark.parametrize("mass", [0.0, -1.0, np.inf, np.nan, "many"])
def test_mass_is_checked(mass):
    with pytest.raises(InputError, match="mass must be"):
        BetaProcess(mass)


@pytest.mark.parametrize("discount", [-0.1, 1.0, np.nan])
def test_discount_is_checked(discount):
    with pytest.raises(InputError, match="discount must be"):
        BetaProcess(1.0, discount=discount)


@pytest.mark.parametrize(
    ("concentration", "discount", "rule"),
    [
        (0.0, 0.0, "above -discount = 0, but got 0"),
        (-0.5, 0.5, "above -discount = -0.5, but got -0.5"),
        (np.inf, 0.0, "must be finite"),
        (np.nan, 0.0, "must be a number"),
    ],
)
def test_concentration_is_checked_against_the_discount(concentration, discount, rule):
    with pytest.raises(InputError, match=rule) as caught:
        BetaProcess(1.0, concentration, discount)
    assert caught.value.argument == "concentration"
