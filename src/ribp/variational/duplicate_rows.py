"""Duplicate rows: those with the same entries and the same law, of which one is enough.

Rows are compared by a number, h(n) = sum_d m_d x'_nd mod 2^64, with x' the bits of an entry folded
so that the lowest of them differ, and m_d random odd numbers that never change. Two rows that
differ have the same number with a chance of about 2^-64; all that do are compared entry by entry,
and if one differs, rows are sorted by their bytes instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Data

_AT_ONCE = 4096  # rows


class UniqueRows(NamedTuple):
    """One row of each kind, in the order of their first appearance."""

    first: IntArray
    """The first row of each kind."""
    kind: IntArray
    """The kind of every row."""
    number: FloatArray
    """How many rows of each kind there are."""

    @property
    def all_differ(self) -> bool:
        """Whether there are no duplicates."""
        return self.first.size == self.kind.size

    def firsts(self, array: FloatArray) -> FloatArray:
        """Return a new array of the first row of each kind."""
        return array.copy() if self.all_differ else array[self.first]

    def spread(self, array: FloatArray) -> FloatArray:
        """Return an array of kinds as one of rows."""
        return array if self.all_differ else array[self.kind]


def unique_rows(data: Data, law_of_row: IntArray) -> UniqueRows:
    """Return the unique rows of data, rows with different laws being different."""
    unique = _kinds(_keys(data, law_of_row))
    others = np.flatnonzero(unique.first[unique.kind] != np.arange(law_of_row.size))
    for start in range(0, others.size, _AT_ONCE):
        here = others[start : start + _AT_ONCE]
        there = unique.first[unique.kind[here]]
        if not np.array_equal(_table(data, law_of_row, here), _table(data, law_of_row, there)):
            return _kinds(_bytes(data, law_of_row))
    return unique


def _kinds(keys: NDArray[np.generic]) -> UniqueRows:
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    kind = rank[kind.ravel()]
    return UniqueRows(first[order], kind, np.bincount(kind).astype(np.float64))


def _table(data: Data, law_of_row: IntArray, at: IntArray | slice) -> NDArray[np.uint64]:
    """Return the bits of some rows: entries, laws, and what was observed."""
    here = data.rows(at)
    parts = [np.ascontiguousarray(here.values).view(np.uint64)]
    parts.append(law_of_row[at, None].astype(np.uint64))
    if not here.complete:
        parts.append(here.observed.astype(np.uint64))
    return np.hstack(parts)


def _keys(data: Data, law_of_row: IntArray) -> NDArray[np.uint64]:
    """Return h of every row."""
    keys = np.empty(law_of_row.size, np.uint64)
    width = data.shape[1] * (1 if data.complete else 2) + 1
    random = np.random.default_rng(0).integers(2**63, size=width, dtype=np.uint64)
    odd = np.uint64(2) * random + np.uint64(1)
    for start in range(0, law_of_row.size, _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        bits = _table(data, law_of_row, at)
        bits ^= (bits >> np.uint64(32)) ^ (bits >> np.uint64(52))
        keys[at] = (bits * odd).sum(axis=1, dtype=np.uint64)
    return keys


def _bytes(data: Data, law_of_row: IntArray) -> NDArray[np.generic]:
    """Return rows as things that can be sorted."""
    table = _table(data, law_of_row, slice(None))
    return table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
