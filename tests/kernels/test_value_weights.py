"""Weights of the values of an entry: sums and draws against their definition."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from ribp.kernels import value_weights as kernel
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.multiplicity_cases import KINDS, LOG_CONCAVE, growth_of, log_prior_weights

CASES = {
    "clear": (1.5, 6.0, 4.0),
    "wide": (1.2, 0.3, 0.01),
    "many": (0.7, 90.0, 1.0),
    "far from seen": (0.4, -3.0, 1e-9),
    "hopeless": (0.01, -400.0, 300.0),
    "sharp": (0.9, 4100.0, 1000.0),
}
each_kind = pytest.mark.parametrize("kind", LOG_CONCAVE)
each_case = pytest.mark.parametrize("case", CASES)


def log_weights(kind, case, most=3000):
    rate, slope, square = CASES[case]
    v = np.arange(1, most + 1)
    return log_prior_weights(kind, rate, v) + slope * v - 0.5 * square * v**2


def given(kind, case):
    rate, slope, square = CASES[case]
    return np.log(rate) + slope, square, growth_of(kind)


@each_kind
@each_case
def test_sums_are_those_of_the_definition(kind, case):
    expected = log_weights(kind, case)
    gain, square, growth = given(kind, case)
    assert kernel.top_value(gain, square, growth) == 1 + expected.argmax()
    found = kernel.log_total(gain, square, growth, np.nan)
    assert found == pytest.approx(logsumexp(expected), rel=1e-13, abs=1e-12)
    v = np.arange(1.0, 60.0)
    ratios = [kernel.log_ratio(at, gain, square, growth) for at in v]
    np.testing.assert_allclose(ratios, np.diff(expected[:60]), rtol=1e-11, atol=1e-11)


@each_kind
@each_case
def test_values_are_drawn_by_their_weights(kind, case):
    log_p = log_weights(kind, case)
    probs = np.exp(log_p - logsumexp(log_p))
    top = kernel.top_value(*given(kind, case))
    _, total = kernel.walk(top, *given(kind, case), np.inf)
    size = 2000
    goals = (np.arange(size) + 0.5) / size * total
    found = np.array([kernel.walk(top, *given(kind, case), goal)[0] for goal in goals], int)
    shares = np.bincount(found, minlength=probs.size + 1)[1:] / size
    assert np.abs(shares - probs).max() <= 1.001 / size  # one interval of goals for each value


@each_kind
def test_factors(kind):
    growth, r = growth_of(kind), KINDS[kind]
    rate = 1.0 if kind == "poisson" else r
    for v in [0, 1, 2, 31, 32, 33, 100, 10**6]:
        expected = log_prior_weights(kind, rate, float(v)) - v * np.log(rate)
        if kind != "poisson":
            expected += v * (np.log(rate) - np.log(r))
        assert kernel.log_factor(float(v), growth) == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_values_too_large_to_be_whole_numbers_are_met_with_an_answer():
    top = kernel.top_value(np.log(1e40), 0.0, 0.0)
    assert top == pytest.approx(1e40, rel=1e-9)
    assert kernel.log_total(3.0, 0.0, 0.0, 17.0) == 17.0  # not seen: what the prior says


def draws(kind, seen, hazard, rate, n, seed):
    place = np.zeros(3, np.int64)
    square, gain = (0.5, np.log(rate) + 1.0) if seen else (0.0, np.log(rate))
    one = partial(kernel.draw_value, np.uint64(seed), place)
    given = (gain, square, growth_of(kind), np.log(hazard))
    return np.array([one(*given) for _ in range(n)], int)


def draws_p_value(kind, seen, odds, n, seed, *, shifted=0):
    """Compare draws with the enumerated law; the twin draws from the prior with zeros, plus one."""
    if kind == "poisson":
        hazard = rate = odds
    else:
        hazard, rate = KINDS[kind] * np.log1p(odds), KINDS[kind] * odds / (1.0 + odds)
    v = np.arange(1, 400)
    log_p = log_prior_weights(kind, rate, v)
    if seen:
        log_p = log_p + v - 0.25 * v**2
    found = draws(kind, seen, hazard, rate, n, seed)
    if shifted:
        found = np.minimum(1 + np.random.default_rng(seed).poisson(rate, n), 399)
    counts = np.bincount(np.minimum(found, 399), minlength=400)[1:]
    return [frequencies_p_value(counts, np.exp(log_p - logsumexp(log_p)))]


@each_kind
@pytest.mark.parametrize("odds", [0.02, 1.5, 7.0])
@pytest.mark.parametrize("seen", [False, True])
def test_draws_have_their_law(kind, odds, seen):
    assert holds(partial(draws_p_value, kind, seen, odds), replicates(1000, 50_000))


def test_wrong_draws_are_caught():
    assert is_caught(partial(draws_p_value, "poisson", False, 1.5, shifted=1), 1000)


def test_values_without_a_rival_need_no_random_number():
    place = np.zeros(3, np.int64)
    assert kernel.draw_value(np.uint64(0), place, 5.0, 40.0, 0.5, 0.0) == 1.0
    assert place[0] == 0
    assert kernel.log_total(5.0, 40.0, 0.5, 0.0) == -15.0


@pytest.mark.parametrize("log_failure", [-1e-3, -0.5, -3.0, -30.0])
def test_logarithmic_law(log_failure):
    cdf = [(v, stats.logser.cdf(v, -np.expm1(log_failure))) for v in (1, 10, 1000)]

    def check(n, seed):
        place, p = np.zeros(3, np.int64), -np.expm1(log_failure)
        one = partial(kernel.logarithmic, np.uint64(seed), place, -log_failure)
        found = np.array([one() for _ in range(n)])
        if log_failure < -20:  # long tails: some points of the distribution function
            return [stats.binomtest(int((found <= v).sum()), n, share).pvalue for v, share in cdf]
        cells = np.bincount(np.minimum(found, 200).astype(int), minlength=201)[1:]
        law = stats.logser.pmf(np.arange(1, 201), p)
        law[-1] += stats.logser.sf(200, p)
        return [frequencies_p_value(cells, law)]

    assert holds(check, replicates(1000, 20_000))


def test_rates_that_underflow_have_the_value_one():
    place = np.zeros(3, np.int64)
    assert kernel.draw_unseen(np.uint64(0), place, 0.0, -900.0) == 1
    assert kernel.draw_unseen(np.uint64(0), place, 0.5, -900.0) == 1
