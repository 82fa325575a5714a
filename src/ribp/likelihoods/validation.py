"""Data at the door: whatever users hold becomes a matrix of doubles, or a clear error.

Arrays, nested lists, data frames, SciPy sparse matrices (their zeros are zeros, not missing) and
masked arrays are taken; NaN, a null and a masked entry mean missing. Rows or columns of which
nothing was observed are allowed: what is said of them follows from the prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.checks import LARGEST, TOO_LARGE, FloatArray, cell_place, first_too_large
from ribp.errors import InputError, InputTypeError
from ribp.likelihoods.data import Data, with_missing


def as_data(
    X: Any, row_names: Sequence[str] | None = None, dim_names: Sequence[str] | None = None
) -> Data:
    """Return data of shape (rows, dims); NaN means missing.

    Parameters
    ----------
    X
        As the module describes.
    row_names, dim_names
        Names of rows and columns, for messages about a cell.
    """
    values = _matrix(X, row_names, dim_names)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            "X",
            "must be a matrix with at least one row and one column",
            f"shape {values.shape}"
            if values.shape[1:] != (0,)
            else f"0 feature(s) (shape={values.shape}) while a minimum of 1 is required",
            "Reshape your data to (rows, dims); a single row is X[None, :].",
        )
    wrong = first_too_large(values)
    if wrong:
        raise InputError(
            "X",
            f"must be finite, and at most {LARGEST:g} in size, where it is observed",
            f"{values[wrong]} in {cell_place(*wrong, row_names, dim_names)}",
            TOO_LARGE,
        )
    return with_missing(values)


def _matrix(X: Any, row_names: Sequence[str] | None, dim_names: Sequence[str] | None) -> FloatArray:
    if hasattr(X, "toarray"):  # SciPy sparse
        X = X.toarray()
    try:
        if hasattr(X, "to_numpy"):
            X = _from_frame(X)
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        held = np.asarray(X)
        if held.dtype.kind in "cmMV":
            raise TypeError
        with np.errstate(over="ignore"):  # a long double that becomes infinite is refused
            return np.asarray(held, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise _not_real(X, row_names, dim_names) from None


def _not_real(
    X: Any, row_names: Sequence[str] | None, dim_names: Sequence[str] | None
) -> InputError:
    """Return the error for what are not numbers; it names the first cell, if X is a table."""
    held = str(getattr(X, "dtype", type(X).__name__))
    if held.startswith("complex"):
        remedy = "Complex data not supported: pass real and imaginary parts as columns."
    else:
        remedy = (
            'Set likelihood="auto" and method="gibbs-rows" to fit texts as levels, or encode them '
            "as numbers first, NaN for missing entries."
        )
        for row, column, value in _not_numbers(X):
            held = f"{value!r:.40} in {cell_place(row, column, row_names, dim_names)}"
            if not isinstance(value, str):
                remedy = "An argument must be a string of digits or a number; use NaN for missing."
                return InputTypeError("X", "must hold real numbers", held, remedy)
            break
    return InputError("X", "must hold real numbers", held, remedy)


def _not_numbers(X: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield row, column and value of entries that no double can hold, if X is a table."""
    try:
        table: NDArray[Any] = np.asarray(X, dtype=object)
    except (TypeError, ValueError):
        return
    if table.ndim != 2:
        return
    for (row, column), value in np.ndenumerate(table):
        try:
            wrong = np.asarray(value, dtype=np.float64).ndim > 0
        except (TypeError, ValueError, OverflowError):
            wrong = True
        if wrong:
            yield int(row), int(column), value


def _from_frame(X: Any) -> Any:
    if any(getattr(dtype, "kind", "") in ("m", "M") for dtype in getattr(X, "dtypes", ())):
        raise TypeError  # pandas would make numbers of dates
    try:
        return X.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas, with its own nulls
    except TypeError:
        return X.to_numpy()  # polars, or pandas with something that is no number
