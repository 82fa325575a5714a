"""Views of the weights, and the row law that cannot tell them apart (by enumeration)."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from ribp.errors import InputError
from ribp.measures import esscher, normalised_log_odds, odds

RNG = np.random.default_rng(5)


def row_law(log_odds, f):
    """Return P(z) for all z in {0,1}^I from equation (1), term by term."""
    w = np.exp(log_odds)
    rows = np.array(list(itertools.product([0, 1], repeat=w.size)))
    weight = np.prod(w**rows, axis=1)
    counts = rows.sum(axis=1)
    e = np.array([math.fsum(weight[counts == k]) for k in range(w.size + 1)])
    return f[counts] * weight / e[counts]


def independent_law(log_odds):
    pi = special.expit(log_odds)
    rows = np.array(list(itertools.product([0, 1], repeat=pi.size)))
    return np.prod(np.where(rows == 1, pi, 1 - pi), axis=1)


@pytest.mark.parametrize("n_features", [1, 2, 5, 8])
@pytest.mark.parametrize("shift", [-7.0, 0.0, 0.3, 12.0])
def test_row_law_does_not_see_the_scale(n_features, shift):
    theta = RNG.normal(-1.0, 2.0, n_features)
    f = RNG.dirichlet(np.ones(n_features + 1))
    want = row_law(theta, f)
    assert want.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(row_law(esscher(theta, shift), f), want, rtol=1e-12)
    np.testing.assert_allclose(row_law(normalised_log_odds(theta), f), want, rtol=1e-12)


def test_independent_rows_do_see_it():
    theta = np.array([0.2, -1.0, 0.7])
    gap = np.abs(independent_law(esscher(theta, 1.0)) - independent_law(theta)).sum() / 2
    assert gap > 0.1


def test_esscher_is_the_tilt_of_the_weights():
    theta = np.array([-3.0, 0.0, 2.0])
    pi, beta = special.expit(theta), 0.8
    want = pi * math.exp(beta) / (pi * math.exp(beta) + 1 - pi)
    np.testing.assert_allclose(special.expit(esscher(theta, beta)), want, rtol=1e-14)


def test_normalised_odds_sum_to_one_where_all_odds_underflow():
    theta = np.array([[-5000.0, -5001.0, -9000.0], [0.0, 1.0, -np.inf]])
    result = normalised_log_odds(theta)
    np.testing.assert_allclose(odds(result).sum(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.diff(result[0]), np.diff(theta[0]), rtol=1e-14)


def test_odds_of_extreme_weights():
    np.testing.assert_array_equal(odds([-np.inf, 0.0, 800.0, np.inf]), [0.0, 1.0, np.inf, np.inf])


@pytest.mark.parametrize(("theta", "total"), [([np.inf, 0.0], "inf"), ([-np.inf] * 2, "0.0")])
def test_normalising_needs_a_finite_sum(theta, total):
    with pytest.raises(InputError, match=f"log_odds must have a finite, non-zero.*sum of {total}"):
        normalised_log_odds(theta)


@pytest.mark.parametrize("shift", [np.nan, np.inf, "up"])
def test_esscher_needs_a_finite_shift(shift):
    with pytest.raises(InputError, match="shift must be"):
        esscher([0.0], shift)


def test_views_refuse_what_is_not_log_odds():
    for view in (odds, normalised_log_odds, lambda theta: esscher(theta, 1.0)):
        with pytest.raises(InputError, match="must not contain NaN"):
            view([0.0, np.nan])
