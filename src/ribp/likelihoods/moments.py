"""Mean and variance of all that was seen, added up as `ribp.likelihoods.blocks` says.

Two passes: the mean, then squares around it. Blocks may be anywhere: `total` and `squares` are what
each of them says.
"""

from __future__ import annotations

from typing import NamedTuple

from ribp.likelihoods.base import Data
from ribp.likelihoods.blocks import sum_blocks

__all__ = ["MANY", "Moments", "Total", "moments", "squares", "total"]

MANY = 50_000
"""Rows of which nobody makes a second array of doubles."""


class Total(NamedTuple):
    """What a block says of its entries."""

    number: int
    """How many were seen."""
    value: float
    """Their sum."""


class Moments(NamedTuple):
    """What was seen, in short."""

    mean: float
    variance: float


def total(data: Data) -> Total:
    """Return number and sum of the entries seen in a block."""
    number = data.values.size if data.complete else int(data.observed.sum())
    return Total(number, float(data.values.sum()))


def squares(data: Data, mean: float) -> float:
    """Return the sum of squares around the mean of the entries seen in a block."""
    around = data.values - mean
    seen = around if data.complete else around[data.observed]
    return float((seen**2).sum())


def moments(data: Data) -> Moments:
    """Return mean and variance of data in memory; zero if nothing was seen."""
    n_rows = len(data.values)
    all_of_it = sum_blocks(lambda at: total(data.rows(at)), n_rows, 1, Total(0, 0.0))
    number = max(all_of_it.number, 1)
    mean = all_of_it.value / number
    around = sum_blocks(lambda at: squares(data.rows(at), mean), n_rows, 1, 0.0)
    return Moments(mean, around / number)
