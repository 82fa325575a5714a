"""The option ``--exposure``: by what the rates of each row of counts are multiplied.

column:NAME       a column of the data, a positive number in each row; it is not fitted
learn             to find out from the data
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from ribp.errors import InputError, StorageError
from ribp.io.data_file import DataFile, number, shown

OPTION = "--exposure"
_FORMS = "Write column:NAME or learn; put a name with commas in double quotes."


def exposure_columns(option: str | None) -> tuple[str, ...]:
    """Return the column that an option names, which is therefore not data."""
    if option is None or option == "learn":
        return ()
    cells: list[str] = []
    if option.startswith("column:"):
        text = option.removeprefix("column:")
        try:
            cells = next(csv.reader([text], strict=True, skipinitialspace=True), [])
        except csv.Error as error:
            raise InputError(OPTION, "must close its quotes", shown(option), f"{error}.") from None
    names = tuple(cell.strip() for cell in cells)
    if len(names) != 1 or "" in names:
        raise InputError(OPTION, "must name one column, or be learn", shown(option), _FORMS)
    return names


def exposure_from(option: str | None, file: DataFile | None) -> Any:
    """Return exposures of all rows, "learn", or None without an option.

    `file` has the column that `exposure_columns` names set aside.
    """
    if option is None or option == "learn":
        return option
    (name,) = exposure_columns(option)
    if file is None:
        raise InputError(OPTION, "must be learn here", shown(option), "Name columns in the file.")
    cells = [cell or "" for cell in file.column(name)]
    values = np.array([_exposure(cell) for cell in cells])
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if wrong.size:
        row = int(wrong[0])
        raise StorageError(
            file.path,
            f"has in {file.place(row)}, column {shown(name)}, the exposure {shown(cells[row])}, "
            f"but {OPTION} needs a positive number in each row",
            "Correct it, or leave out the row.",
        )
    return values


def _exposure(cell: str) -> float:
    """Return the number in a cell, NaN if it is missing or text."""
    value = number(cell)
    return np.nan if value is None else value
