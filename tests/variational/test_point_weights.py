"""Weights as points, and learned laws: the best there is, and never downhill."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

import ribp
from ribp.likelihoods import LinearGaussian
from ribp.model import Model
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational import point_weights as part
from ribp.variational.point_weights import PointWeights
from ribp.weights.density import row_gradient, row_log_density
from tests.helpers.marks import every_prior
from tests.helpers.small_posteriors import padded_base

FEATURES = 5


def case(seed, name, mass=None, concentration=None):
    """Return a model, weights to begin with, and what rows are expected to be."""
    rng = np.random.default_rng(seed)
    law = ribp.counts.as_row_counts("uniform(0, 3)", 30)
    model = Model(law, FEATURES, LinearGaussian(), mass, concentration, name)
    row_law = ribp.RestrictedBernoulli(rng.normal(0, 2, FEATURES), "uniform(0, 3)")
    rows = row_law.sample(rng, 120)  # averages of four: expected numbers are not whole
    histogram = np.bincount(rows.sum(axis=1), minlength=FEATURES + 1) / 4
    start = PointWeights(rng.normal(0, 3, FEATURES), mass or 1.5, concentration or 0.8)
    return model, start, rows.sum(axis=0) / 4, histogram


def target(model, weights, sizes, histogram):
    """Return m.theta - sum_k N_k log e_k + log prior."""
    sets = sizes @ weights.log_odds - histogram @ ribp.log_esp(weights.log_odds)
    return sets + part.log_prior(model, weights)


@every_prior
def test_the_target_is_what_it_says(name):
    model, start, sizes, histogram = case(0, name)
    found = row_log_density(start.log_odds, sizes, histogram) + part.log_prior(model, start)
    assert found == pytest.approx(target(model, start, sizes, histogram), rel=1e-12)
    hyper = stats.expon.logpdf(start.mass) + np.log(start.mass)
    c = start.concentration
    hyper += stats.gamma(2.0, scale=0.5).logpdf(c) + np.log(c)
    density = model.weight_prior(start.mass, c).log_density(start.log_odds)
    assert part.log_prior(model, start) == pytest.approx(density + hyper, rel=1e-12)


@every_prior
@pytest.mark.parametrize("seed", range(6))
def test_no_update_lowers_the_target(name, seed):
    model, weights, sizes, histogram = case(seed, name)
    before = target(model, weights, sizes, histogram)
    for _ in range(4):
        weights = part.update(model, weights, sizes, histogram)
        now = target(model, weights, sizes, histogram)
        assert now >= before - 1e-10
        before = now
    assert 0 < weights.mass < FEATURES


@every_prior
def test_sizes_of_other_features_lower_the_target(name):
    """The broken twin gives features the sizes of others; their sum, that of the counts, stays."""
    model, weights, sizes, histogram = case(1, name)
    best = part.update(model, weights, sizes, histogram)
    wrong = part.update(model, weights, sizes[::-1].copy(), histogram)
    high = target(model, best, sizes, histogram)
    assert target(model, wrong, sizes, histogram) < high - 1.0


@pytest.mark.parametrize("name", ["weak-limit", "gamma-odds"])
def test_the_gradient_vanishes_at_the_end(name):
    model, weights, sizes, histogram = case(2, name, mass=1.5, concentration=1.0)
    found = part.update(model, weights, sizes, histogram)
    assert (found.mass, found.concentration) == (1.5, 1.0)  # fixed
    prior = model.weight_prior(1.5, 1.0)
    slope = row_gradient(found.log_odds, sizes, histogram) + prior.gradient(found.log_odds)
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    step = 1e-5 * np.eye(FEATURES)
    theta = weights.log_odds

    def value(x):
        return target(model, weights._replace(log_odds=x), sizes, histogram)

    slopes = [(value(theta + d) - value(theta - d)) / 2e-5 for d in step]
    slope = row_gradient(theta, sizes, histogram) + prior.gradient(theta)
    np.testing.assert_allclose(slope, slopes, atol=1e-6)


def test_the_best_place_is_not_left():
    model, weights, sizes, histogram = case(3, "weak-limit", mass=1.5, concentration=1.0)
    best = part.update(model, weights, sizes, histogram)
    again = part.update(model, best, sizes, histogram)
    np.testing.assert_allclose(again.log_odds, best.log_odds, atol=1e-4)
    model = replace(model, mass=None)
    for _ in range(200):
        best = part.update(model, best, sizes, histogram)
    around = [part.log_prior(model, best._replace(mass=best.mass * by)) for by in (0.99, 1.0, 1.01)]
    assert around[1] >= max(around)


def test_rows_without_ones():
    """Nothing but the prior speaks."""
    model, weights, _, _ = case(4, "weak-limit", mass=1.5, concentration=1.0)
    histogram = np.zeros(FEATURES + 1)
    histogram[0] = 30.0
    found = part.update(model, weights, np.zeros(FEATURES), histogram)
    a = 1.5 / FEATURES  # the mode of a theta - log(1 + e^theta)
    np.testing.assert_allclose(found.log_odds, np.log(a / (1 - a)), atol=1e-4)


# Learned laws

COUNTS = ribp.counts.by_row(
    [
        ribp.counts.learned([0.5, 0.0, 2.0, 1.0]),
        ribp.counts.exactly(2),
        ribp.counts.learned([3.0, 1.0]),
    ]
)
SEEN = np.array([[1.2, 0, 3.0, 0.8], [0, 0, 5.0, 0], [0.3, 0.7, 0, 0]])


def test_expected_log_probs():
    tables = part.expected_log_probs(COUNTS, SEEN)
    bases = {at: padded_base(COUNTS.laws[at], 4) for at in (0, 2)}

    def p_values(n, seed, wrong=False):
        rng, found = np.random.default_rng(seed), []
        for at, base in bases.items():
            on = base > 0
            assert (tables[at, ~on] == -np.inf).all()
            shapes = (base + SEEN[at])[on]
            means = np.log(shapes / shapes.sum()) if wrong else tables[at, on]
            draws = np.log(rng.dirichlet(shapes, n))
            found += [mean_p_value(*pair) for pair in zip(draws.T, means, strict=True)]
        return found

    assert holds(p_values, replicates(20_000))
    assert is_caught(partial(p_values, wrong=True), 2000)  # logarithms of the means
    np.testing.assert_array_equal(tables[1], [-np.inf, -np.inf, 0.0, -np.inf])


def test_law_divergence():
    a, b = np.array([1.7, 5.0, 1.8]), np.array([0.5, 2.0, 1.0])
    first = stats.dirichlet(a).entropy()
    cross = ((b - 1) * (digamma(a) - digamma(a.sum()))).sum()
    cross += stats.dirichlet(b).logpdf([1 / 3] * 3) - ((b - 1) * np.log(1 / 3)).sum()
    only = ribp.counts.RowCounts(COUNTS.laws[:1], np.zeros(1, int))
    assert part.law_divergence(only, SEEN[:1]) == pytest.approx(-first - cross, rel=1e-12)
    known = ribp.counts.RowCounts(COUNTS.laws[1:2], np.zeros(1, int))
    assert part.law_divergence(known, SEEN[1:2]) == 0
    assert part.law_divergence(COUNTS, np.zeros_like(SEEN)) == pytest.approx(0, abs=1e-12)


def test_the_dirichlet_is_the_best_law():
    """N . E log f - KL is highest where q(f) has seen just N; another N is a broken twin."""

    def value(law_counts):
        tables = part.expected_log_probs(COUNTS, law_counts)
        fit = (SEEN * np.where(SEEN > 0, tables, 0.0)).sum()
        return fit - part.law_divergence(COUNTS, law_counts)

    rng = np.random.default_rng(1)
    for _ in range(20):
        assert value(SEEN * rng.uniform(0.5, 1.5, SEEN.shape)) < value(SEEN)
