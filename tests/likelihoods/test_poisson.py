"""Poisson counts: the door, log joint, and the conjugate update against quadrature."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from ribp.errors import InputError
from ribp.likelihoods import PoissonCounts, PoissonParameters
from ribp.likelihoods.data import with_missing
from ribp.rows.shard import not_a_count
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

ROWS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]], np.int8)
X = np.array([[3.0, 0.0], [5.0, 2.0], [1.0, np.nan], [0.0, 4.0]])
FEATURES = np.array([[2.0, 0.5], [1.5, 2.5], [9.0, 9.0]])


@pytest.mark.parametrize("wrong", [-1.0, 2.5])
def test_other_numbers_than_counts_are_refused(wrong):
    values = np.array([[1.0, 2.0], [0.0, wrong]])
    with pytest.raises(InputError, match=r"row 1, column 1.*gaussian"):
        PoissonCounts().check(values.shape[1], not_a_count(values))
    PoissonCounts().check(X.shape[1], not_a_count(with_missing(X).values))


@pytest.mark.parametrize("background", [False, True])
def test_log_joint_term_by_term(background):
    likelihood = PoissonCounts(background=background, shape=0.7, prior_mean=1.2)
    base = np.array([0.3, 0.4]) if background else np.zeros(2)
    given = PoissonParameters(FEATURES, base, 1.7)
    rates = ROWS @ FEATURES + base
    seen = ~np.isnan(X)
    expected = stats.poisson(rates[seen]).logpmf(X[seen]).sum()
    known = np.vstack([FEATURES[:2], base[None]]) if background else FEATURES[:2]
    expected += stats.gamma(0.7, scale=1.7 / 0.7).logpdf(known).sum()
    expected += stats.invgamma(2.0, scale=1.2).logpdf(1.7) + math.log(1.7)
    assert likelihood.log_joint(with_missing(X), ROWS, given) == pytest.approx(expected)


@pytest.mark.jit
def test_features_have_their_posterior():
    """One feature alone is Gamma(a + counts, rate); two that share counts, by quadrature."""
    likelihood, data = PoissonCounts(feature_scale=1.7, shape=0.7), with_missing(X)
    grid = np.linspace(-30, 4, 700)  # of logarithms
    a, b = np.exp(np.meshgrid(grid, grid, indexing="ij"))
    prior = stats.gamma(0.7, scale=1.7 / 0.7).logpdf
    means = []
    for d, shown in enumerate((a, b)):
        log_p = prior(a) + prior(b) + np.log(a * b)
        for n in range(4):
            if not np.isnan(X[n, d]):
                log_p = log_p + stats.poisson(ROWS[n, 0] * a + ROWS[n, 1] * b).logpmf(X[n, d])
        p = np.exp(log_p - log_p.max())
        means.append(float((p * shown).sum() / p.sum()))

    def p_values(n, seed, wrong=1.0):
        """Means of n independent chains, after ten steps to forget their start."""
        rng, found = np.random.default_rng(seed), []
        for _ in range(n):
            given, kept = PoissonParameters(FEATURES, np.zeros(2), 1.7), []
            for _ in range(50):
                given = likelihood.update(rng, data, ROWS, given)
                kept.append([given.features[0, 0], given.features[1, 1]])
            found.append(np.mean(kept[10:], axis=0))
        pairs = zip(np.transpose(found), wrong * np.array(means), strict=True)
        return [mean_p_value(*pair) for pair in pairs]

    assert holds(p_values, replicates(120))
    assert is_caught(partial(p_values, wrong=1.3), 120)
