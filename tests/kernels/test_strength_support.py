"""Supports of rows with strengths: what is kept against dense Gaussians, also after switches."""

import numpy as np
import pytest

from ribp.kernels import strength_support as kernel
from tests.helpers.row_cases import FEATURES, ROWS, SEEN
from tests.helpers.strength_cases import LAWS, at_hand, exact_moments, log_likelihood, supported


def covariance(size, support):
    out = np.full((FEATURES, FEATURES), np.nan)
    kernel.fill_covariance(size, support.inverse, out)
    return out[:size, :size]


def gain_of(j, z, size, support, mu, tau):
    """Return what feature j adds, on or off."""
    g, rho = support.terms[kernel.G, j], support.terms[kernel.RHO, j]
    if z[j]:
        a = kernel.slot_of(j, size, support.slots)
        own = support.terms[kernel.VARIANCE, a], support.terms[kernel.MEAN, a]
        g, rho = kernel.slot_terms(*own, mu, tau)
    return kernel.gain(g, rho, mu, tau)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("law", LAWS)
def test_supports_are_those_of_dense_gaussians_also_after_switches(law, seen):
    seen, (mu, tau) = SEEN[seen], LAWS[law]
    exact = log_likelihood(seen, mu, tau)
    b, squares, gram = at_hand(seen)
    support, z = kernel.new_support(FEATURES), ROWS[6].copy()
    size, score = kernel.build(z, b, support, gram, squares, mu, tau, True)
    assert score == pytest.approx(exact[6] - exact[0], abs=1e-9)
    for i in [0, 1, 0, 3, 2, 1, 1, 2, 0, 3, 0]:  # as it is, then after switches
        at = int(z @ (1 << np.arange(FEATURES)))
        assert size == z.sum()
        for j in range(FEATURES):
            gained = exact[at | 1 << j] - exact[at & ~(1 << j)]
            assert gain_of(j, z, size, support, mu, tau) == pytest.approx(gained, abs=2e-9)
        order = np.argsort(support.slots[:size])
        m, cov = exact_moments(z, seen, mu, tau)
        found = covariance(size, support)
        np.testing.assert_allclose(support.terms[kernel.MEAN, :size][order], m, atol=1e-9)
        np.testing.assert_allclose(found[np.ix_(order, order)], cov, atol=1e-9)
        np.testing.assert_allclose(support.terms[kernel.VARIANCE, :size], np.diag(found))
        if z[i]:
            size = kernel.switch_off(kernel.slot_of(i, size, support.slots), size, support, mu, tau)
        else:
            size = kernel.switch_on(i, size, support, gram, squares, mu, tau)
        z[i] = 1 - z[i]


@pytest.mark.parametrize("law", ["around one", "signed"])
def test_a_slot_that_is_taken_out_leaves_what_its_support_without_it_has(law):
    for z in ROWS[1:]:
        support, size, _ = supported(z, SEEN["all"], law)
        for a in range(size):
            y, out = kernel.fill_out(a, size, support), support.terms[kernel.OUT]
            i, less = support.slots[a], z.copy()
            less[i] = 0
            without, _, _ = supported(less, SEEN["all"], law)
            off = np.flatnonzero(z == 0)
            g, rho = support.terms[kernel.G] + out**2, support.terms[kernel.RHO] + out * y
            np.testing.assert_allclose(g[off], without.terms[kernel.G, off], atol=1e-12)
            np.testing.assert_allclose(rho[off], without.terms[kernel.RHO, off], atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_gains_are_within_their_bounds(law):
    rng, (mu, tau) = np.random.default_rng(2), LAWS[law]
    for g in [0.0, -1e-12, *np.exp(rng.uniform(-6, 9, 100))]:
        rho = rng.normal() * 3 * np.sqrt(abs(g)) + rng.choice([0.0, g, -g, 2 * g])
        found, most = kernel.gain(g, rho, mu, tau), kernel.most_gain(g, rho, mu, tau)
        assert kernel.least_gain(g, rho, mu, tau) <= found <= most
        for least in (most - 1e-3, most - 50.0, most + 1e-3, most + 50.0):
            assert kernel.reaches(g, rho, mu, tau**2, least) == (most >= least)


def test_a_feature_that_is_off_has_no_slot():
    support, size, _ = supported(ROWS[5].copy(), SEEN["all"], "signed")
    assert kernel.slot_of(1, size, support.slots) == -1


def test_a_strength_of_zero_does_not_take_its_feature_away():
    support, size, _ = supported(ROWS[1].copy(), SEEN["all"], "signed")
    support.terms[kernel.MEAN], support.inverse[:] = 0.0, 0.0
    out, normals, place = np.empty(FEATURES), np.empty(FEATURES), np.zeros(3, np.int64)
    kernel.draw_strengths(np.uint64(0), place, size, support, normals, out)
    np.testing.assert_array_equal(out != 0, ROWS[1] == 1)
