"""Simulation-based calibration: whole fits, from a start that does not know the truth."""

import numpy as np
import pytest
from gibbs_cases import GAUSSIAN, POISSON, Trial

from ribp.mcmc import gibbs, gibbs_rows
from ribp.testing.calibration import chain_fit, rank_p_values
from ribp.testing.goodness import agrees, n_seeds

pytestmark = pytest.mark.jit

CASES = {
    "gibbs": (GAUSSIAN["background"], gibbs.update),
    "gibbs, learned law": (GAUSSIAN["learned laws, missing"], gibbs.update),
    "gibbs-rows": (GAUSSIAN["gap, missing"], gibbs_rows.update),
    "gibbs-rows, counts": (POISSON["counts, background"], gibbs_rows.update),
}


def calibration_p_values(case, sampler, n_replicates, spoil=lambda rng, state, model: state):
    trial = Trial(case, sampler, spoil)

    def start(rng, data):
        return trial.simulate(rng)[0]._replace(data=data)

    fit = chain_fit(start, trial.update, n_warmup=40, n_thin=4)
    return rank_p_values(
        trial.simulate, fit, quantities, n_replicates=n_replicates, n_draws=19, seed=3
    )


def quantities(seen):
    """Return numbers that a fit is asked for, of rows, weights, laws and scales."""
    state = seen.state
    given = state.parameters
    return [
        state.rows.any(axis=0).sum(),
        (state.rows[0] * state.rows[1]).sum(),
        np.logaddexp.reduce(state.log_odds),
        state.mass * state.concentration,
        given.feature_scale,
        (state.rows @ given.features + given.background)[2, 1],
    ]


@pytest.mark.parametrize("name", CASES)
def test_fits_are_calibrated(name):
    case, sampler = CASES[name]
    n_replicates = 250 if n_seeds(1) > 1 else 60
    assert all(map(agrees, calibration_p_values(case, sampler, n_replicates)))


def larger(rng, state, model):
    """Spoil a state: noise and features a third larger."""
    given = state.parameters
    return state._replace(
        parameters=given._replace(
            noise_scale=1.3 * given.noise_scale, feature_scale=1.3 * given.feature_scale
        )
    )


def test_fits_that_are_not_are_caught():
    case, sampler = CASES["gibbs"]
    assert not all(map(agrees, calibration_p_values(case, sampler, 80, larger)))
