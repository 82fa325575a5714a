"""Whole chains, started from the prior, are calibrated: the truth is one draw among others."""

from dataclasses import replace

import pytest

from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete
from ribp.mcmc import gibbs, gibbs_rows
from ribp.testing.calibration import chain_fit, rank_p_values
from ribp.testing.goodness import holds, is_caught, is_slow, replicates
from tests.helpers.gibbs_cases import CASES, DIMS, FIXED_NOISE, FIXED_SIZE, Trial
from tests.helpers.kind_cases import KINDS, Joint, table
from tests.mcmc.test_noisy_or import CASES as NOISY_OR

pytestmark = pytest.mark.jit

REPLICATES, DRAWS = replicates(60, 400), replicates(9, 19)  # the slow tier fills twenty bins

# A chain that remembers looks too sure, so draws are thinned until correlations are below a tenth:
# eight sweeps; sixty replicates do not see what four leave. Two things take longer. The mass has
# a correlation of a half after six sweeps and a fifth after twenty: it is fixed here, and left to
# the joint tests, which need no chain that forgets. Rows that must cross a gap, with entries
# missing, have a third after four, and seldom move at all in some data sets: they have a test of
# their own, which looks at few statistics.
THIN, LONG = replicates(4, 8), 20
SOME = ["fixed scales"]
MORE = ["gap, missing", "noise per column", "shared noise"]
COUNTS = ["counts, background", "counts"]
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

    def start(rng, data):
        return tried.model.draw_prior(rng, DIMS)

    def p_values(n, seed):
        fit = chain_fit(start, tried.update, n_warmup=3 * thin, n_thin=thin)
        return rank_p_values(
            trial.simulate, fit, quantities, n_replicates=n, n_draws=DRAWS, seed=seed
        )

    return p_values


def with_fixed_mass(name, update, cases=CASES):
    model, missing = cases[name]
    return Trial((replace(model, mass=1.2), missing), update)


@pytest.mark.parametrize("name", SOME + MORE + COUNTS if is_slow() else SOME)
def test_ranks_of_gibbs_rows_are_uniform(name):
    assert holds(ranked(with_fixed_mass(name, gibbs_rows.update_in_memory)), REPLICATES)


# Kinds forget more slowly, by steps of Metropolis: backgrounds of counts, and
# the feature scale of a mixed table, have a correlation of .4 after 8 sweeps, .2 after 16.
KINDS_THIN, KINDS_REPLICATES = replicates(4, 24), replicates(60, 200)
TABLES = {name: ([name] * 2, "interval") for name in KINDS} | {"mixed": (list(KINDS), "interval")}


@pytest.mark.parametrize("name", TABLES if is_slow() else ["binary"])
def test_ranks_of_kinds_are_uniform(name):
    names, law = TABLES[name]
    trial = Joint(table(names), law)
    trial.model = replace(trial.model, mass=1.2)
    assert holds(ranked(trial, thin=KINDS_THIN), KINDS_REPLICATES)


@pytest.mark.parametrize("name", ["intervals", "known"] if is_slow() else ["intervals"])
def test_ranks_of_noisy_or_are_uniform(name):
    trial = with_fixed_mass(name, gibbs_rows.update_in_memory, NOISY_OR)
    assert holds(ranked(trial, thin=KINDS_THIN), KINDS_REPLICATES)


def test_kinds_that_take_gaps_for_zeros_are_caught():
    trial = Joint(table(["binary"] * 3), share=0.5)
    tried = Joint(trial.model.likelihood, update=gaps_as_zeros, share=0.5)
    assert is_caught(ranked(trial, tried), 60)


def gaps_as_zeros(rng, seed, state, model, data):
    """Update a state as if missing entries were zeros."""
    return gibbs_rows.update_in_memory(rng, seed, state, model, complete(data.values))


if is_slow():

    @pytest.mark.parametrize("name", SOME + MORE)
    def test_ranks_of_gibbs_are_uniform(name):
        assert holds(ranked(with_fixed_mass(name, gibbs.update)), REPLICATES)

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
    trial = with_fixed_mass("fixed scales", gibbs_rows.update_in_memory)
    assert is_caught(ranked(trial, too_sure(trial, share)), n)
