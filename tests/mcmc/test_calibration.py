"""Whole chains, started from the prior, are calibrated: the truth is one draw among others."""

import pytest

from ribp.mcmc import gibbs, gibbs_rows
from ribp.testing.calibration import chain_fit, rank_p_values
from ribp.testing.goodness import agrees, n_seeds
from tests.helpers.gibbs_cases import CASES, DIMS, Seen, Trial

pytestmark = pytest.mark.jit

PATIENT = n_seeds(1) > 1
# The mass is the last to forget: its correlation is a half after six sweeps, a fifth after twenty.
# With sixty replicates ranks are only sorted into halves, for which that does not matter.
REPLICATES, WARMUP, THIN = (200, 40, 20) if PATIENT else (60, 10, 1)


def calibrated(name, update, spoil=None):
    """Return whether the ranks of all statistics are uniform."""
    model, honest = CASES[name].model, Trial(CASES[name], update)
    tried = Trial(CASES[name], update, spoil) if spoil else honest

    def start(rng, data):
        return Seen(model.draw_prior(rng, DIMS), data)

    found = rank_p_values(
        honest.simulate,
        chain_fit(start, tried.update, n_warmup=WARMUP, n_thin=THIN),
        honest.statistics,
        n_replicates=REPLICATES,
        n_draws=19,
        seed=0,
    )
    return all(map(agrees, found))


@pytest.mark.parametrize(
    ("name", "update"),
    [
        ("learned laws, missing", gibbs.update),
        ("learned laws, missing", gibbs_rows.update),
        ("counts, background", gibbs_rows.update),
        *([("gap, missing", gibbs.update), ("counts", gibbs_rows.update)] if PATIENT else []),
    ],
)
def test_ranks_are_uniform(name, update):
    assert calibrated(name, update)


def too_noisy(rng, state, model):
    given = state.parameters
    return state._replace(parameters=given._replace(noise_scale=1.4 * given.noise_scale))


def test_a_broken_twin_is_caught():
    assert not calibrated("learned laws, missing", gibbs.update, too_noisy)
