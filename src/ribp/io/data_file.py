"""A table that was read from a file, and the errors for what is wrong with one.

What is wrong with a file is a `StorageError`, which names the file, the place in it and a remedy;
an option that does not suit it, such as a column that it does not have, is an `InputError`.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ribp.checks import LARGEST, FloatArray, IntArray, first_too_large
from ribp.errors import InputError, StorageError
from ribp.threads import memory

MISSING = frozenset({"", "na", "nan", "null", "?"})
"""The cells, in lower case and without blanks around them, that mean a missing entry."""
FLAGS = {"true": 1.0, "false": 0.0}
"""The cells, in lower case, that mean yes and no."""
ROW_NAME_HEADERS = frozenset({"", "id", "name", "row", "index"})
"""The headers, in lower case, under which a first column may hold the names of the rows."""


class DataFile(NamedTuple):
    """A table of numbers, and what was set aside when it was read."""

    path: Path
    """Where it was read from."""
    values: FloatArray
    """Shape (rows, dims); NaN means missing."""
    dim_names: list[str] | None = None
    """The names of the dims; None if the file has no header."""
    row_names: list[str] | None = None
    """The names of the rows; None if the file has none."""
    columns: dict[str, list[str | None]] = {}  # noqa: RUF012  (a default that nobody changes)
    """The columns that were set aside, as text; None where an entry is missing."""
    texts: frozenset[str] = frozenset()
    """Names of dims that were read as text: they are in `columns`, and their values are NaN."""
    lines: IntArray | None = None
    """The line on which each row begins, from 1; None if the file is not text."""

    def column(self, name: str) -> list[str | None]:
        """Return a column that was set aside."""
        if name not in self.columns:
            raise no_such_column(self.path, name, self.columns)
        return self.columns[name]

    def place(self, row: int) -> str:
        """Return where a row is, as a person would look for it: lines and rows from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def is_missing(cell: str) -> bool:
    """Whether a cell of a text file means a missing entry."""
    return cell.strip().lower() in MISSING


def number(cell: str) -> float | None:
    """Return the number in a cell, NaN if it is missing, None if it is text."""
    if is_missing(cell):
        return np.nan
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def shown(text: object, limit: int = 60) -> str:
    """Return a text in quotes, on one line, cut if it is long."""
    word = str(text)
    return repr(word if len(word) <= limit else word[: limit - 3] + "...")


def listed(names: Iterable[object], limit: int = 10) -> str:
    """Return the first few names, in quotes, with commas."""
    words = [shown(name, 30) for name in names]
    more = [f"and {len(words) - limit} more"] if len(words) > limit else []
    return ", ".join(words[:limit] + more)


def no_such_column(path: Path, name: str, names: Iterable[str]) -> InputError:
    """Return the error for a column that a file does not have."""
    columns = list(names)
    near = difflib.get_close_matches(name, columns, n=1)
    has = f"Its columns are {listed(columns)}." if columns else "It has no columns with names."
    remedy = f"Did you mean {shown(near[0])}? {has}" if near else has
    return InputError("column", f"must be a column of {path}", shown(name), remedy)


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise a `StorageError` unless all columns have names, which differ."""
    for j, name in enumerate(names):
        if not name.strip():
            raise StorageError(path, f"has no name for column {j + 1}", "Name that column.")
    repeated = sorted(name for name, number in Counter(names).items() if number > 1)
    if repeated:
        raise StorageError(
            path, f"has several columns of the same name: {listed(repeated)}", "Rename them."
        )


def check_not_empty(path: Path, n_rows: int, n_dims: int) -> None:
    """Raise a `StorageError` if a table has no rows or no columns."""
    if n_rows == 0:
        raise StorageError(path, "has no rows of data", "Name a file with at least one row.")
    if n_dims == 0:
        raise StorageError(
            path, "has no columns of data", "Name a file with at least one column of numbers."
        )


def check_finite(file: DataFile) -> DataFile:
    """Return the file if it has rows, dims, and no value that is infinite or beyond `LARGEST`."""
    check_not_empty(file.path, *file.values.shape)
    wrong = first_too_large(file.values)
    if wrong:
        row, dim = wrong
        name, value = column_label(file.dim_names, dim), file.values[wrong]
        if np.isinf(value):
            raise infinite_value(file.path, file.place(row), name, str(value))
        raise StorageError(
            file.path,
            f"has the value {value} in {file.place(row)}, {name}, and {LARGEST:g} is the largest",
            "Leave the cell empty if it is missing, or divide the column by a constant.",
        )
    return file


def infinite_value(path: Path, place: str, column: str, cell: str) -> StorageError:
    """Return the error for a value that is infinite, or too large for a double."""
    return StorageError(
        path,
        f"has the infinite value {shown(cell)} in {place}, {column}",
        "Leave the cell empty if it is missing; otherwise correct it.",
    )


def column_label(names: Sequence[str] | None, j: int) -> str:
    """Return what to call a column in a message."""
    return f"column {j + 1}" if names is None else f"column {shown(names[j])}"


def check_size(path: Path, n_rows: int, n_dims: int) -> None:
    """Raise a `StorageError` if a matrix, without its gaps, is larger than this machine."""
    what = f"has {n_rows} rows and {n_dims} columns: {{}} GB as numbers"
    check_bytes(path, n_rows * n_dims * 8, what)


def check_bytes(path: Path, n_bytes: int, what: str = "unpacks to {} GB") -> None:
    """Raise a `StorageError` if something needs more memory than this machine has."""
    if n_bytes > memory():
        raise StorageError(
            path,
            f"{what.format(f'{n_bytes / 1e9:.3g}')}, more than this machine has memory",
            "Use fewer rows or columns.",
        )
