"""Simulated tables, and ten presentations of each.

Tables differ in size, noise and kind of features: normal ones, non-negative ones (as of spectra),
sparse ones, ones of very different sizes, and a table with entries missing and counts known to plus
or minus one. A presentation changes units, offsets or digits of columns, never what is in the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray

Array = NDArray[Any]


class Table(NamedTuple):
    """Data, what is said of the counts, and the truth."""

    data: FloatArray
    counts: IntArray
    """A count for each row, or a lowest and a highest one."""
    rows: NDArray[np.int8]
    max_features: int


class _Kind(NamedTuple):
    n_rows: int
    dims: int
    features: int
    noise: float
    most: int
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]
    missing: float = 0.0
    window: int = 0


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(0.0, 1.0, shape)


def _spectra(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.gamma(0.5, 2.0, shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(0.0, 2.0, shape) * (rng.random(shape) < 0.4)


def _unequal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(0.0, 1.0, shape) * np.geomspace(2.0, 0.7, shape[0])[:, None]


KINDS = {
    "normal": _Kind(300, 24, 6, 0.3, 3, _normal),
    "spectra": _Kind(200, 30, 5, 0.3, 3, _spectra),
    "sparse": _Kind(250, 20, 6, 0.3, 3, _sparse),
    "unequal": _Kind(200, 16, 4, 0.25, 2, _unequal),
    "vague": _Kind(300, 20, 5, 0.3, 3, _normal, missing=0.05, window=1),
}


def table(name: str, seed: int) -> Table:
    """Return a table; every seed is new data."""
    kind = KINDS[name]
    rng = np.random.default_rng([seed, list(KINDS).index(name)])
    counts = rng.integers(1, kind.most + 1, size=kind.n_rows)
    features = kind.draw(rng, (kind.features, kind.dims))
    rows = np.array([rng.permutation(np.arange(kind.features) < k) for k in counts])
    data = rows @ features + kind.noise * rng.normal(size=(kind.n_rows, kind.dims))
    data[rng.random(data.shape) < kind.missing] = np.nan
    if kind.window:
        low = np.maximum(counts - kind.window, 0)
        counts = np.stack([low, counts + kind.window], axis=1)
    return Table(data, counts, rows.astype(np.int8), 2 * kind.features)


def presentations(data: FloatArray, seed: int) -> dict[str, Array]:
    """Return the same data in ten forms."""
    rng = np.random.default_rng([seed, 7])
    dims = data.shape[1]
    shift = rng.normal(0.0, 5.0, dims)
    unit = np.exp(rng.normal(0.0, 3.0, dims))
    kelvin, tiny = data.copy(), data.copy()
    kelvin[:, 0] += 293.15
    tiny[:, 1] *= 1e-9
    low = np.nanmin(data, axis=0)
    return {
        "as made": data,
        "shifted": data + shift,
        "scaled": data * unit,
        "shifted and scaled": (data + shift) * unit,
        "standardised": (data - np.nanmean(data, axis=0)) / np.nanstd(data, axis=0),
        "min-max": (data - low) / (np.nanmax(data, axis=0) - low),
        "a column in kelvin": kelvin,
        "a column of size 1e-9": tiny,
        "float32": data.astype(np.float32),
        "three digits": _digits(data),
    }


def _digits(data: FloatArray) -> Array:
    """Return whole numbers: thousandths of the data, where nothing is missing."""
    thousandths = np.round(1000.0 * data)
    return thousandths if np.isnan(data).any() else thousandths.astype(np.int64)
