"""Columns as users hold them: what type each is, and its values.

Data frames (pandas, polars), arrays of one type, arrays and lists of objects, sparse matrices. A
column of numbers (bool, integer, number) becomes doubles, NaN where missing; any other becomes
texts, None where missing. None, NaN, NA, NaT, a null and a masked entry mean missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.errors import InputError

TYPES = {"b": "bool", "i": "integer", "u": "integer", "f": "number"}
"""Of columns, by the kind of their dtype."""
NUMBERS = ("bool", "integer", "number")
"""Types whose values are doubles."""


@dataclass(frozen=True, eq=False)
class GivenColumn:
    """A column of a table.

    Parameters
    ----------
    name
    type
        "bool", "integer", "number", "text", "category", "ordered"; "other" if it is none of them.
    values
        Doubles or texts.
    levels
        Of a category, all that it may have, in its order.
    """

    name: Any
    type: str
    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether its values are doubles."""
        return self.type in NUMBERS

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Which entries are not missing."""
        if self.is_number:
            return np.asarray(~np.isnan(self.values))
        return np.array([value is not None for value in self.values], np.bool_)

    def distinct(self, most: int) -> list[Any]:
        """Return different values in order, at most so many; one more if there are more."""
        values = self.values[self.observed]
        found = np.unique(values) if self.is_number else sorted({*values.tolist()})
        return list(found[: most + 1])


def level_text(value: Any) -> str:
    """Return the name of a level: a text as it is, a whole number without a point."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def columns_of(X: Any, names: Sequence[Any] | None = None) -> list[GivenColumn]:
    """Return the columns of a table; `names` if it has none itself."""
    if hasattr(X, "toarray"):  # SciPy sparse
        X = X.toarray()
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return [_of_series(name, X[name]) for name in _distinct_names(X.columns)]
    if isinstance(X, np.ma.MaskedArray):
        masked, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[masked] = None
    table = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(
            "X",
            "must be a matrix with at least one row and one column",
            f"shape {table.shape}",
            "Reshape your data to (rows, columns); a single row is X[None, :].",
        )
    labels = range(table.shape[1]) if names is None else names
    return [_of_array(name, table[:, d]) for d, name in enumerate(labels)]


def _distinct_names(names: Any) -> list[Any]:
    listed = list(names)
    twice = next((name for at, name in enumerate(listed) if name in listed[:at]), None)
    if twice is not None:
        raise InputError("X", "must have columns with different names", twice, "Rename one.")
    return listed


def _of_array(name: Any, values: NDArray[Any]) -> GivenColumn:
    """Return a column of an array."""
    if values.dtype.kind in TYPES:
        return GivenColumn(name, TYPES[values.dtype.kind], values.astype(np.float64))
    if values.dtype.kind not in "OUST":
        return GivenColumn(name, "other", np.full(len(values), str(values.dtype), object))
    return _of_objects(name, values.tolist())


def _of_series(name: Any, series: Any) -> GivenColumn:
    """Return a column of a data frame."""
    dtype = series.dtype
    categories = getattr(dtype, "categories", None)
    if categories is not None:  # pandas, or an Enum of polars
        ordered = "ordered" if getattr(dtype, "ordered", False) else "category"
        levels = tuple(level_text(one) for one in categories)
        return GivenColumn(name, ordered, _texts(_listed(series)), levels)
    kind = getattr(dtype, "kind", "O")  # polars has none: its values are looked at
    if kind in TYPES:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return GivenColumn(name, TYPES[kind], values)
    if kind in "mM":
        return GivenColumn(name, "other", np.full(len(series), str(dtype), object))
    empty = "integer" if "int" in str(dtype).lower() else "number"
    return _of_objects(name, _listed(series), empty)


def _listed(series: Any) -> list[Any]:
    return list(series.to_list() if hasattr(series, "to_list") else series)


def _missing(value: Any) -> bool:
    """Return whether a value stands for nothing: None, NaN, NA, NaT."""
    if isinstance(value, np.ndarray):  # a cell that holds many
        return False
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _texts(values: list[Any]) -> NDArray[Any]:
    texts = np.empty(len(values), object)
    texts[:] = [None if _missing(one) else level_text(one) for one in values]
    return texts


def _of_objects(name: Any, values: list[Any], empty: str = "number") -> GivenColumn:
    """Return a column of objects, of the type that all of them have; `empty` if there are none."""
    some = [one for one in values if not _missing(one)]
    if all(isinstance(one, bool | np.bool_) for one in some):
        kind = "bool" if some else empty
    elif all(isinstance(one, int | np.integer | bool | np.bool_) for one in some):
        kind = "integer"
    elif all(isinstance(one, int | float | np.number) for one in some):
        kind = "number"
    elif all(isinstance(one, str | bool | int | float | np.number) for one in some):
        return GivenColumn(name, "text", _texts(values))
    else:
        wrong = next(one for one in some if not isinstance(one, str | int | float | np.number))
        return GivenColumn(name, "other", np.full(len(values), type(wrong).__name__, object))
    numbers = [np.nan if _missing(one) else float(one) for one in values]
    return GivenColumn(name, kind, np.array(numbers))
