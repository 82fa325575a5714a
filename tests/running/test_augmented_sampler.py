"""The augmented sampler with scales: a sweep keeps the joint law of rows, scales and data."""

import numpy as np
import pytest

from ribp import counts
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import in_use, with_missing
from ribp.mcmc import augmented
from ribp.model import Model
from ribp.running.augmented_sampler import Augmented, AugmentedChain
from ribp.testing.geweke import one_step_p_values
from ribp.testing.goodness import holds, is_caught, replicates

pytestmark = pytest.mark.jit

LAWS = counts.by_row(
    [counts.exactly(2), counts.exactly(1), counts.uniform(0, 2), counts.exactly(1)]
)
MODEL = Model(LAWS, 9, LinearGaussian(background=True), mass=2.5, concentration=2.0)
MISSING = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)


def simulate(rng):
    buffet = augmented.draw_prior(rng, LAWS, 2.5, 2.0)
    rows = buffet.rows[:, in_use(buffet.rows)]
    parameters = MODEL.likelihood.draw_prior(rng, rows.shape[1], 3)
    values = MODEL.likelihood.draw_data(rng, rows, parameters)
    data = with_missing(np.where(MISSING, np.nan, values))
    return AugmentedChain(buffet, parameters, np.zeros(rows.shape[1])), data


def statistics(state, data):
    given, rows = state.parameters, state.buffet.rows[:, in_use(state.buffet.rows)]
    mean = rows @ given.features + given.background
    noise = np.log(given.noise_scale)
    return [
        rows.shape[1],
        rows[0] @ rows[1],
        rows[2].sum(),
        noise.mean(),
        noise[0] ** 2,
        np.log(given.feature_scale),
        np.tanh(((data.values - mean) / given.noise_scale)[~MISSING] ** 2 / 2).mean(),
        np.tanh(data.values * mean)[~MISSING].mean(),
        np.log(np.abs(given.background) + 0.01).mean(),
        np.log1p(state.buffet.n_discards.sum()),
        state.buffet.rows.shape[1],
    ]


def one_sweep(noise=1.0):
    """Return a check that a sweep keeps the joint law, with noise that is spoiled after it."""
    sampler = Augmented(MODEL)

    def update(rng, state, data):
        state, (weight, tally) = sampler.update(rng, np.uint64(0), state, sampler.model, data)
        assert np.isfinite(weight)
        shown = sampler.shown(state)
        np.testing.assert_array_equal(tally.sizes, shown.rows.sum(axis=0))
        assert shown.rows.shape[1] == len(shown.log_odds) == len(shown.parameters.features)
        given = state.parameters
        return state._replace(parameters=given._replace(noise_scale=noise * given.noise_scale))

    return lambda n, seed: one_step_p_values(
        simulate, update, statistics, n_replicates=n, seed=seed
    )


def test_a_sweep_keeps_the_joint_law():
    assert holds(one_sweep(), replicates(600, 5000))
    assert is_caught(one_sweep(noise=1.15), 400)
