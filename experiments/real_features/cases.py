"""Real data whose features are known, every step from a file to what is fitted.

- chords: square roots of the power spectra, divided by their overall standard deviation; 12 notes.
- power: the same without the square root.
- digest, mix: log(1 + count) of words, divided by its overall standard deviation; 17 and 13 topics.
  The Poisson likelihood gets the counts themselves.
- medical: 0/1 of words in reports, divided by its overall standard deviation; of the 45 diagnoses
  those that at least 10 reports have, and the reports that have only such ones; words that at
  least 5 of these reports have.
- emotions: 72 measures of sound, each less its mean and divided by its standard deviation; 6 moods.

Texts and sounds have a background, which every row has and nobody counts; chords have none.
Non-negative matrix factorisation gets the same data; of emotions, which have negative entries, each
column from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.data import load_digest, load_mix, load_mulan
from ribp.checks import FloatArray, IntArray
from ribp.datasets import load_chords, scaled
from ribp.likelihoods.data import Rows

NAMES = ("chords", "power", "mix", "emotions", "digest", "medical")
FILES = ("reuters_mix.npz", "emotions.npz", "reuters_digest.npz", "medical.npz")
_LEAST_REPORTS, _LEAST_WORDS = 10, 5


@dataclass(frozen=True, eq=False)
class Case:
    """Data, the truth, and what models are told."""

    data: FloatArray
    rows: Rows
    background: bool
    word_counts: FloatArray | None = None
    """Whole numbers for the Poisson likelihood; None where there are none."""

    @property
    def k(self) -> IntArray:
        """Return how many features each row has."""
        return np.asarray(self.rows.sum(axis=1, dtype=np.int64))

    @property
    def binary(self) -> bool:
        """Return whether entries are zeros and ones, which `word_counts` has."""
        return self.word_counts is not None and bool(self.word_counts.max() <= 1)

    @property
    def positive(self) -> FloatArray:
        """Return data without negative entries."""
        if self.data.min() >= 0:
            return self.data
        low, high = self.data.min(axis=0), self.data.max(axis=0)
        return (self.data - low) / (high - low)

    def part(self, n_rows: int, n_dims: int) -> Case:
        """Return some rows, and the columns that vary most."""
        at = np.random.default_rng(0).permutation(len(self.rows))[:n_rows]
        columns = np.sort(np.argsort(-self.data[at].var(axis=0), kind="stable")[:n_dims])
        rows = self.rows[at]
        words = None if self.word_counts is None else self.word_counts[np.ix_(at, columns)]
        used = rows.any(axis=0)
        return Case(self.data[np.ix_(at, columns)], rows[:, used], self.background, words)


def load(name: str, folder: Path) -> Case:
    """Return one of the sets."""
    if name in ("chords", "power"):
        chords = load_chords()
        power = chords.spectra / chords.spectra.std()
        data = power if name == "power" else scaled(chords.spectra)
        return Case(data, chords.notes, background=False)
    if name in ("digest", "mix"):
        path = folder / f"reuters_{name}.npz"
        texts = load_digest(path) if name == "digest" else load_mix(path)
        return Case(_logs(texts.data), texts.rows, True, texts.data)
    labelled = load_mulan(folder / f"{name}.npz")
    if name == "emotions":
        x = labelled.data
        return Case((x - x.mean(axis=0)) / x.std(axis=0), labelled.rows, background=True)
    common = labelled.rows.sum(axis=0) >= _LEAST_REPORTS
    at = labelled.rows[:, common].any(axis=1) & ~labelled.rows[:, ~common].any(axis=1)
    words = labelled.data[at]
    words = words[:, (words > 0).sum(axis=0) >= _LEAST_WORDS]
    return Case(words / words.std(), labelled.rows[at][:, common], True, words)


def _logs(counts: FloatArray) -> FloatArray:
    logs = np.log1p(counts)
    return np.asarray(logs / logs.std())
