"""Number, mean and variance of what was seen in each column, added up block by block.

Two passes: the means, then squares around them. Sums over blocks are those of
`ribp.blocks`, so that the answer is the same, bit for bit, wherever the blocks are:
`totals` and `squares` are what each of them says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.blocks import sum_blocks
from ribp.checks import FloatArray
from ribp.likelihoods.data import Data

MANY = 50_000
"""Rows of which nobody makes a second array of doubles."""


class Totals(NamedTuple):
    """What a block says of its columns."""

    number: FloatArray
    """How many entries were seen in each, shape (dims,)."""
    value: FloatArray
    """Their sums."""

    @classmethod
    def none(cls, dims: int) -> Totals:
        """Return the totals of no rows."""
        return cls(np.zeros(dims), np.zeros(dims))

    @property
    def means(self) -> FloatArray:
        """Of the columns; zero where nothing was seen."""
        return self.value / np.maximum(self.number, 1.0)


class Moments(NamedTuple):
    """What was seen of each column, in short; shape (dims,) each."""

    number: FloatArray
    """How many entries were seen."""
    mean: FloatArray
    """Zero where nothing was seen."""
    variance: FloatArray

    @property
    def overall_mean(self) -> float:
        """The mean of all that was seen."""
        return float(self.number @ self.mean / max(self.number.sum(), 1.0))


def totals(data: Data) -> Totals:
    """Return numbers and sums of the entries seen in a block."""
    rows, dims = data.values.shape
    number = np.full(dims, float(rows))
    if not data.complete:
        number = data.observed.sum(axis=0, dtype=np.float64)
    return Totals(number, data.values.sum(axis=0))


def squares(data: Data, means: FloatArray) -> FloatArray:
    """Return sums of squares around the means of the entries seen in a block."""
    around = data.values - means
    if not data.complete:
        around *= data.observed
    return np.asarray(np.einsum("nd,nd->d", around, around))


def moments(data: Data) -> Moments:
    """Return the moments of data in memory."""
    n_rows, dims = data.values.shape
    all_of_it = sum_blocks(lambda at: totals(data.rows(at)), n_rows, 1, Totals.none(dims))
    means = all_of_it.means
    around = sum_blocks(lambda at: squares(data.rows(at), means), n_rows, 1, np.zeros(dims))
    return Moments(all_of_it.number, means, around / np.maximum(all_of_it.number, 1.0))
