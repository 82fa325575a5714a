"""R-hat and effective sample sizes agree with those of ArviZ, and with what is known."""

import math
import warnings

import numpy as np
import pytest

from ribp.posterior.convergence import ess_bulk, ess_tail, monte_carlo_error, r_hat

FUNCTIONS = [r_hat, ess_bulk, ess_tail, monte_carlo_error]


def autoregressive(phi, chains, n, seed, shift=0.0):
    """Return chains x_t = phi x_{t-1} + e_t from their stationary law; the last one is shifted."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((chains, n))
    x[:, 0] /= math.sqrt(1.0 - phi**2)
    for t in range(1, n):
        x[:, t] += phi * x[:, t - 1]
    x[-1] += shift
    return x


CASES = {
    "independent": autoregressive(0.0, 4, 250, 1),
    "slow": autoregressive(0.9, 4, 500, 2),
    "alternating": autoregressive(-0.6, 3, 200, 3),
    "shifted": autoregressive(0.3, 2, 301, 4, 1.5),
    "heavy tails": np.exp(2.0 * autoregressive(0.5, 4, 151, 5)),
    "whole numbers": np.round(autoregressive(0.7, 3, 120, 6)),
}
# az.rhat, az.ess(method="bulk"), az.ess(method="tail") and az.mcse(method="mean") of ArviZ 0.23.4.
ARVIZ = {
    "independent": [1.0064869956, 1047.84449084, 950.868167066, 0.0304558449109],
    "slow": [1.06387123552, 79.0414912402, 258.513984002, 0.222453307366],
    "alternating": [0.999840776298, 1666.89075023, 498.146647199, 0.0308909243165],
    "shifted": [1.22618460631, 6.72311626641, 330.756315603, 0.468994091815],
    "heavy tails": [1.01862323733, 175.060697912, 387.257481477, 1.61982263982],
    "whole numbers": [1.05871187158, 76.8673853032, 118.69472125, 0.171946886683],
}


@pytest.mark.parametrize("name", CASES)
def test_stored_numbers_of_arviz(name):
    found = [function(CASES[name]) for function in FUNCTIONS]
    np.testing.assert_allclose(found, ARVIZ[name], rtol=1e-8)


def test_arviz_itself():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        x = autoregressive(0.6, 3, 173, 7)
        expected = [
            arviz.rhat(x),
            arviz.ess(x, method="bulk"),
            arviz.ess(x, method="tail"),
            np.squeeze(arviz.mcse(x, method="mean")),
        ]
    found = [function(x) for function in FUNCTIONS]
    np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-8)


def test_effective_draws_of_an_autoregression():
    """Its mean has n (1 - phi)/(1 + phi) effective draws."""
    found = monte_carlo_error(autoregressive(0.8, 4, 20_000, 0))
    assert found == pytest.approx(5.0 / math.sqrt(80_000), rel=0.05)
    assert ess_bulk(autoregressive(0.8, 4, 20_000, 0)) == pytest.approx(80_000 / 9, rel=0.1)


def test_constant_chains():
    same = np.full((3, 10), 2.5)
    assert r_hat(same) == 1.0
    assert ess_bulk(same) == ess_tail(same) == 30
    assert monte_carlo_error(same) == 0.0
    apart = np.repeat([[1.0], [2.0]], 100, axis=1)
    assert r_hat(apart) == math.inf
    assert ess_bulk(apart) < 5


def test_one_chain_is_cut():
    rng = np.random.default_rng(0)
    steady = rng.standard_normal(1000)
    assert r_hat(steady) < 1.01
    assert r_hat(steady + np.linspace(0, 3, 1000)) > 1.2


def test_a_wider_chain_is_seen():
    rng = np.random.default_rng(0)
    assert r_hat(rng.standard_normal((2, 1000)) * [[1.0], [3.0]]) > 1.05


@pytest.mark.parametrize("draws", [np.ones((2, 3)), [[1.0, np.nan, 2.0, 3.0, 4.0]]])
def test_nothing_can_be_said(draws):
    assert all(math.isnan(function(draws)) for function in FUNCTIONS)


def test_shortest_chains():
    found = [function([[1.0, 3.0, 2.0, 4.0], [4.0, 1.0, 2.0, 3.0]]) for function in FUNCTIONS]
    assert np.isfinite(found).all()
