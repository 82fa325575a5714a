"""Sets with known features, and what may be said of the counts of their rows.

What is said of a row that has k features:

- exact: k.
- a tenth missing: k, but of a tenth of the rows nothing is known, and their law is learned.
- plus or minus 1, plus or minus 2: uniform on the whole numbers >= 0 that are so near.
- window off by one: k, k + 1 or k + 2, uniform: vague and on one side, but possible.
- one too many: k + 1, said as if it were certain.
- wrong by one: k - 1 or k + 1 by the toss of a coin (k + 1 where k = 1), said as if certain.
- learned by group: rows of the same k are known to be alike, and their law is learned.
- learned: nothing is known; one law for all rows, learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.data import load_mix
from experiments.recovery import cases as recovery
from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, RowCounts, as_row_counts, exactly, fill, learned, uniform, window
from ribp.datasets import load_chords, scaled, toy_missing_one
from ribp.likelihoods.data import Rows

NAMES = ("chords", "toy", "bars", "signed", "ibp-20", "mix")
MISSING = "a tenth missing"
KNOWLEDGE = (
    "exact",
    MISSING,
    "plus or minus 1",
    "plus or minus 2",
    "window off by one",
    "one too many",
    "wrong by one",
    "learned by group",
    "learned",
)


@dataclass(frozen=True, eq=False)
class Case:
    """Data, the truth, and how the model is set up."""

    data: FloatArray
    rows: Rows
    max_features: int
    background: bool
    """Whether rows have more in them than their features."""

    @property
    def k(self) -> IntArray:
        """Return how many features each row has."""
        return np.asarray(self.rows.sum(axis=1, dtype=np.int64))


def load(name: str, seed: int, folder: Path) -> Case:
    """Return a set: twice as many features as needed; of simulated ones a third or half more."""
    if name == "chords":
        chords = load_chords()
        return Case(scaled(chords.spectra), chords.notes, 24, background=False)
    if name == "mix":
        mix = load_mix(folder / "reuters_mix.npz")
        logs = np.log1p(mix.data)
        return Case(logs / logs.std(), mix.rows, 26, background=True)
    if name in ("bars", "signed", "ibp-20"):
        made = recovery.load(name, seed)
        return Case(made.data, made.rows, made.rows.shape[1] * 3 // 2, made.background)
    toy = toy_missing_one(seed)
    return Case(toy.data, toy.rows, 20, background=False)


def knowledge(what: str, k: IntArray, seed: int, most: int) -> RowCounts:
    """Return the count laws that say so much of counts k, with room for `most` features."""
    base = [1.0 / (count + 1) for count in range(most + 1)]
    if what == MISSING:
        known = np.random.default_rng([seed, 6]).random(k.size) >= 0.1
        return as_row_counts(fill(np.where(known, k, np.nan), learned(base)), k.size)
    if what == "learned":
        return RowCounts((learned(base),), np.zeros(k.size, np.int64))
    if what == "wrong by one":
        coins = np.random.default_rng([seed, 5]).random(k.size) < 0.5
        k = np.where(coins & (k > 1), k - 1, k + 1)
    different, index = np.unique(k, return_inverse=True)
    return RowCounts(tuple(_law(what, int(one), base) for one in different), index)


def _law(what: str, k: int, base: list[float]) -> CountLaw:
    if what.startswith("plus or minus"):
        return window(k, int(what.split()[-1]))
    if what == "window off by one":
        return uniform(k, k + 2)
    if what == "learned by group":
        return learned(base)
    return exactly(k + 1 if what == "one too many" else k)
