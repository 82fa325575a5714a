"""Whole chains, started from the prior, are calibrated: the truth is one draw among others."""

import pytest

from ribp.likelihoods import LinearGaussian
from ribp.mcmc import gibbs, gibbs_rows
from ribp.testing.calibration import chain_fit, rank_p_values
from ribp.testing.goodness import holds, is_caught, is_slow, replicates
from tests.helpers.gibbs_cases import CASES, DIMS, FIXED_NOISE, FIXED_SIZE, Trial, case

pytestmark = pytest.mark.jit

REPLICATES, DRAWS = replicates(60, 400), replicates(9, 19)  # the slow tier fills twenty bins

# How long chains take to forget decides what a case costs. Where scales and mass are fixed that is
# a few sweeps; the mass is the last to forget: its correlation is a half after six sweeps, a fifth
# after twenty.
FORGETS = {"fixed scales": 4}
CASES_HERE = [("fixed scales", gibbs_rows.update)]
if is_slow():
    CASES_HERE += [
        ("fixed scales", gibbs.update),
        ("learned laws, missing", gibbs.update),
        ("learned laws, missing", gibbs_rows.update),
        ("gap, missing", gibbs.update),
        ("counts, background", gibbs_rows.update),
        ("counts", gibbs_rows.update),
    ]


def ranked(name, update, used=None):
    """Return a check that the ranks of all statistics are uniform, perhaps with another model."""
    honest = Trial(CASES[name], update)
    tried = Trial(used, update) if used else honest
    thin = FORGETS.get(name, 20)

    def start(rng, data):
        return tried.model.draw_prior(rng, DIMS)

    def p_values(n, seed):
        fit = chain_fit(start, tried.update, n_warmup=3 * thin, n_thin=thin)
        return rank_p_values(
            honest.simulate, fit, honest.statistics, n_replicates=n, n_draws=DRAWS, seed=seed
        )

    return p_values


@pytest.mark.parametrize(("name", "update"), CASES_HERE)
def test_ranks_are_uniform(name, update):
    assert holds(ranked(name, update), REPLICATES)


def too_sure(share):
    """Return the case of fixed scales with noise that is too small, and nothing else changed.

    Features are as large as before: their scale is given in units of the noise.
    """
    model, missing = CASES["fixed scales"]
    likelihood = LinearGaussian(noise_scale=share * FIXED_NOISE, feature_scale=FIXED_SIZE / share)
    return case(model.counts, likelihood, model.weights, missing, model.mass, model.concentration)


@pytest.mark.parametrize(("share", "n"), [(0.6, 60), (0.9, 1000)][: 2 if is_slow() else 1])
def test_a_sampler_that_is_too_sure_is_caught(share, n):
    assert is_caught(ranked("fixed scales", gibbs_rows.update, too_sure(share)), n)
