"""Noisy-OR: counts that are not zero, and rows whose gains are those of the form HIT."""

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import kind_terms, posterior_kinds
from ribp.kernels import noisy_or as kernel
from ribp.kernels import sweep_kinds as rows_kernel
from ribp.likelihoods.data import Data
from ribp.likelihoods.noisy_or import NoisyOr, _columns, _latent
from ribp.likelihoods.poisson import PoissonParameters
from ribp.testing.goodness import frequencies_p_value, holds, is_caught
from tests.helpers.row_cases import (
    EXACT,
    FEATURES,
    ROWS,
    TABLE,
    THETA,
    after_flip,
    after_relocations,
    posterior,
    step,
)

RNG = np.random.default_rng(6)
DIMS = 5
GIVEN = PoissonParameters(
    RNG.gamma(1.0, 1.0, (FEATURES, DIMS)), np.array([0.3, 1e-3, 1e-12, 0.05, 2.0]), 1.0
)
X = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
SEEN = np.array([True, True, True, False, True])


def drawn(rate, n, seed):
    return np.array(
        [kernel.truncated_poisson(np.uint64(seed), 0, at, 0, rate)[0] for at in range(n)]
    )


@pytest.mark.jit
@pytest.mark.parametrize("rate", [0.05, 0.8, 3.0, 12.0])
def test_counts_have_the_law_of_those_that_are_not_zero(rate):
    most = int(stats.poisson.ppf(0.999, rate)) + 2
    numbers = np.arange(1, most)
    probs = stats.poisson.pmf(numbers, rate) / -np.expm1(-rate)

    def p_values(n, seed, change=0):
        found = np.minimum(drawn(rate, n, seed) + change, most)
        observed = np.bincount(found, minlength=most + 1)[1:]
        return [frequencies_p_value(observed, np.append(probs, 1.0 - probs.sum()))]

    assert holds(p_values, 2000)
    assert is_caught(lambda n, seed: p_values(n, seed, 1), 500)


def test_counts_of_rows():
    rows, data = np.array([[1, 0, 0, 1], [0, 0, 0, 0]], np.int8), np.array([X, 1.0 - X])
    loadings, counts = np.ascontiguousarray(GIVEN.features.T), np.empty((2, DIMS))
    for observed in (np.ones((0, 0), bool), np.tile(SEEN, (2, 1))):
        kernel.fill_counts(
            np.uint64(3), 1, 5, data, observed, rows, loadings, GIVEN.background, counts
        )
        shown = (data > 0) & (SEEN if observed.size else True)
        np.testing.assert_array_equal(counts > 0, shown)
        assert (counts[1][shown[1]] >= 1).all()
    assert kernel.truncated_poisson(np.uint64(0), 0, 0, 0, 1e-300)[0] == 1


class Row:
    """A row with its terms."""

    def __init__(self):
        self.columns, self.terms = _columns(DIMS), kind_terms.new_terms(DIMS)
        self.latent = _latent(GIVEN.features, GIVEN.background)
        kind_terms.fill_terms(X, SEEN, 0.0, *self.columns, *self.terms)
        self.work, self.shares = np.empty((rows_kernel.WORK, FEATURES)), np.empty(DIMS)
        rows_kernel.fill_linear(*self.terms, self.latent.loadings, self.work)
        density = NoisyOr().log_density(
            np.tile(X, (len(ROWS), 1)), NoisyOr().means(ROWS, GIVEN), GIVEN
        )
        self.density = density[:, SEEN].sum(axis=1)

    def log_odds(self, z, i):
        eta = np.empty((2, DIMS))
        kind_terms.fill_latent(z, self.latent.features, self.latent.background, eta)
        rows_kernel.fill_gains(0, z, eta, *self.terms, *self.latent, self.work, self.shares)
        prior = THETA[i] + step(TABLE["interval"], int(z.sum() - z[i]))
        return prior + self.work[rows_kernel.GAINS, i]

    def log_weights(self, z, i):
        rows_kernel.relocation_log_weights(
            i, z, 1.0, THETA, *self.terms, *self.latent, np.empty((2, DIMS)), self.work, self.shares
        )
        return self.work[rows_kernel.GAINS].copy()


def test_moves_leave_the_posterior_unchanged():
    row = Row()
    pi = posterior(row.density, TABLE["interval"])
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, row.log_odds), pi, **EXACT)
    np.testing.assert_allclose(after_relocations(pi, row.log_weights), pi, **EXACT)
    eta, shift = np.empty((2, DIMS)), np.zeros(FEATURES)
    given = row.latent.features, row.latent.background
    found = np.array(
        [rows_kernel.excess(z, shift, *row.terms, *given, eta, row.shares) for z in ROWS]
    )
    np.testing.assert_allclose(found - found[0], row.density - row.density[0], rtol=1e-12)


@pytest.mark.parametrize("name", TABLE)
def test_new_rows_by_enumeration(name):
    kernels = NoisyOr().row_kernels(Data(np.where(SEEN, X, 0.0)[None], SEEN[None]), GIVEN)
    sums, probs, sample = np.empty(1), np.empty((1, FEATURES)), np.empty((1, FEATURES), np.int8)
    posterior_kinds.enumerate_all(
        np.zeros(1, np.uint64), kernels.values, kernels.observed, *kernels.own, *kernels.features,
        THETA, TABLE[name], sums, probs, sample,
    )  # fmt: skip
    log_p = TABLE[name][ROWS.sum(axis=1)] + ROWS @ THETA + Row().density
    expected = np.exp(log_p).sum()
    assert np.exp(sums[0] + kernels.constants[0]) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(probs[0], np.exp(log_p) @ ROWS / expected, **EXACT)
