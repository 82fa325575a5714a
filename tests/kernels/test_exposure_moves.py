"""Exposures that are learned have their law, alone and with the strengths of their rows."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import exposure_moves as kernel
from ribp.testing.goodness import holds, is_caught, replicates

DIMS, SHAPE, OWN = 3, 3.0, 2.0
A = np.random.default_rng(0).gamma(1.0, 2.0, (3, DIMS))
LOADINGS = np.ascontiguousarray(A.T)
X, Y = np.array([4.0, 0.0, 3.0]), np.array([0.7, 0.0, 1.3])
OFFSETS = {"offset": np.array([0.6, 0.2, 0.9]), "no offset": np.zeros(DIMS)}
SEEN = {"all": np.ones(DIMS, bool), "most": np.array([1, 1, 0], bool)}


def masked(seen, n):
    return np.empty((0, 0), bool) if seen == "all" else np.tile(SEEN[seen], (n, 1))


@pytest.mark.parametrize("seen", SEEN)
def test_exposures_have_their_law(seen):
    def check(n, seed):
        out = np.empty(n)
        kernel.draw_exposures(
            np.uint64(seed), 0, 5, np.tile(X, (n, 1)), masked(seen, n), np.tile(Y, (n, 1)),
            LOADINGS, OFFSETS["offset"], OWN, 1.5, out,
        )  # fmt: skip
        shape = OWN + X[SEEN[seen]].sum()
        rate = 1.5 + (OFFSETS["offset"] + Y @ A)[SEEN[seen]].sum()
        return [stats.kstest(out, stats.gamma(shape, scale=1 / rate).cdf).pvalue]

    assert holds(check, replicates(200, 20_000))


def scales(offset, seen, n, seed, *, told=OWN, steps=10):
    """Compare l after some steps with its density: r and s of the model, by a change of scale."""
    at, exposure = np.linspace(-5, 4, 20001), 1.4
    own, s = exposure * np.exp(-at), Y[Y > 0][:, None] * np.exp(at)
    rates = own[:, None] * (OFFSETS[offset] + np.exp(at)[:, None] * (Y @ A))
    logs = stats.gamma(SHAPE, scale=1 / SHAPE).logpdf(s).sum(axis=0)
    logs += stats.gamma(OWN, scale=1 / OWN).logpdf(own) + (2 - 1) * at
    logs += stats.poisson.logpmf(X, rates)[:, SEEN[seen]].sum(axis=1)
    density = np.exp(logs - logs.max())
    cdf = np.cumsum(density) / density.sum()
    rows, exposures = np.tile(Y, (n, 1)), np.full(n, exposure)
    for number in range(steps):
        kernel.rescale(
            np.uint64(seed), number, 0, np.tile(X, (n, 1)), masked(seen, n), rows, LOADINGS,
            OFFSETS[offset], SHAPE, told, exposures,
        )  # fmt: skip
    np.testing.assert_allclose(rows[:, 0] * exposures, Y[0] * exposure)
    found = np.log(rows[:, 0] / Y[0])
    return [stats.kstest(found, lambda x: np.interp(x, at, cdf)).pvalue]


@pytest.mark.jit
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seen", SEEN)
def test_scales_have_their_law(offset, seen):
    assert holds(partial(scales, offset, seen), replicates(1000, 20_000))
    assert is_caught(partial(scales, offset, seen, told=OWN + 4.0), 2000)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seen", SEEN)
def test_scales_without_the_compiler(offset, seen):
    assert holds(partial(scales, offset, seen, steps=4), replicates(20))


def test_rows_without_features_are_left_alone():
    rows, exposures = np.zeros((2, 3)), np.array([0.5, 2.0])
    kernel.rescale(
        np.uint64(1), 0, 0, np.zeros((2, DIMS)), masked("all", 2), rows, LOADINGS,
        OFFSETS["offset"], SHAPE, OWN, exposures,
    )  # fmt: skip
    np.testing.assert_array_equal(exposures, [0.5, 2.0])
    assert not rows.any()
