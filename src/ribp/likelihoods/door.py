"""Data at the door: whatever users hold becomes a matrix of doubles, or a clear error.

Arrays, nested lists, data frames, SciPy sparse matrices (their zeros are zeros, not missing) and
masked arrays are taken; NaN, a null and a masked entry mean missing. Rows or columns of which
nothing was observed are allowed: what is said of them follows from the prior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.likelihoods.base import Data, with_missing

__all__ = ["as_data"]

_ROWS = 2**14


def as_data(X: Any) -> Data:
    """Return data of shape (rows, dims); NaN means missing."""
    values = _matrix(X)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            "X",
            "must be a matrix with at least one row and one column",
            f"shape {values.shape}",
            "Reshape it to (rows, dims); a single row is X[None, :].",
        )
    infinite = _first_infinite(values)
    if infinite:
        row, column = infinite
        raise InputError(
            "X",
            "must be finite where it is observed",
            f"{values[row, column]} in row {row}, column {column}",
            "Use NaN for an entry that is missing.",
        )
    return with_missing(values)


def _first_infinite(values: FloatArray) -> tuple[int, int] | None:
    """Return the place of the first entry that is infinite, looking at some rows at a time."""
    for start in range(0, len(values), _ROWS):
        found = np.argwhere(np.isinf(values[start : start + _ROWS]))
        if len(found):
            return start + int(found[0, 0]), int(found[0, 1])
    return None


def _matrix(X: Any) -> FloatArray:
    if hasattr(X, "toarray"):  # SciPy sparse
        X = X.toarray()
    try:
        if hasattr(X, "to_numpy"):
            X = _from_frame(X)
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        if np.iscomplexobj(X):
            raise TypeError
        return np.asarray(X, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(
            "X",
            "must hold real numbers",
            getattr(X, "dtype", type(X).__name__),
            "Encode text and categories as numbers first; use NaN for missing entries.",
        ) from None


def _from_frame(X: Any) -> Any:
    try:
        return X.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas, with its own nulls
    except TypeError:
        return X.to_numpy()  # polars
