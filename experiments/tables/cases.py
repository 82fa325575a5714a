"""The data of the three tables, every step from a file to what is fitted.

All sets are divided by the standard deviation of all entries: 1 is the size of things.

- "chord, by entry": square roots of the power spectra; each of the 220 chords six times, as all
  orderings of its notes, and the 12 single notes: 1332 rows, the paper's. k = 1 or 3.
- "chord, by row": the same 232 rows once each, so that no hidden entry has a twin that is seen.
- "digest": log(1 + count) of all 1713 words; in place of the paper's NPR stories. k = 1 or 5.
- "newsgroups": 0/1 of 100 words in 5000 postings, as many as the paper names, of 16242; taken at
  random (seed 0), each column less its mean and divided by its standard deviation.
  The paper has k = length/150, but the file has no lengths: k is a quarter of the number of words
  that a posting has (4.03 on average), rounded, at least 1 and at most 6.

The count law of a row is uniform on k - 1, k, k + 1. Texts have a background, something that every
row has and nobody counts; chords have none. One per cent of the entries is hidden, at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.data import load_digest, load_newsgroups
from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts, window
from ribp.datasets import load_chords, scaled
from ribp.likelihoods.data import BoolArray

NAMES = ("chord, by row", "chord, by entry", "digest", "newsgroups")
HIDDEN = 0.01
POSTINGS = 5000
_ORDERINGS = 6
_WORDS_PER_FEATURE, _MOST = 4, 6


@dataclass(frozen=True, eq=False)
class Case:
    """Data that are complete, and what models are told of them."""

    values: FloatArray
    k: IntArray
    max_features: int
    background: bool

    @property
    def counts(self) -> RowCounts:
        """Return the count laws: k plus or minus one."""
        different, index = np.unique(self.k, return_inverse=True)
        return RowCounts(tuple(window(int(k), 1) for k in different), index)

    def hidden(self, seed: int) -> BoolArray:
        """Return which entries are hidden."""
        where = np.zeros(self.values.size, bool)
        rng = np.random.default_rng([seed, 99])
        where[rng.choice(where.size, round(HIDDEN * where.size), replace=False)] = True
        return where.reshape(self.values.shape)

    def part(self, n_rows: int, n_dims: int) -> Case:
        """Return some rows, and the columns that vary most among them."""
        at = np.random.default_rng(0).permutation(len(self.k))[:n_rows]
        values = self.values[at]
        most = np.sort(np.argsort(-values.std(axis=0), kind="stable")[:n_dims])
        return replace(self, values=values[:, most].copy(), k=self.k[at])


def load(name: str, folder: Path) -> Case:
    """Return one of the sets."""
    if name.startswith("chord"):
        chords = load_chords()
        times = np.where((chords.counts == 1) | (name == "chord, by row"), 1, _ORDERINGS)
        at = np.repeat(np.arange(len(times)), times)
        return Case(scaled(chords.spectra[at]), chords.counts[at], 24, background=False)
    if name == "digest":
        digest = load_digest(folder / "reuters_digest.npz")
        x = np.log1p(digest.data)
        return Case(x / x.std(), digest.counts, 25, background=True)
    postings = load_newsgroups(folder / "20news_w100.npz")
    at = np.sort(np.random.default_rng(0).permutation(len(postings.data))[:POSTINGS])
    x = (postings.data[at] - postings.data[at].mean(axis=0)) / postings.data[at].std(axis=0)
    k = np.clip(np.rint(postings.n_words[at] / _WORDS_PER_FEATURE), 1, _MOST).astype(np.int64)
    return Case(x, k, 20, background=True)
