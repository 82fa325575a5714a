"""New rows of a table of kinds: densities and probabilities against enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp.kernels import posterior_kinds as kernel
from ribp.likelihoods.data import Data
from ribp.testing.goodness import holds, is_caught, mean_p_value
from tests.helpers.kind_cases import KINDS, VALUES, table
from tests.helpers.row_cases import EXACT, FEATURES, ROWS, TABLE, THETA

NAMES = list(KINDS)
LAW = table(NAMES)
GIVEN = LAW.draw_prior(np.random.default_rng(5), FEATURES, len(NAMES))
GIVEN = GIVEN._replace(background=LAW.places.centre)
X = np.array([[VALUES[name][at % len(VALUES[name])] for name in NAMES] for at in range(3)])
OWN = np.array([0.4, 1.0, 2.5])
SEEN = np.ones(X.shape, bool)
SEEN[1, ::3] = False
SEEN[2] = False


def truth(name):
    """Return log p(x) and P(z_i = 1 | x) of each row, by a sum over all rows."""
    eta = [LAW.exposed(LAW.means(ROWS, GIVEN), np.full(len(ROWS), own)) for own in OWN]
    wide = np.tile(X[:, None], (1, len(ROWS), 1))
    terms = np.array([LAW.log_density(*one, GIVEN) for one in zip(wide, eta, strict=True)])
    prior = TABLE[name][ROWS.sum(axis=1)] + ROWS @ THETA
    log_p = prior + np.where(SEEN[:, None], terms, 0.0).sum(axis=2)
    sums = logsumexp(log_p, axis=1)
    return sums, np.exp(log_p - sums[:, None]) @ ROWS


def kernels():
    return LAW.row_kernels(Data(np.where(SEEN, X, 0.0), SEEN, OWN), GIVEN)


def enumerated(name, seed=0):
    rows = kernels()
    seeds = np.arange(3, dtype=np.uint64) + np.uint64(3 * seed)
    sums, probs, sample = np.empty(3), np.empty((3, FEATURES)), np.empty((3, FEATURES), np.int8)
    kernel.enumerate_all(
        seeds,
        rows.values,
        rows.observed,
        *rows.own,
        *rows.features,
        THETA,
        TABLE[name],
        sums,
        probs,
        sample,
    )
    return sums + rows.constants, probs, sample


@pytest.mark.parametrize("name", TABLE)
def test_every_row_is_visited(name):
    sums, probs, sample = enumerated(name)
    expected = truth(name)
    np.testing.assert_allclose(sums, expected[0], **EXACT)
    np.testing.assert_allclose(probs, expected[1], **EXACT)
    assert np.isfinite(TABLE[name][sample.sum(axis=1)]).all()


def annealed(name, seed, n_steps=3, n_particles=4):
    rows, out = kernels(), (np.empty(3), np.empty(3), np.empty((3, FEATURES)))
    sample = np.empty((3, FEATURES), np.int8)
    seeds = np.arange(3, dtype=np.uint64) + np.uint64(3 * seed)
    kernel.anneal(
        seeds, n_particles, n_steps, rows.values, rows.observed, *rows.own, *rows.features, THETA,
        TABLE[name], *out, sample,
    )  # fmt: skip
    return out[0] + rows.constants, out[2], sample


def p_values(name, change=0.0):
    """Return a test of unbiased p(x), and of p(x) P(z_i = 1 | x)."""
    log_p, probs = truth(name)

    def run(n, seed):
        found = [annealed(name, seed * n + at) for at in range(n)]
        ratios = np.exp(np.array([one[0] for one in found]) - log_p + change)
        joint = ratios[:, 0, None] * np.array([one[1][0] for one in found])
        values = {f"row {at}": mean_p_value(ratios[:, at], 1.0) for at in range(2)}
        return values | {f"z {i}": mean_p_value(joint[:, i], probs[0, i]) for i in range(FEATURES)}

    return run


@pytest.mark.jit
@pytest.mark.parametrize("name", TABLE)
def test_annealing_is_unbiased(name):
    assert holds(p_values(name), 400)


@pytest.mark.jit
def test_a_bias_is_caught():
    assert is_caught(p_values("interval", 0.1), 4000)


@pytest.mark.parametrize("name", TABLE)
def test_annealed_rows_obey_their_law(name):
    for seed in range(3):
        sums, probs, sample = annealed(name, seed)
        assert np.isfinite(sums).all()
        assert sums[2] == pytest.approx(truth(name)[0][2], abs=1e-9)  # nothing was observed
        assert np.isfinite(TABLE[name][sample.sum(axis=1)]).all()
        assert ((probs >= 0) & (probs <= 1)).all()
