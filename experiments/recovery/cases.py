"""Data whose features are known: what the search was built on, and sets made afterwards.

- `chords-exact`, `chords-window`, `chords-three`: 232 spectra of piano chords (square root, overall
  scale one), the number of notes known, known to plus or minus one, and only those of three notes;
- `chords-power`: the same 232 chords, counts known, power itself instead of its square root;
- `chords-power-1332`: the paper's rows, in which each chord stands six times. A file that users
  must have (`experiments.data.load_all_chords`);
- `missing-one`: the paper's first toy set (15 features, most rows have all but one);
- `bars`: 12 x 12 images of horizontal and vertical bars that overlap, two to five of 16 bars an
  image, brightness and noise different from pixel to pixel, a bright background, uniform(2, 5);
- `signed`: 10 sparse features of either sign in 30 columns of different noise, 600 rows, a third of
  the entries missing, Poisson counts that nobody knows: the count law is learned;
- `ibp-20`: a finite buffet in the setting of Roth-Lab/pgfa: 1000 rows, 10 columns, 20 features with
  pi_k ~ Beta(2/20, 1), values N(0, 2^2), noise 0.2, a tenth of the entries missing, counts learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.data import load_all_chords
from ribp import counts
from ribp.checks import FloatArray
from ribp.datasets import load_chords, scaled, toy_missing_one

_SIDE = 12
ALL_CHORDS = "chords.npz"
NOISE = 0.2
"""Of `ibp-20`."""


@dataclass(frozen=True, eq=False)
class Case:
    """Data, what is known of the counts, and the truth."""

    data: FloatArray
    counts: counts.RowCounts
    rows: NDArray[np.int8]
    max_features: int | None = None
    background: bool = False


def load(name: str, seed: int, folder: Path | None = None) -> Case:
    """Return a case; data that are simulated are drawn with the seed."""
    if name == "chords-power-1332":
        assert folder is not None
        spectra, notes, _ = load_all_chords(folder / ALL_CHORDS)
        ones = notes.sum(axis=1, dtype=np.int64)
        return Case(
            spectra / spectra.std(), counts.as_row_counts(ones, len(ones)), notes, max_features=24
        )
    if name.startswith("chords"):
        return _chords(name.removeprefix("chords-"))
    made = {"missing-one": _missing_one, "bars": _bars, "signed": _signed, "ibp-20": _ibp}
    return made[name](seed)


NAMES = (
    "chords-exact",
    "chords-window",
    "chords-three",
    "chords-power",
    "missing-one",
    "bars",
    "signed",
    "ibp-20",
)


def _chords(kind: str) -> Case:
    chords = load_chords()
    data, rows, ones = scaled(chords.spectra), chords.notes, chords.counts
    if kind == "power":
        data = chords.spectra / chords.spectra.std()
    if kind == "three":
        three = ones == 3
        data, rows, ones = data[three].copy(), rows[three], ones[three]
    known = counts.as_row_counts(ones, len(ones))
    if kind == "window":
        known = counts.by_row([counts.window(int(k), 1) for k in ones])
    return Case(data, known, rows, max_features=24)


def _missing_one(seed: int) -> Case:
    toy = toy_missing_one(np.random.default_rng(seed))
    return Case(toy.data, toy.counts, toy.rows)


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
    return Case(data, counts.as_row_counts(law, 600), rows)


def _ibp(seed: int) -> Case:
    rng = np.random.default_rng([seed, 3])
    popularity = rng.beta(2.0 / 20, 1.0, 20)
    rows = (rng.random((1000, 20)) < popularity).astype(np.int8)
    data = rows @ rng.normal(0.0, 2.0, (20, 10)) + NOISE * rng.standard_normal((1000, 10))
    data[rng.random(data.shape) < 0.1] = np.nan
    law = counts.learned([1.0 / (k + 1) for k in range(31)])
    return Case(data, counts.as_row_counts(law, 1000), rows, max_features=30)
