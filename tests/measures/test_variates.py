"""Log-gamma and log-odds variates, at shapes where the values themselves underflow."""

import numpy as np
import pytest
from scipy import special, stats

from ribp.measures.variates import beta_log_odds_variates, log_gamma_variates
from ribp.testing.goodness import agrees


def log_gamma_cdf(log_x, shape):
    """P(log G <= log_x); for small x it is x^a/Gamma(a+1), which needs no x."""
    return np.where(
        log_x < -30.0,
        np.exp(shape * log_x - special.gammaln(shape + 1.0)),
        special.gammainc(shape, np.exp(np.maximum(log_x, -30.0))),
    )


@pytest.mark.parametrize("shape", [1e-7, 0.02, 0.6, 1.0, 30.0])
def test_log_gamma_law(shape):
    draws = log_gamma_variates(np.random.default_rng(1), shape, 20_000)
    assert np.isfinite(draws).all()
    assert agrees(stats.kstest(draws, log_gamma_cdf, args=(shape,)).pvalue)
    assert not agrees(stats.kstest(draws, log_gamma_cdf, args=(1.2 * shape,)).pvalue)


def test_underflow_is_the_rule_at_small_shapes():
    draws = log_gamma_variates(np.random.default_rng(2), 1e-4, 1000)
    assert np.mean(np.exp(draws) == 0.0) > 0.9


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (4.0, 0.2)])
def test_beta_law(a, b):
    draws = beta_log_odds_variates(np.random.default_rng(3), a, b, 20_000)
    law = stats.beta(a, b)
    assert agrees(stats.kstest(special.expit(draws), law.cdf).pvalue)
    assert not agrees(stats.kstest(special.expit(-draws), law.cdf).pvalue)


def test_one_shape_for_each_draw():
    b = np.repeat([0.5, 50.0], 4000)
    draws = special.expit(beta_log_odds_variates(np.random.default_rng(4), 1.0, b, 8000))
    for half, shape in ((draws[:4000], 0.5), (draws[4000:], 50.0)):
        assert agrees(stats.kstest(half, stats.beta(1.0, shape).cdf).pvalue)
