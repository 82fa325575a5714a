"""Log-gamma and log-odds variates, at shapes where the values themselves underflow."""

import numpy as np
import pytest
from scipy import special, stats

from ribp.measures.variates import beta_log_odds_variates, log_gamma_variates
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates


def log_gamma_cdf(log_x, shape):
    """P(log G <= log_x); for small x it is x^a/Gamma(a+1), which needs no x."""
    return np.where(
        log_x < -30.0,
        np.exp(shape * log_x - special.gammaln(shape + 1.0)),
        special.gammainc(shape, np.exp(np.maximum(log_x, -30.0))),
    )


@pytest.mark.parametrize("shape", [1e-7, 0.02, 0.6, 1.0, 30.0])
def test_log_gamma_law(shape):
    def p_values(n, seed, factor=1.0):
        draws = log_gamma_variates(np.random.default_rng(seed), shape, n)
        assert np.isfinite(draws).all()
        return [stats.kstest(draws, log_gamma_cdf, args=(factor * shape,)).pvalue]

    assert holds(p_values, replicates(20_000))
    assert is_caught(lambda n, seed: p_values(n, seed, factor=1.2), 10_000)


def test_underflow_is_the_rule_at_small_shapes():
    def p_values(n, seed):
        draws = log_gamma_variates(np.random.default_rng(seed), 1e-4, n)
        return [mean_p_value(np.exp(draws) == 0.0, log_gamma_cdf(-1075 * np.log(2.0), 1e-4))]

    assert log_gamma_cdf(-1075 * np.log(2.0), 1e-4) > 0.9
    assert holds(p_values, replicates(1000))


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (4.0, 0.2)])
def test_beta_law(a, b):
    def p_values(n, seed, sign=1):
        draws = beta_log_odds_variates(np.random.default_rng(seed), a, b, n)
        return [stats.kstest(special.expit(sign * draws), stats.beta(a, b).cdf).pvalue]

    assert holds(p_values, replicates(20_000))
    assert is_caught(lambda n, seed: p_values(n, seed, sign=-1), 2000)


def test_one_shape_for_each_draw():
    def p_values(n, seed, shapes=(0.5, 50.0)):
        b = np.repeat([0.5, 50.0], n)
        draws = special.expit(beta_log_odds_variates(np.random.default_rng(seed), 1.0, b, 2 * n))
        halves = zip(draws.reshape(2, n), shapes, strict=True)
        return [stats.kstest(half, stats.beta(1.0, shape).cdf).pvalue for half, shape in halves]

    assert holds(p_values, replicates(4000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, (0.8, 80.0)))], 2000)
