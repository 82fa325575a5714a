"""The augmented sampler and `gibbs` have one posterior: twelve chords, heard with three ears.

The augmented sampler has no truncation and no weights; `gibbs` has the eighty largest atoms of the
beta process. Concentration and mass are chosen so that few rows are discarded.
"""

from functools import cache

import numpy as np
import pytest

from ribp import counts
from ribp.datasets import load_chords, scaled
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete
from ribp.mcmc import augmented, gibbs
from ribp.model import Model
from ribp.testing.goodness import holds, is_caught, replicates, two_sample_p_value
from ribp.threads import one_blas_thread

pytestmark = pytest.mark.jit

CONCENTRATION, NOISE, SIZE = 2.5, 0.8, 1.0
LIKELIHOOD = LinearGaussian(shared=True, noise_scale=NOISE, feature_scale=SIZE)


def twelve_chords():
    chords = load_chords()
    at = np.r_[0:4, np.flatnonzero(chords.counts == 3)[::28][:8]]
    ears = np.random.default_rng(0).normal(size=(100, 3)) / 10
    data = np.ascontiguousarray(scaled(chords.spectra)[at] @ ears)
    return data, counts.as_row_counts(chords.counts[at], 12)


def statistics(rows):
    rows = rows.astype(int)
    sizes, shared = rows.sum(axis=0), rows @ rows.T
    pairs = shared[np.triu_indices(12, 1)]
    return [(sizes > 0).sum(), pairs.mean(), shared[0, 1], (sizes == 1).sum(), (sizes > 3).sum()]


@cache
def by_augmentation(n_sweeps, mass, seed):
    data, laws = twelve_chords()
    rng, given = np.random.default_rng([seed, 1]), LIKELIHOOD.at_scales(0, 3, NOISE, SIZE)

    def log_likelihood(rows):
        return LIKELIHOOD.log_marginal(complete(data), rows, given)

    state, found = augmented.draw_prior(rng, laws, mass, CONCENTRATION), []
    for _ in range(n_sweeps):
        state, _ = augmented.update(
            rng, state, laws, CONCENTRATION, log_likelihood, learn_mass=False
        )
        found.append(statistics(state.rows))
    return batches(found)


def by_gibbs(n_sweeps, mass, seed):
    data, laws = twelve_chords()
    model = Model(laws, 80, LIKELIHOOD, mass, CONCENTRATION, "size-ordered")
    rng, found = np.random.default_rng([seed, 2]), []
    state, _ = model.simulate(rng, 3)
    for _ in range(n_sweeps):
        state, _ = gibbs.update(rng, np.uint64(seed), state, model, complete(data))
        found.append(statistics(state.rows))
    return batches(found)


def batches(found):
    found = np.array(found[len(found) // 8 :], float)
    return np.array([part.mean(axis=0) for part in np.array_split(found, 20)])


def together(mass):
    """Return a check that `gibbs` with this mass agrees with the augmented sampler of mass 4."""

    def check(n, seed):
        with one_blas_thread():
            one, other = by_augmentation(n, 4.0, seed), by_gibbs(4 * n, mass, seed)
        return list(map(two_sample_p_value, one.T, other.T))

    return check


def test_two_samplers_one_posterior():
    assert holds(together(4.0), replicates(120))
    assert is_caught(together(1.0), 120)
