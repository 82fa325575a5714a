"""From the values of a table to numbers, by kind, and back.

An entry of a column with levels becomes the number of its level. Texts must be names of levels.
Numbers are levels by name where names of levels are numbers ("1", "2", "3"), and otherwise the
numbers of levels themselves, from 0; True and False are 1 and 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ribp.checks import FloatArray, row_place
from ribp.errors import InputError
from ribp.kinds.given_columns import GivenColumn, is_number, level_text
from ribp.kinds.kind import Kind

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 8


def encoded(
    columns: Sequence[GivenColumn], kinds: Sequence[Kind], row_names: Sequence[str] | None = None
) -> FloatArray:
    """Return numbers of shape (rows, columns), NaN where missing."""
    if len(columns) != len(kinds):
        raise InputError(
            "X",
            f"must have the {len(kinds)} columns of the fit",
            f"{len(columns)} columns",
            "Pass the same columns in the same order.",
        )
    pairs = zip(columns, kinds, strict=True)
    return np.column_stack([_numbers(column, kind, row_names) for column, kind in pairs])


def _numbers(column: GivenColumn, kind: Kind, row_names: Sequence[str] | None) -> FloatArray:
    values = _level_numbers(column, kind, row_names) if kind.levels else column.values
    if not kind.levels and not column.is_number:
        at = int(column.observed.argmax())
        if column.observed.any():
            raise _wrong(column, kind, at, column.values[at], row_names)
        return np.full(len(values), np.nan)
    seen = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(seen & ~kind.possible(np.where(seen, values, 0.0)))
    if wrong.size:
        at = int(wrong[0])
        raise _wrong(column, kind, at, f"{values[at]:g}", row_names)
    return np.asarray(values, dtype=np.float64)


def _level_numbers(column: GivenColumn, kind: Kind, row_names: Sequence[str] | None) -> FloatArray:
    """Return the number of the level of each entry."""
    names = {name: float(at) for at, name in enumerate(kind.levels)}
    if column.type == "bool" and not names.keys() & {"False", "True"}:
        return column.values
    if column.type == "bool":
        return _looked_up(column, kind, names, ("False", "True"), row_names)
    if column.is_number and not any(is_number(name) for name in names):
        return column.values
    return _looked_up(column, kind, names, None, row_names)


def _looked_up(
    column: GivenColumn,
    kind: Kind,
    names: dict[str, float],
    words: tuple[str, str] | None,
    row_names: Sequence[str] | None,
) -> FloatArray:
    """Return the number of each entry's level by its name; `words` are those of 0 and 1."""
    found, seen = np.full(len(column.values), np.nan), column.observed
    distinct, which = np.unique(column.values[seen], return_inverse=True)
    texts = [words[int(one)] if words else level_text(one) for one in distinct.tolist()]
    numbers = np.array([names.get(text, np.nan) for text in texts])
    unknown = np.flatnonzero(np.isnan(numbers))
    if unknown.size:
        at = int(np.flatnonzero(seen)[np.isin(which, unknown).argmax()])
        raise _wrong(column, kind, at, repr(level_text(column.values[at])), row_names)
    found[seen] = numbers[which]
    return found


def _wrong(
    column: GivenColumn, kind: Kind, row: int, value: Any, row_names: Sequence[str] | None
) -> InputError:
    """Return the error for an entry that cannot be of its kind."""
    rule = kind.rule
    if kind.levels:
        more = ", ..." if len(kind.levels) > _SHOWN else ""
        rule = f"one of the levels {', '.join(kind.levels[:_SHOWN])}{more}"
    return InputError(
        "X",
        f"must hold {rule} in column {str(column.name)!r}, which is {kind.name}",
        f"{value} in {row_place(row, row_names)}",
        "Correct the entry or leave it empty; other levels, or another kind, need another fit.",
    )


def decoded(
    values: FloatArray, kinds: Sequence[Kind], names: Sequence[Any], index: Any = None
) -> pd.DataFrame:
    """Return a data frame in which levels have their names; NaN where missing."""
    import pandas as pd

    columns = {}
    for d, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        columns[name] = values[:, d]
        if kind.levels == ("False", "True"):
            missing = np.isnan(values[:, d])
            flags = np.where(missing, 0.0, values[:, d]).astype(bool)
            columns[name] = pd.arrays.BooleanArray(flags, missing)
        elif kind.levels:
            codes = np.where(np.isnan(values[:, d]), -1, values[:, d]).astype(int)
            ordered = kind.name == "ordinal"
            columns[name] = pd.Categorical.from_codes(codes, list(kind.levels), ordered=ordered)
    return pd.DataFrame(columns, index=index)
