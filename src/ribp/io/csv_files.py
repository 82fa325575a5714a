"""Tables as text: CSV and its relatives, as programs and people write them.

Empty cells, NA, NaN, null and ? in any case mean missing. The first line is a header if a cell of
it is neither a number nor missing nor true nor false, or if it is the one that pandas writes (an
empty cell, then 0, 1, 2, ...). What could be either is refused rather than guessed: a bare 0, 1, 2,
..., or names beside numbers. The first column holds the names of the rows if its header is empty,
id, name, row or index, or if it was chosen; text in it must not repeat, and fractions under a
header that is not empty are data. Where semicolons separate cells a comma is a decimal sign, unless
cells have points.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import isfinite
from pathlib import Path

import numpy as np

from ribp.checks import IntArray
from ribp.errors import StorageError
from ribp.io.column_choice import EVERYTHING, ColumnChoice, Roles, set_aside_remedy
from ribp.io.data_file import (
    FLAGS,
    DataFile,
    check_names,
    column_label,
    infinite_value,
    is_missing,
    listed,
    no_such_column,
    number,
    shown,
)
from ribp.io.text_records import Record, records, separator_of

_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?|[-+]?\d+,")
_ROWS_TO_LOOK_AT = 200


def read_csv(path: Path, choice: ColumnChoice = EVERYTHING) -> DataFile:
    """Return the table in a text file."""
    separator = separator_of(path)
    rows = records(path, separator)
    first = next(rows, None)
    if first is None:
        raise StorageError(path, "has no rows of data", "Name a file with at least one row.")
    second = next(rows, None)
    names = header(path, first, second)
    if names is None and not choice.is_empty:
        raise no_such_column(path, choice.first_name(), [])
    body = [] if names is not None else [first]
    body += [] if second is None else [second]
    table = _Table(path, names, len(first.cells), choice, decimal_commas=separator == ";")
    return table.read(chain(body, rows))


def csv_names(path: Path) -> list[str] | None:
    """Return the names of columns in a text file; None if its first line is data."""
    rows = records(path)
    first = next(rows, None)
    return None if first is None else header(path, first, next(rows, None))


class _Table:
    """The columns of a table, by what becomes of them, and the rows read so far."""

    def __init__(
        self,
        path: Path,
        names: list[str] | None,
        n_cells: int,
        choice: ColumnChoice,
        decimal_commas: bool,
    ) -> None:
        self.path = path
        self.names = names
        self.n_cells = n_cells
        every = Roles(list(range(n_cells)), [], None, False)
        roles = every if names is None else choice.roles(path, names)
        self.id, self.is_guess, self.data = roles.id, roles.is_guess, roles.data
        self.is_every = self.data == every.data
        self.as_text = choice.as_text and names is not None
        self.flags = choice.flags or choice.as_text
        self.row_cells: list[str] = []
        self.aside: dict[int, list[str | None]] = {j: [] for j in roles.aside}
        if names is not None:
            check_names(path, [name for j, name in enumerate(names) if j or j != self.id])
            _check_mixed(path, [names[j] for j in self.data])
        self.decimal_commas = decimal_commas
        self.signs: dict[str, str] = {}  # decimal signs, and a cell that has it
        self.numbers = array("d")
        self.lines = array("q")

    def read(self, rows: Iterator[Record]) -> DataFile:
        for record in rows:
            if len(record.cells) != self.n_cells:
                raise _ragged(self.path, record, self.n_cells, self.names is not None)
            try:
                self.numbers.extend(self.row(record))
            except _TextCellError as cell:
                raise self.text_error(cell.args[0], record, rows) from None
            self.lines.append(record.line)
            for j, column in self.aside.items():
                column.append(self.text(record.cells[j].strip()))
            if self.id is not None:
                self.row_cells.append(record.cells[self.id].strip())
        return self.finished()

    def text(self, cell: str) -> str | None:
        """Return a cell of text; a number in it has a point."""
        if is_missing(cell):
            return None
        commas = self.as_text and self.decimal_commas and _DECIMAL_COMMA.fullmatch(cell)
        return cell.replace(",", ".") if commas else cell

    def row(self, record: Record) -> list[float]:
        """Return the numbers of a row."""
        if self.as_text:
            return [np.nan] * len(self.data)
        cells = record.cells if self.is_every else [record.cells[j] for j in self.data]
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
        if self.decimal_commas:
            self.check_signs(cells, record.line)
        return row

    def check_signs(self, cells: list[str], line: int) -> None:
        """Raise a `StorageError` if some numbers have a decimal point and some a comma."""
        for sign in ".,":
            if sign not in self.signs and (cell := next((c for c in cells if sign in c), "")):
                self.signs[sign] = cell.strip()
        if len(self.signs) > 1:
            raise _points_and_commas(self.path, self.signs, line)

    def cell(self, record: Record, j: int) -> float:
        value = self.number(record.cells[j])
        if value is None:
            raise _TextCellError(j)
        return value

    def number(self, cell: str) -> float | None:
        value = number(cell)
        if value is None and self.decimal_commas and _DECIMAL_COMMA.fullmatch(cell.strip()):
            return float(cell.replace(",", "."))
        return FLAGS.get(cell.strip().lower()) if value is None and self.flags else value

    def text_error(self, j: int, record: Record, rows: Iterator[Record]) -> StorageError:
        """Return the error for text in column j: of one cell, or of a whole column."""
        remedy = _remedy_for_a_cell(record.cells[j])
        if remedy is None and self.names is not None:
            more = [record, *islice(rows, _ROWS_TO_LOOK_AT)]
            texts = [i for i in self.data if self.texts(more, i) > len(more) / 2 + len(self.lines)]
            if j in texts:
                named = [self.names[i] for i in texts]
                return _text_columns(self.path, named, j, record, self.names)
        return _text(self.path, record, self.names, j, remedy)

    def texts(self, rows: list[Record], j: int) -> int:
        """Return how many cells of a column are text."""
        return sum(self.number(row.cells[j]) is None for row in rows if j < len(row.cells))

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
        dims = [names[j] for j in self.data]
        texts = frozenset(dims if self.as_text else ())
        file = file._replace(dim_names=dims, columns=aside, texts=texts)
        if self.id is None:
            return file
        if self.is_guess and names[0] and _has_fractions(self.row_cells) and not self.as_text:
            return _with_first_column(file, names[0], self.row_cells)
        return file._replace(row_names=_row_names(self.path, self.row_cells, lines))


class _TextCellError(Exception):
    """A cell of data is text; its argument is the column."""


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
    words = (cell for cell in cells if number(cell) is None)
    return cells if any(cell.lower() not in FLAGS for cell in words) else None


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


def _remedy_for_a_cell(cell: str) -> str | None:
    """Return what to do about a cell that is nearly a number; None if it is text."""
    if _DECIMAL_COMMA.fullmatch(cell):
        return "Write decimal points, or separate cells by semicolons."
    if cell.strip().lower() in FLAGS:
        return (
            "Write 1 and 0, or add --likelihood auto --method gibbs-rows, which fits true and "
            "false as yes and no."
        )
    if len(cell.split()) > 1 and None not in map(number, cell.split()):
        return "Separate cells by commas, semicolons, tabs or |."
    if number(cell.replace("_", "")) is not None:
        return "Write numbers without underscores."
    return None


def _text(
    path: Path, record: Record, names: Sequence[str] | None, j: int, remedy: str | None
) -> StorageError:
    return StorageError(
        path,
        f"has text in line {record.line_of(j)}, {column_label(names, j)}: {shown(record.cells[j])}",
        remedy
        or "Correct it, leave it empty if it is missing, or set the column aside; names of rows "
        "belong in a first column with the header id.",
    )


def _text_columns(
    path: Path, texts: list[str], j: int, record: Record, names: Sequence[str]
) -> StorageError:
    """Return the error for columns of text, with the options that say what they are."""
    first = shown(record.cells[j])
    if len(texts) == 1:
        what = f"has text in {column_label(names, j)}, such as {first} in line {record.line_of(j)}"
    else:
        what = f"has text in {len(texts)} columns, {listed(texts)}; {column_label(names, j)} has "
        what += f"{first} in line {record.line_of(j)}"
    return StorageError(path, what, set_aside_remedy(texts))


def _points_and_commas(path: Path, signs: dict[str, str], line: int) -> StorageError:
    return StorageError(
        path,
        f"has decimal points, as in {shown(signs['.'])}, and commas, as in {shown(signs[','])}, up "
        f"to line {line}",
        "Write all numbers with a point, or all with a comma, and no thousands separators.",
    )


def _ragged(path: Path, record: Record, n_cells: int, headed: bool) -> StorageError:
    return StorageError(
        path,
        f"has {len(record.cells)} cells in line {record.line}, but its "
        f"{'header' if headed else 'first line'} has {n_cells}",
        "Give every line the same number of cells; quote cells that contain the separator.",
    )
