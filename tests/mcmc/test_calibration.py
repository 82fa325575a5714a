"""Whole chains, started from the prior, are calibrated: the truth is one draw among others."""

from dataclasses import replace

import pytest

from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete
from ribp.mcmc import gibbs, gibbs_rows
from ribp.testing.calibration import chain_fit, rank_p_values
from ribp.testing.goodness import holds, is_caught, is_slow, replicates
from tests.helpers.calibration_cases import RANKED, ranked_trial
from tests.helpers.gibbs_cases import CASES, FIXED_NOISE, FIXED_SIZE, Trial
from tests.helpers.kind_cases import Joint, table

pytestmark = pytest.mark.jit

REPLICATES, DRAWS = replicates(40, 400), replicates(9, 19)  # the slow tier fills twenty bins
THIN, LONG = replicates(4, 8), 20
QUICK = [
    ("gibbs-rows", "Gaussian", "fixed scales"),
    ("gibbs-rows", "strengths", "signed"),
    ("gibbs-rows", "multiplicities", "negative binomial, sum"),
    ("gibbs-rows", "columns of kinds", "binary"),
    ("gibbs-rows", "noisy-OR", "intervals"),
]
SLOW_TO_FORGET = {
    "learned laws, missing": ["ones of the last row", "law 1 at 2", "log likelihood"],
}


def ranked(trial, tried=None, thin=THIN, only=None):
    """Return a check that the ranks of all statistics are uniform.

    Parameters
    ----------
    trial
        Draws states and data.
    tried
        Fits them; the same unless it is wrong on purpose.
    thin
        Sweeps from draw to draw.
    only
        The statistics to look at, if not all.
    """
    tried = tried or trial

    def quantities(state, data):
        found = trial.statistics(state, data)
        return {name: found[name] for name in only or found}

    def p_values(n, seed):
        fit = chain_fit(tried.start, tried.update, n_warmup=3 * thin, n_thin=thin)
        return rank_p_values(
            trial.simulate, fit, quantities, n_replicates=n, n_draws=DRAWS, seed=seed
        )

    return p_values


@pytest.mark.parametrize("name", RANKED if is_slow() else QUICK, ids=", ".join)
def test_ranks_are_uniform(name):
    trial, thin = ranked_trial(*name)
    assert holds(ranked(trial, thin=replicates(min(thin, 8), thin)), REPLICATES)


def test_kinds_that_take_gaps_for_zeros_are_caught():
    trial = Joint(table(["binary"] * 3), share=0.5)
    tried = Joint(trial.model.likelihood, update=gaps_as_zeros, share=0.5)
    assert is_caught(ranked(trial, tried), 60)


def gaps_as_zeros(rng, seed, state, model, data):
    """Update a state as if missing entries were zeros."""
    return gibbs_rows.update_in_memory(rng, seed, state, model, complete(data.values))


if is_slow():

    @pytest.mark.parametrize("name", SLOW_TO_FORGET)
    @pytest.mark.parametrize("update", [gibbs.update, gibbs_rows.update_in_memory])
    def test_ranks_of_what_is_slow_to_forget_are_uniform(name, update):
        found = ranked(Trial(CASES[name], update), thin=LONG, only=SLOW_TO_FORGET[name])
        assert holds(found, REPLICATES)


def too_sure(trial, share):
    """Return a trial with noise that is too small, and features as large as before.

    Their scale is given in units of the noise.
    """
    likelihood = LinearGaussian(noise_scale=share * FIXED_NOISE, feature_scale=FIXED_SIZE / share)
    return Trial((replace(trial.model, likelihood=likelihood), trial.missing), trial.sampler)


@pytest.mark.parametrize(("share", "n"), [(0.6, 60), (0.9, 1000)][: 2 if is_slow() else 1])
def test_a_sampler_that_is_too_sure_is_caught(share, n):
    trial, _ = ranked_trial("gibbs-rows", "Gaussian", "fixed scales")
    assert is_caught(ranked(trial, too_sure(trial, share)), n)
