"""What rows that count say of their log-weights: against the law of a row and its definition."""

import numpy as np
import pytest
from scipy.special import gammaln

import ribp
from ribp.kernels import entry_density as kernel
from tests.helpers.multiplicity_cases import (
    KINDS,
    THETA,
    growth_of,
    hazards,
    log_prior_weights,
    log_rates,
    row_law,
)

RESTRICT = {"nonzeros": kernel.NONZEROS, "sum": kernel.SUM}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_restriction = pytest.mark.parametrize("restrict", RESTRICT)
LAW = ribp.counts.table([0.1, 0.3, 0.4, 0.2])


@each_kind
def test_rates_hazards_and_odds(kind):
    growth, theta = growth_of(kind), np.array([-800.0, -60.0, -5.0, 0.3, 3.0, 4.5])
    with np.errstate(under="ignore"):
        usual = theta[2:]
    for found, expected in [
        (kernel.log_rate, log_rates(kind, usual)),
        (kernel.log_hazard, np.log(hazards(kind, usual))),
        (kernel.log_nonzero, np.log(np.expm1(hazards(kind, usual)))),
    ]:
        values = [found(x, growth) for x in usual]
        np.testing.assert_allclose(values, expected, rtol=1e-13)
        for x in theta[:2]:  # all odds are the rate there
            assert found(x, growth) == pytest.approx(kernel.log_rate(x, growth), rel=1e-15)


def test_odds_that_overflow_are_infinite_and_no_error():
    assert kernel.log_nonzero(7.0, 0.0) == np.exp(7.0)
    assert kernel.log_nonzero(800.0, 0.0) == np.inf


@each_kind
def test_coefficients(kind):
    expected = row_law(kind, LAW, "sum").log_coefficients(9)[-1]
    found = kernel.log_coefficients(log_rates(kind), growth_of(kind), 9)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(
        kernel.log_coefficients(np.empty(0), growth_of(kind), 2), [0.0, -np.inf, -np.inf]
    )


@pytest.mark.parametrize("log_pi", [-1e-3, -700.0])
def test_coefficients_that_would_overflow(log_pi):
    size, most, r = 200, 700, 2.0
    found = kernel.log_coefficients(np.full(size, np.log(r) + log_pi), 1 / r, most)
    j = np.arange(most + 1)
    expected = gammaln(j + size * r) - gammaln(size * r) - gammaln(j + 1.0) + j * log_pi
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)
    assert expected.max() > 340 or log_pi < -1


def rows_of(kind, restrict):
    rows = row_law(kind, LAW, restrict).sample(np.random.default_rng(1), 30)
    totals = (rows > 0).sum(axis=1) if restrict == "nonzeros" else rows.sum(axis=1)
    return rows, rows.sum(axis=0).astype(float), np.bincount(totals, minlength=6).astype(float)


@each_kind
@each_restriction
def test_rows_say_what_their_law_says(kind, restrict):
    rows, units, histogram = rows_of(kind, restrict)
    growth, number = growth_of(kind), RESTRICT[restrict]
    found, expected = [], []
    for by in ([0.0, 0.0, 0.0], [0.3, -0.1, 0.2], [-2.0, 0.5, -30.0]):
        theta = THETA[kind] + by
        found.append(kernel.entry_log_density(theta, units, histogram, growth, number))
        expected.append(row_law(kind, LAW, restrict, theta).log_prob(rows).sum())
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-12)


@each_kind
@each_restriction
@pytest.mark.parametrize("i", [0, 2])
def test_one_feature_is_told_what_all_are_told(kind, restrict, i):
    _, units, histogram = rows_of(kind, restrict)
    histogram[3] += 2  # rows with all features, so that others are fewer than the count
    growth, number, theta = growth_of(kind), RESTRICT[restrict], THETA[kind].copy()
    histogram = histogram[: kernel.last_count(histogram) + 1]
    others = kernel.of_others(i, theta, growth, number, histogram.size - 1)
    found, expected = [], []
    for x in [theta[i], theta[i] + 1.5, theta[i] - 40.0]:
        theta[i] = x
        expected.append(kernel.entry_log_density(theta, units, histogram, growth, number))
        found.append(kernel.site_log_density(x, units[i], histogram, growth, number, others))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-11)


@each_kind
@each_restriction
def test_features_that_no_row_has(kind, restrict):
    growth, number, theta = growth_of(kind), RESTRICT[restrict], THETA[kind].copy()
    histogram = np.array([3.0, 0.0, 2.0])
    theta[1] = -1e5
    units = np.array([3.0, 0.0, 1.0])
    assert np.isfinite(kernel.entry_log_density(theta, units, histogram, growth, number))
    others = kernel.of_others(1, theta, growth, number, 2)
    assert kernel.site_log_density(theta[1], 0.0, histogram, growth, number, others) == (
        pytest.approx(kernel.site_log_density(-1e4, 0.0, histogram, growth, number, others))
    )


@each_kind
def test_weights_of_all_features_are_those_of_each(kind):
    theta, growth = THETA[kind], growth_of(kind)
    rates, log_hazards, odds = kernel.entry_weights(theta, growth)
    np.testing.assert_allclose(rates, log_rates(kind), rtol=1e-13)
    np.testing.assert_allclose(log_hazards, np.log(hazards(kind)), rtol=1e-13)
    np.testing.assert_allclose(odds, np.log(np.expm1(hazards(kind))), rtol=1e-12)


@each_kind
def test_factors_are_what_the_law_of_entries_has_beside_its_rates(kind):
    rows = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 40.0]])
    beside = log_prior_weights(kind, np.exp(log_rates(kind)), rows) - rows * log_rates(kind)
    found = kernel.summed_log_factors(rows, growth_of(kind))
    assert found == pytest.approx(beside.sum(), rel=1e-12)
