"""One count by quadrature: inclusion and pairs against many-digit arithmetic."""

import numpy as np
import pytest

from ribp.kernels import elementary_symmetric, quadrature
from ribp.testing import exact
from tests.helpers.harsh_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_inclusion_is_brute_force_in_any_order(name):
    theta = np.random.default_rng(0).permutation(CASES[name])
    for k in range(1, theta.size):
        found = quadrature.inclusion_at(theta, k)
        np.testing.assert_allclose(found, exact.inclusion_probs(theta, k), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_pairs_are_brute_force(name):
    theta = CASES[name]
    n = theta.size
    for k in range(n + 1):
        weights = np.zeros(n + 1)
        weights[k] = 1.0
        found = quadrature.weighted_pairs(theta, weights)
        for i, j in [(0, n - 1), (0, 1), (n // 2, n // 2 - 1)]:
            if min(i, j) >= 0 and i != j and max(i, j) < n:
                assert found[i, j] == pytest.approx(exact.pair_prob(theta, k, i, j), abs=1e-13)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-10, 1e-7, 1e-5, 1e-3])
def test_pairs_of_equal_and_nearly_equal_odds(gap):
    theta = np.array([0.4, 0.4 + gap, 0.4 + 2 * gap, -1.0, 2.0, 2.0, -600.0, 650.0])
    weights = np.array([0, 0.1, 0.2, 0.3, 0.1, 0, 0.1, 0.1, 0.1])
    found = quadrature.weighted_pairs(theta, weights)
    for i in range(theta.size):
        for j in range(i):
            truth = sum(w * exact.pair_prob(theta, k, i, j) for k, w in enumerate(weights))
            assert found[i, j] == pytest.approx(truth, abs=1e-13)


def test_pairs_of_many_counts_share_tilts():
    theta = np.random.default_rng(5).normal(0, 1.5, 60)
    weights = np.random.default_rng(6).random(61)
    weights /= weights.sum()
    found = quadrature.weighted_pairs(theta, weights)
    eta_by_k = [exact.inclusion_probs(theta, k) for k in range(61)]
    # sum_j E[z_i z_j] over j != i equals E[|z| z_i] - E[z_i], for every i.
    truth = sum(w * (k - 1) * eta for k, (w, eta) in enumerate(zip(weights, eta_by_k, strict=True)))
    np.testing.assert_allclose(found.sum(axis=1) - np.diag(found), truth, rtol=0, atol=1e-11)
    assert found[3, 8] == pytest.approx(
        sum(w * exact.pair_prob(theta, k, 3, 8) for k, w in enumerate(weights)), abs=1e-12
    )


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].size > 1])
def test_tilt_meets_the_count(name):
    theta = CASES[name]
    for k in range(1, theta.size):
        beta, p, q = quadrature.solve_tilt(theta, k, 1e-10)
        assert p.sum() == pytest.approx(k, rel=1e-9)
        np.testing.assert_allclose(p + q, 1.0, rtol=1e-15)
        near = np.abs(theta + beta) < 30
        np.testing.assert_allclose(p[near], 1 / (1 + np.exp(-(theta + beta)[near])), rtol=1e-9)


@pytest.mark.jit
@pytest.mark.parametrize("k", [490, 496, 498, 499, 501, 503])
def test_counts_just_beside_a_wide_gap(k):
    """The tilt must be close on the scale of the count's spread, which is tiny here."""
    theta = np.repeat([30.0, -30.0], 500)
    found = quadrature.inclusion_at(theta, k)
    inside = min(k, 500) / 500
    np.testing.assert_allclose(found[:500], inside, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[500:], max(k - 500, 0) / 500, rtol=0, atol=1e-12)
    weights = np.zeros(1001)
    weights[k] = 1.0
    pairs = quadrature.weighted_pairs(theta, weights)
    assert pairs[0, 1] == pytest.approx(min(1.0, k * (k - 1) / (500 * 499)), abs=1e-12)


@pytest.mark.jit
@pytest.mark.parametrize(("n", "sd", "k"), [(100_000, 8, 30_000), (100_000, 60, 50_000),
                                            (300_000, 0.5, 150_000)])  # fmt: skip
def test_large_counts_add_up(n, sd, k):
    theta = np.random.default_rng(0).normal(0, sd, n)
    assert quadrature.inclusion_at(theta, k).sum() == pytest.approx(k, rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 84, 85])
def test_long_ladders(k):
    theta = 5.0 * np.arange(86)
    found = quadrature.inclusion_at(theta, k)
    np.testing.assert_allclose(found, exact.inclusion_probs(theta, k), rtol=0, atol=1e-13)


def test_nodes_that_have_decayed_are_left_out():
    theta = np.repeat([0.3, -0.3], 60)
    found = quadrature.inclusion_at(theta, 60)
    np.testing.assert_allclose(found, exact.inclusion_probs(theta, 60), rtol=0, atol=1e-13)


def test_a_tilt_that_is_asked_for_too_much_ends():
    _, p, _ = quadrature.solve_tilt(np.array([0.1, 0.7, 0.2]), 1, 0.0)
    assert p.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.jit
@pytest.mark.parametrize("k", [1, 30, 1000, 99_000])
def test_a_hundred_thousand_features(k):
    theta = np.sort(np.random.default_rng(4).normal(0, 3, 100_000))[::-1].copy()
    found = quadrature.inclusion_at(theta, k)
    assert found.sum() == pytest.approx(k, rel=1e-12)
    if k < 50_000:
        weights = np.zeros(k + 1)
        weights[k] = 1.0
        other = elementary_symmetric.weighted_inclusion(theta, weights, 316)
        np.testing.assert_allclose(found, other, rtol=0, atol=1e-12)
