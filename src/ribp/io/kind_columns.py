"""Columns of a file as columns of kinds: cells are texts, and become numbers by kind.

A column whose cells are all true or false is bool; all whole numbers: integer; all numbers: number;
anything else is text. Without names of columns, in .npy and the like, columns hold numbers, whole
ones or not.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ribp.errors import InputError, StorageError
from ribp.io.column_choice import find, set_aside_remedy
from ribp.io.data_file import FLAGS, DataFile, no_such_column, number, shown
from ribp.kinds import NAMES, Kind
from ribp.kinds.choice import AUTO, Choice, chosen
from ribp.kinds.coding import encoded
from ribp.kinds.given_columns import GivenColumn
from ribp.kinds.levels import MOST_LEVELS

_COLUMN_AND_KIND = re.compile(
    rf"\s*(\S.*?)\s*=\s*((?:{'|'.join([AUTO, *NAMES])})(?:\s*\(.*\))?)\s*", re.DOTALL
)
"""Names of columns and of levels may have "=": a kind is all that follows one of them."""


def kind_options(
    likelihood: str, kinds: Sequence[str] | None, path: Path | None
) -> str | dict[str, str]:
    """Return the likelihood for --likelihood, --kind COLUMN=KIND and --kinds FILE."""
    found = {} if path is None else _read_kinds(path)
    for text in kinds or ():
        parts = _COLUMN_AND_KIND.fullmatch(text)
        if parts is None:
            raise InputError(
                "--kind",
                f"must be COLUMN=KIND with a kind of {', '.join(NAMES)}",
                shown(text),
                "Write for example stage=ordinal.",
            )
        found[parts[1]] = parts[2]
    if found and likelihood not in ("gaussian", AUTO):
        raise InputError(
            "--likelihood", "must be auto where kinds are given", likelihood, "Leave it out."
        )
    return found or likelihood


def _read_kinds(path: Path) -> dict[str, str]:
    """Return the kinds in a table of two columns, column and kind."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, skipinitialspace=True) if any(line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StorageError(path, f"cannot be read ({error})", "Write it as CSV.") from None
    if lines[:1] == [["column", "kind"]]:
        lines = lines[1:]
    wrong = next((line for line in lines if len(line) != 2 or not all(map(str.strip, line))), None)
    if wrong is not None or not lines:
        raise StorageError(
            path,
            f"must have lines of a column and its kind, but has {shown(','.join(wrong or []))}",
            'Write for example stage,"ordinal(I, II, III)".',
        )
    return {column.strip(): kind.strip() for column, kind in lines}


def expanded(likelihood: Any, path: Path, names: Sequence[str] | None) -> Any:
    """Return a mapping to kinds with patterns replaced by the names of the columns of a file."""
    if not isinstance(likelihood, Mapping) or names is None:
        return likelihood
    found: dict[str, Any] = {}
    for pattern, kind in likelihood.items():
        at = find(names, str(pattern))
        if not at:
            raise no_such_column(path, str(pattern), names)
        found |= {names[j]: kind for j in at}
    return found


def coded(file: DataFile, choice: Choice) -> tuple[DataFile, tuple[Kind, ...]]:
    """Return a file whose values are numbers by kind, and the kinds, chosen by what it holds."""
    columns = _given(file)
    _check_texts(file, columns, choice)
    kinds = chosen(choice, columns, as_options=True)
    return _with_numbers(file, columns, kinds), kinds


def coded_by(file: DataFile, kinds: Sequence[Kind]) -> DataFile:
    """Return the same by kinds that are known."""
    return _with_numbers(file, _given(file), kinds)


def _with_numbers(
    file: DataFile, columns: Sequence[GivenColumn], kinds: Sequence[Kind]
) -> DataFile:
    aside = {name: cells for name, cells in file.columns.items() if name not in file.texts}
    return file._replace(values=encoded(columns, kinds, file.row_names), columns=aside)


def _given(file: DataFile) -> list[GivenColumn]:
    """Return the columns of a file that are data."""
    if file.dim_names is not None:
        return [_of_cells(name, file.columns[name]) for name in file.dim_names]
    return [_of_numbers(d, values) for d, values in enumerate(file.values.T)]


def _of_numbers(name: Any, values: Any) -> GivenColumn:
    some = values[~np.isnan(values)]
    kind = "integer" if (some == np.floor(some)).all() else "number"
    return GivenColumn(name, kind, np.array(values))


def _of_cells(name: str, cells: Sequence[str | None]) -> GivenColumn:
    some = [cell for cell in cells if cell is not None]
    if some and all(cell.lower() in FLAGS for cell in some):
        flags = [np.nan if cell is None else FLAGS[cell.lower()] for cell in cells]
        return GivenColumn(name, "bool", np.array(flags))
    numbers = [np.nan if cell is None else number(cell) for cell in cells]
    if None not in numbers:
        whole = all(cell.lstrip("+-").isdecimal() for cell in some)
        return GivenColumn(name, "integer" if whole and some else "number", np.array(numbers))
    texts = np.empty(len(cells), object)
    texts[:] = list(cells)
    return GivenColumn(name, "text", texts)


def _check_texts(file: DataFile, columns: Sequence[GivenColumn], choice: Choice) -> None:
    """Raise a `StorageError` for texts that fit no kind, with the options that set them aside."""
    asked = choice if isinstance(choice, Mapping) else {}
    many = [
        column
        for column in columns
        if column.type == "text"
        and column.name not in asked
        and len(column.distinct(MOST_LEVELS)) > MOST_LEVELS
    ]
    if many:
        names = [str(column.name) for column in many]
        raise StorageError(
            file.path,
            f"has more than {MOST_LEVELS} different texts in column {shown(names[0])}, which fit no"
            " kind",
            set_aside_remedy(names),
        )
