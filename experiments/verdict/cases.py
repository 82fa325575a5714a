"""Data that the model fits, and data that it does not, each with what the model is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ribp import counts
from ribp.checks import FloatArray
from ribp.likelihoods import LinearGaussian, PoissonCounts

ROWS, DIMS, FEATURES, ALLOWED = 150, 15, 5, 8


class Case(NamedTuple):
    """Data, and what the model is told of them."""

    data: FloatArray
    """NaN where missing."""
    counts: Any
    max_features: int
    likelihood: Any = LinearGaussian()
    method: str = "gibbs"


def drawn_rows(rng: np.random.Generator, ones: Any, features: int) -> FloatArray:
    """Return rows with so many ones each, anywhere."""
    return np.array([rng.permutation(np.arange(features) < k) for k in ones], dtype=float)


def well(seed: int) -> Case:
    """Return data of the model: all kinds of sizes, laws, noise and missing entries, by turns."""
    rng = np.random.default_rng([seed, 1])
    n, dims, features = (int(rng.integers(*ends)) for ends in ((60, 401), (6, 41), (3, 11)))
    poisson, shared = seed % 7 == 6, seed % 5 == 0
    n = min(n, 200) if poisson else n
    ones = rng.integers(1, min(3, features - 1) + 1, size=n)
    rows = drawn_rows(rng, ones, features)
    if poisson:
        data = rng.poisson(rows @ rng.gamma(1.0, 6.0, (features, dims))).astype(float)
    else:
        noise = 0.5 * (np.ones(dims) if shared else rng.lognormal(0.0, 0.3, dims))
        data = rows @ rng.normal(0.0, 1.5, (features, dims)) + noise * rng.normal(size=(n, dims))
    if seed % 2:
        data[rng.random(data.shape) < 0.05] = np.nan
    law = (ones, counts.uniform(1, 3), counts.learned([1.0] * 5))[seed % 3]
    if poisson:
        return Case(data, law, features + 3, PoissonCounts(), "gibbs-rows")
    return Case(data, law, features + 3, LinearGaussian(shared=shared))


class _Parts(NamedTuple):
    """What a misfit is made of."""

    rng: np.random.Generator
    ones: Any
    rows: FloatArray
    features: FloatArray
    noise: FloatArray

    @property
    def data(self) -> FloatArray:
        return self.rows @ self.features + self.noise


def _parts(seed: int) -> _Parts:
    rng = np.random.default_rng([seed, 2])
    ones = rng.integers(1, 4, size=ROWS)
    rows = drawn_rows(rng, ones, FEATURES)
    scale = 0.5 * rng.lognormal(0.0, 0.3, DIMS)
    features = rng.normal(0.0, 1.5, (FEATURES, DIMS))
    return _Parts(rng, ones, rows, features, scale * rng.normal(size=(ROWS, DIMS)))


def _offset(p: _Parts) -> Case:
    return Case(p.data + p.rng.normal(0.0, 3.0, DIMS), p.ones, ALLOWED)


def _heavy_tails(p: _Parts) -> Case:
    ratio = p.rng.chisquare(3, p.noise.shape) / 3
    return Case(p.data + p.noise * (ratio**-0.5 - 1.0), p.ones, ALLOWED)


def _counts_too_small(p: _Parts) -> Case:
    two = drawn_rows(p.rng, np.full(ROWS, 2), FEATURES)
    return Case(p._replace(rows=two).data, counts.exactly(1), ALLOWED)


def _counts_too_large(p: _Parts) -> Case:
    few = drawn_rows(p.rng, p.rng.integers(1, 3, size=ROWS), FEATURES)
    return Case(p._replace(rows=few).data, counts.exactly(3), FEATURES)


def _strength(p: _Parts) -> Case:
    strength = np.ones(p.rows.shape)
    strength[:, 0] = p.rng.lognormal(0.0, 0.4, ROWS)
    return Case(p._replace(rows=p.rows * strength).data, p.ones, ALLOWED)


def _batches(p: _Parts) -> Case:
    second = np.arange(ROWS) >= ROWS // 2
    return Case(p.data + np.outer(second, p.rng.normal(0.0, 1.0, DIMS)), p.ones, ALLOWED)


def _no_signal(p: _Parts) -> Case:
    return Case(0.02 * (p.data - p.noise) + p.noise, p.ones, ALLOWED)


def _lab_table(p: _Parts) -> Case:
    """Return 120 rows of 30 columns in units of their own, kelvin among them."""
    rows = drawn_rows(p.rng, ones := p.rng.integers(1, 4, size=120), FEATURES)
    values = rows @ p.rng.normal(0.0, 1.5, (FEATURES, 30)) + 0.5 * p.rng.normal(size=(120, 30))
    units = 10.0 ** p.rng.integers(-9, 4, 30)
    offsets = p.rng.choice([0.0, 5.0, 300.0], 30)
    return Case((values + offsets) * units, ones, ALLOWED)


MISFITS: dict[str, Callable[[_Parts], Case]] = {
    "columns have an offset, without a background": _offset,
    "noise with heavy tails (Student, 3 degrees)": _heavy_tails,
    "counts too small (told 1, rows have 2)": _counts_too_small,
    "counts too large (told 3, rows have 1 or 2)": _counts_too_large,
    "a feature whose strength varies (lognormal, 0.4)": _strength,
    "rows in two batches": _batches,
    "nearly no signal": _no_signal,
    "a lab table, without a background": _lab_table,
}


def misfit(name: str, seed: int) -> Case:
    """Return data that the model does not fit, or that have nothing to find."""
    return MISFITS[name](_parts(seed))
