"""A few features for residuals: choices by enumeration, features by least squares, gains."""

import math
from itertools import product

import numpy as np
import pytest

from ribp.kernels import recreate as kernel
from tests.helpers.search_cases import some_of

NOTHING = np.zeros((0, 0), np.bool_)
SEED = np.uint64(3)


def made(seed=0, n_rows=60, m=2, dims=8, noise=1.0, least=0, most=2, missing=0.0):
    rng = np.random.default_rng(seed)
    z = some_of(rng, n_rows, m, least, most)
    values = z @ rng.normal(0, 6, (m, dims)) + noise * rng.normal(size=(n_rows, dims))
    observed = rng.random(values.shape) >= missing if missing else NOTHING
    return z, (values * observed if missing else values), observed


def test_every_row_takes_its_best_choice():
    rng = np.random.default_rng(1)
    residual, features, odds = rng.normal(size=(9, 5)), rng.normal(size=(3, 5)), rng.normal(size=3)
    least, most = rng.integers(0, 2, 9), rng.integers(1, 4, 9)
    ones = np.array([0, 1, 1, 2, 1, 2, 2, 3])
    for observed in (NOTHING, rng.random((9, 5)) < 0.7):
        seen = np.ones((9, 5)) if observed is NOTHING else observed
        choice = np.full(9, -1)
        given = residual * seen
        total, changes = kernel._choose(given, observed, least, most, features, odds, ones, choice)
        expected = 0.0
        for n in range(9):
            worth = {}
            for z in product((0, 1), repeat=3):
                if least[n] <= sum(z) <= most[n]:
                    fit = np.array(z) @ features * seen[n]
                    worth[z] = given[n] @ fit - 0.5 * fit @ fit + np.array(z) @ odds
            best = max(worth, key=worth.get)
            assert choice[n] == best[0] + 2 * best[1] + 4 * best[2]
            expected += worth[best]
        assert (total, changes) == (pytest.approx(expected), 9)
        assert kernel._choose(given, observed, least, most, features, odds, ones, choice)[1] == 0


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_features_are_least_squares(missing):
    z, residual, observed = made(2, missing=missing)
    choice = z @ np.array([1, 2])
    features, sizes = np.zeros((2, 8)), np.zeros(2)
    kernel._solve(residual, observed, choice, np.array([0, 1, 1, 2]), features, sizes)
    np.testing.assert_array_equal(sizes, z.sum(axis=0))
    for d in range(8):
        at = observed[:, d] if missing else slice(None)
        pairs = z[at].T @ z[at] + 0.1 * np.eye(2)
        np.testing.assert_allclose(
            features[:, d], np.linalg.solve(pairs, z[at].T @ residual[at, d]), rtol=1e-10
        )


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("free", [False, True])
def test_clear_features_are_found_and_the_gain_is_what_they_are_worth(free, missing):
    z, residual, observed = made(3, missing=missing)
    ones = z.sum(axis=1)
    least, most = (np.zeros(60, int), np.full(60, 2)) if free else (ones, ones)
    tries = [
        kernel.recreate(SEED, number, residual, observed, least, most, 2, 12, free)
        for number in range(8)
    ]
    gain, rows = max(tries, key=lambda one: one[0])
    assert {tuple(column) for column in rows.T} == {tuple(column) for column in z.T}
    again = kernel.recreate(
        SEED,
        int(np.argmax([one[0] for one in tries])),
        residual,
        observed,
        least,
        most,
        2,
        12,
        free,
    )
    assert again[0] == gain
    sizes, seen = rows.sum(axis=0), observed if missing else np.ones_like(residual)
    features = np.zeros((2, 8))
    for d in range(8):
        pairs = (rows * seen[:, [d]]).T @ rows + 0.1 * np.eye(2)
        features[:, d] = np.linalg.solve(pairs, rows.T @ residual[:, d])
    fit = rows @ features * seen
    expected = float((residual * fit - 0.5 * fit**2).sum() - 4.0 * np.log(sizes + 1.0).sum())
    if free:
        odds = np.log((sizes + 0.5) / (60 - sizes + 0.5))
        expected += sizes @ odds + 60 * np.log((60 - sizes + 0.5) / 61).sum()
    assert gain == pytest.approx(expected, rel=1e-6)


def test_rows_keep_to_what_they_must_and_may_have():
    _, residual, observed = made(4, n_rows=30)
    least = np.array([0, 1, 2, 5, 0] * 6)
    most = np.array([0, 1, 3, 9, 2] * 6)
    for iterations in (1, 6):  # also before anything has settled
        _, rows = kernel.recreate(SEED, 0, residual, observed, least, most, 3, iterations, False)
        ones = rows.sum(axis=1)
        assert (ones >= np.minimum(least, 3)).all()
        assert (ones <= most).all()


def test_nothing_to_explain():
    nothing = np.zeros((5, 3))
    for most in (np.ones(5, int), np.zeros(5, int)):
        gain, rows = kernel.recreate(
            SEED, 0, nothing + (most[0] == 0), NOTHING, np.zeros(5, int), most, 2, 6, True
        )
        assert gain == -math.inf
        assert not rows.any()


def test_seeds_are_rows_that_noise_does_not_explain():
    residual = np.ones((40, 6))  # what noise leaves, on average
    residual[7] = 9.0
    found = np.zeros((1, 6))
    zeros, one = np.zeros(40, int), np.ones(40, int)
    for number in range(20):
        assert kernel._seeds(SEED, number, residual, NOTHING, zeros, one, found)
        np.testing.assert_array_equal(found[0], 9.0)
