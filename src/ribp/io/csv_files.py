"""Tables as text: CSV and its relatives, as programs and people write them.

Empty cells, NA, NaN, null and ? in any case mean missing. The first line is a header if a cell of
it is neither a number nor missing, or if it is the one that pandas writes (an empty cell, then
0, 1, 2, ...). What could be either is refused rather than guessed: a bare 0, 1, 2, ..., or names
beside numbers. The first column holds the names of the rows if its header is empty, id, name, row
or index; text in it must not repeat, and fractions under a header that is not empty are data.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from math import isfinite
from pathlib import Path

import numpy as np

from ribp.checks import IntArray
from ribp.errors import StorageError
from ribp.io.data_file import (
    ROW_NAME_HEADERS,
    DataFile,
    check_names,
    column_label,
    infinite_value,
    is_missing,
    no_such_column,
    number,
    set_aside,
    shown,
)
from ribp.io.text_records import Record, records

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


def read_csv(path: Path, exclude: Sequence[str] = ()) -> DataFile:
    """Return the table in a text file; columns named in `exclude` are set aside."""
    rows = records(path)
    first = next(rows, None)
    if first is None:
        raise StorageError(path, "has no rows of data", "Name a file with at least one row.")
    second = next(rows, None)
    names = header(path, first, second)
    if names is None and exclude:
        raise no_such_column(path, exclude[0], [])
    body = [] if names is not None else [first]
    body += [] if second is None else [second]
    return _Table(path, names, len(first.cells), exclude).read(chain(body, rows))


class _Table:
    """The columns of a table, by what becomes of them, and the rows read so far."""

    def __init__(
        self, path: Path, names: list[str] | None, n_cells: int, exclude: Sequence[str]
    ) -> None:
        self.path = path
        self.names = names
        self.n_cells = n_cells
        aside = [] if names is None else set_aside(path, names, exclude)
        named = names is not None and names[0].lower() in ROW_NAME_HEADERS and 0 not in aside
        self.row_cells: list[str] | None = [] if named else None
        self.aside: dict[int, list[str | None]] = {j: [] for j in aside}
        self.data = [j for j in range(n_cells) if j not in self.aside and not (named and j == 0)]
        if names is not None:
            check_names(path, [name for j, name in enumerate(names) if j or not named])
            _check_mixed(path, [names[j] for j in self.data])
        self.numbers = array("d")
        self.lines = array("q")

    def read(self, rows: Iterator[Record]) -> DataFile:
        for record in rows:
            if len(record.cells) != self.n_cells:
                raise _ragged(self.path, record, self.n_cells, self.names is not None)
            self.numbers.extend(self.row(record))
            self.lines.append(record.line)
            for j, column in self.aside.items():
                column.append(None if is_missing(record.cells[j]) else record.cells[j].strip())
            if self.row_cells is not None:
                self.row_cells.append(record.cells[0].strip())
        return self.finished()

    def row(self, record: Record) -> list[float]:
        """Return the numbers of a row."""
        cells = record.cells
        if len(self.data) < len(cells):
            cells = [cells[j] for j in self.data]
        try:
            row = list(map(float, cells))
            if "_" in "".join(cells):  # float("1_000") is 1000
                raise ValueError
        except ValueError:
            row = [self.cell(record, j) for j in self.data]
        if not isfinite(sum(row)) and np.isinf(row).any():
            j = self.data[int(np.flatnonzero(np.isinf(row))[0])]
            place = f"line {record.line_of(j)}"
            raise infinite_value(self.path, place, column_label(self.names, j), record.cells[j])
        return row

    def cell(self, record: Record, j: int) -> float:
        value = number(record.cells[j])
        if value is None:
            raise _text(self.path, record.line_of(j), record.cells[j], self.names, j)
        return value

    def finished(self) -> DataFile:
        n_rows = len(self.lines)
        if n_rows == 0:
            raise StorageError(
                self.path, "has a header but no rows of data", "Name a file with data."
            )
        values = np.asarray(self.numbers, dtype=np.float64).reshape(n_rows, len(self.data))
        lines = np.frombuffer(self.lines, dtype=np.int64)
        file = DataFile(self.path, values, lines=lines)
        if self.names is None:
            return file
        names = self.names
        aside = {names[j]: column for j, column in self.aside.items()}
        file = file._replace(dim_names=[names[j] for j in self.data], columns=aside)
        if self.row_cells is None:
            return file
        if names[0] and _has_fractions(self.row_cells):
            return _with_first_column(file, names[0], self.row_cells)
        return file._replace(row_names=_row_names(self.path, self.row_cells, lines))


def header(path: Path, first: Record, second: Record | None) -> list[str] | None:
    """Return the names in the first line; None if it is a line of data."""
    cells = [cell.strip() for cell in first.cells]
    counting = [str(j) for j in range(len(cells))]
    if cells[0] == "" and len(cells) > 1 and cells[1:] == counting[:-1]:
        index = "" if second is None else second.cells[0].strip()
        if index != "0" and len(cells) < 4:  # too short to be sure
            raise _names_or_data(path, cells)
        return None if is_missing(index) else cells
    if len(cells) > 2 and cells == counting:
        raise _names_or_data(path, cells)
    return cells if any(number(cell) is None for cell in cells) else None


def _names_or_data(path: Path, cells: list[str]) -> StorageError:
    return StorageError(
        path,
        f"begins with the line {shown(','.join(cells))}, which may be names or data",
        "Put a line of names above it; if these are the names, write x0, x1, ... instead.",
    )


def _check_mixed(path: Path, names: list[str]) -> None:
    numbers = [name for name in names if number(name) is not None and not is_missing(name)]
    words = [name for name in names if number(name) is None]
    if numbers and words:
        raise StorageError(
            path,
            f"begins with a line of names, such as {shown(words[0])}, and of numbers, such as "
            f"{shown(numbers[0])}: it may be a header or data",
            "If it is data, correct that cell or put a line of names above it; if it is a header, "
            "name every column in words.",
        )


def _has_fractions(cells: list[str]) -> bool:
    values = [number(cell) for cell in cells]
    return None not in values and any(x is not None and x % 1 != 0 and x == x for x in values)


def _with_first_column(file: DataFile, name: str, cells: list[str]) -> DataFile:
    first = np.array([number(cell) for cell in cells], dtype=np.float64)
    names = [name, *(file.dim_names or [])]
    return file._replace(values=np.column_stack([first, file.values]), dim_names=names)


def _row_names(path: Path, cells: list[str], lines: IntArray) -> list[str] | None:
    """Return the names of the rows; None if all are empty. Text must not repeat."""
    if all(is_missing(cell) for cell in cells):
        return None
    if any(number(cell) is None for cell in cells):
        line_of: dict[str, int] = {}
        for cell, line in zip(cells, lines.tolist(), strict=True):
            if cell in line_of:
                raise StorageError(
                    path,
                    f"has the row name {shown(cell)} twice, in lines {line_of[cell]} and {line}",
                    "Make the names in its first column differ, or remove that column.",
                )
            line_of[cell] = line
    return cells


def _text(path: Path, line: int, cell: str, names: Sequence[str] | None, j: int) -> StorageError:
    if _DECIMAL_COMMA.fullmatch(cell):
        remedy = "Write decimal points, not commas."
    elif cell.lower() in ("true", "false"):
        remedy = "Write 1 and 0."
    elif len(cell.split()) > 1 and None not in map(number, cell.split()):
        remedy = "Separate cells by commas, semicolons or tabs."
    else:
        remedy = (
            "Correct it, leave it empty if it is missing, or set the column aside; names of rows "
            "belong in a first column with the header id."
        )
    return StorageError(
        path, f"has text in line {line}, {column_label(names, j)}: {shown(cell)}", remedy
    )


def _ragged(path: Path, record: Record, n_cells: int, headed: bool) -> StorageError:
    return StorageError(
        path,
        f"has {len(record.cells)} cells in line {record.line}, but its "
        f"{'header' if headed else 'first line'} has {n_cells}",
        "Give every line the same number of cells; quote cells that contain the separator.",
    )
