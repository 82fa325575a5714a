"""Data whose features are known: what the samplers were built on, and two sets made afterwards.

- `chords-exact`, `chords-window`, `chords-three`: 232 spectra of piano chords (square root, overall
  scale one), the number of notes known, known to plus or minus one, and only those of three notes;
- `missing-one`: the paper's first toy set (15 features, most rows have all but one);
- `bars`: 12 x 12 images of horizontal and vertical bars that overlap, two to five of 16 bars an
  image, brightness and noise different from pixel to pixel, a bright background, uniform(2, 5);
- `signed`: 10 sparse features of either sign in 30 columns of different noise, 600 rows, a third of
  the entries missing, Poisson counts that nobody knows: the count law is learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ribp import counts
from ribp.checks import FloatArray
from ribp.datasets import load_chords, scaled, toy_missing_one

_SIDE = 12


@dataclass(frozen=True, eq=False)
class Case:
    """Data, what is known of the counts, and the truth."""

    data: FloatArray
    counts: counts.RowCounts
    rows: NDArray[np.int8]
    components: FloatArray | None = None
    max_features: int | None = None
    background: bool = False


def load(name: str, seed: int) -> Case:
    """Return a case; data that are simulated are drawn with the seed."""
    if name.startswith("chords"):
        return _chords(name.removeprefix("chords-"))
    return {"missing-one": _missing_one, "bars": _bars, "signed": _signed}[name](seed)


NAMES = ("chords-exact", "chords-window", "chords-three", "missing-one", "bars", "signed")


def _chords(kind: str) -> Case:
    chords = load_chords()
    data, rows, ones = scaled(chords.spectra), chords.notes, chords.counts
    if kind == "three":
        three = ones == 3
        data, rows, ones = data[three].copy(), rows[three], ones[three]
    known = counts.as_row_counts(ones, len(ones))
    if kind == "window":
        known = counts.by_row([counts.window(int(k), 1) for k in ones])
    return Case(data, known, rows, max_features=24)


def _missing_one(seed: int) -> Case:
    toy = toy_missing_one(np.random.default_rng(seed))
    return Case(toy.data, toy.counts, toy.rows, toy.components)


def _bars(seed: int) -> Case:
    rng = np.random.default_rng([seed, 1])
    images = np.zeros((16, _SIDE, _SIDE))
    for at, line in enumerate(range(2, 10)):
        images[at, line] = images[8 + at, :, line] = 1.0
    components = images.reshape(16, -1) * rng.uniform(0.5, 2.0, (16, 1))
    components *= rng.uniform(0.7, 1.3, components.shape)
    ones = rng.integers(2, 6, 500)
    rows = np.array([rng.permutation(np.arange(16) < k) for k in ones], np.int8)
    noise = rng.uniform(0.1, 0.5, components.shape[1])
    data = 3.0 + rows @ components + noise * rng.standard_normal((500, components.shape[1]))
    return Case(data, counts.as_row_counts(counts.uniform(2, 5), 500), rows, background=True)


def _signed(seed: int) -> Case:
    rng = np.random.default_rng([seed, 2])
    components = rng.normal(0, 2.0, (10, 30)) * (rng.random((10, 30)) < 0.4)
    popularity = rng.uniform(0.1, 0.4, 10)
    rows = (rng.random((600, 10)) < popularity).astype(np.int8)
    noise = rng.uniform(0.2, 1.0, 30)
    data = rows @ components + noise * rng.standard_normal((600, 30))
    data[rng.random(data.shape) < 1 / 3] = np.nan
    law = counts.learned([1.0] * 11)
    return Case(data, counts.as_row_counts(law, 600), rows, components)
