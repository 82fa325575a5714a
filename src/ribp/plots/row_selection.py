"""Which rows a picture shows, and in which order; the same for all pictures of rows.

Rows that have the most popular feature come first, among them those that have the second one, and
so on (`reading.row_order`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.plots.reading import places, row_order, row_probs
from ribp.results import Result

__all__ = ["Selection", "checked_rows", "selection"]


class Selection(NamedTuple):
    """Rows in the order in which they are drawn."""

    rows: IntArray
    """Their indices."""
    probs: FloatArray
    """P(row has the feature), shape (rows, features)."""


def selection(result: Result, rows: ArrayLike | None) -> Selection:
    """Return some rows (all if None) in order."""
    n_rows = result.settings["n_rows"]
    at = np.arange(n_rows) if rows is None else checked_rows(rows, n_rows)
    probs = row_probs(result, places(result))[at]
    order = row_order(probs)
    return Selection(at[order], probs[order])


def checked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return indices of rows, at least one."""
    at = checks.integers("rows", rows)
    if at.ndim != 1 or at.size == 0 or at.max() >= n_rows:
        raise InputError(
            "rows", f"must be indices below {n_rows}, at least one", rows, "Correct them."
        )
    return at
