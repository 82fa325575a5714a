"""The option ``--counts``: what is known about how many features each row has.

    LAW               a count law for all rows: exactly(3), 0.8*exactly(1) + 0.2*poisson(9)
    column:NAME       a column of the data: in each row a whole number or the text of a law
    column:LO,HI      two columns: the lowest and the highest count of each row
    file:PATH         a text file or .npy with one number, two numbers or one law a row

Names with commas stand in double quotes: ``column:"a,b"``. A text file of counts may have a header,
and a first column with names of rows (id, name, row, index or empty), which is left out; its laws
need no quotes. A missing count means that the law of its row is not known: it is learned, or what
``--counts-missing LAW`` says.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ribp.counts import CountLaw, RowCounts, as_row_counts, exactly, parse, uniform
from ribp.counts.row_counts import joined
from ribp.counts.text import TextError
from ribp.errors import InputError, StorageError
from ribp.io.array_files import load_npy
from ribp.io.data_file import ROW_NAME_HEADERS, DataFile, is_missing, number, shown
from ribp.io.formats import check_start, kind_of
from ribp.io.text_records import Record, records

OPTION = "--counts"
_FORMS = "Write a law such as exactly(3), column:NAME, column:LO,HI or file:PATH."
_PREFIX = re.compile(r"\s*([A-Za-z]+)\s*:")


class _Entries(NamedTuple):
    """The count of each row as text, and its place in a file."""

    path: Path
    cells: list[tuple[str, ...]]
    """One text a row, a number or a law; or two, the lowest and the highest count."""
    place: Callable[[int], str]


def count_columns(option: str | None) -> tuple[str, ...]:
    """Return the columns that an option names, which are therefore not data."""
    if option is None or not option.startswith("column:"):
        return ()
    text = option.removeprefix("column:")
    try:
        cells = next(csv.reader([text], strict=True, skipinitialspace=True), [])
    except csv.Error as error:
        raise InputError(OPTION, "must close its quotes", shown(option), f"{error}.") from None
    names = tuple(name.strip() for name in cells)
    if len(names) not in (1, 2) or "" in names:
        raise InputError(
            OPTION,
            "must name one column, or two for a lowest and a highest count",
            shown(option),
            "Write column:NAME or column:LO,HI; put a name with commas in double quotes.",
        )
    return names


def counts_from(
    option: str | None, file: DataFile | None, n_rows: int, missing: CountLaw | None = None
) -> RowCounts | None:
    """Return the count law of every row of the data; None without an option.

    Parameters
    ----------
    option
        As the module describes.
    file
        The data, with the columns that `count_columns` names set aside; None if there is none.
    n_rows
        The number of rows of the data.
    missing
        The law of rows whose count is missing; None for one that is learned.
    """
    if option is None:
        return None
    if option.startswith("column:"):
        return _row_counts(_from_columns(option, count_columns(option), file), n_rows, missing)
    if option.startswith("file:"):
        return _row_counts(
            _from_file(option, option.removeprefix("file:").strip()), n_rows, missing
        )
    return as_row_counts(_one_law(option, file), n_rows)


def missing_law(text: str | None) -> CountLaw | None:
    """Return the law that ``--counts-missing`` says; None for one that is learned."""
    return None if text is None else _one_law(text, None, "--counts-missing")


def check_law(option: str | None) -> None:
    """Raise an `InputError` if an option is a law, but a wrong one, or names columns wrongly."""
    if option is not None and not option.startswith("file:") and not count_columns(option):
        _one_law(option, None)


def _one_law(option: str, file: DataFile | None, name: str = OPTION) -> CountLaw:
    if _PREFIX.match(option):
        rule = "must be a law" + " or begin with column: or file:" * (name == OPTION)
        raise InputError(name, rule, shown(option), _FORMS)
    if file is not None and option in (*(file.dim_names or ()), *file.columns):
        raise InputError(OPTION, "must be a law", shown(option), f"Write column:{option}.")
    try:
        return parse(option)
    except TextError as error:
        text, place, problem, remedy = error.args
        raise TextError(text, place, f"{name}: {problem}", remedy) from None
    except RecursionError:
        raise InputError(name, "must not be nested so deeply", shown(option), _FORMS) from None


def _from_columns(option: str, names: Sequence[str], file: DataFile | None) -> _Entries:
    if file is None:
        raise InputError(OPTION, "must be a law or file:PATH here", shown(option), _FORMS)
    columns = [[cell or "" for cell in file.column(name)] for name in names]
    quoted = " and ".join(shown(name) for name in names)
    word = "columns" if len(names) > 1 else "column"
    return _Entries(
        file.path,
        list(zip(*columns, strict=True)),
        lambda row: f"{file.place(row)}, {word} {quoted}",
    )


def _from_file(option: str, name: str) -> _Entries:
    if not name:
        raise InputError(OPTION, "must name a file after file:", shown(option), _FORMS)
    path = Path(name)
    kind = kind_of(path)
    if kind not in ("csv", "npy"):
        raise InputError(
            OPTION, "must name a .csv, .tsv, .txt or .npy file", shown(option), "Save it as CSV."
        )
    check_start(path, kind)
    return _from_array(path) if kind == "npy" else _from_text(path)


def _from_array(path: Path) -> _Entries:
    array = load_npy(path)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] not in (1, 2) or array.dtype.kind not in "iuf":
        raise StorageError(
            path,
            f"holds an array of shape {array.shape} and type {array.dtype}, not counts",
            "Save whole numbers of shape (rows,), or (rows, 2) for lowest and highest counts.",
        )
    cells = [tuple(map(str, row)) for row in array.tolist()]
    return _Entries(path, cells, lambda row: f"row {row + 1}")


def _from_text(path: Path) -> _Entries:
    lines = list(records(path))
    first = [cell.strip() for cell in lines[0].cells] if lines else [""]
    has_header = not _is_entry(first[0])
    skip = int(has_header and len(first) > 1 and first[0].lower() in ROW_NAME_HEADERS)
    rows = lines[int(has_header) :]
    if not rows:
        raise StorageError(path, "has no counts", "Write one number or one law a line.")
    header = f" (line {lines[0].line}, {shown(','.join(first))}, is read as a header)"
    return _Entries(
        path,
        [_cells_of(path, record, skip) for record in rows],
        lambda row: f"line {rows[row].line}" + header * (has_header and row == 0),
    )


def _is_entry(cell: str) -> bool:
    """Whether a cell is a number or looks like a law, and is thus no header."""
    return "(" in cell or (number(cell) is not None and cell != "")


def _cells_of(path: Path, record: Record, skip: int) -> tuple[str, ...]:
    """Return one or two cells; a law that was cut at its commas is one."""
    cells = [cell.strip() for cell in record.cells[skip:]]
    if len(cells) > 1 and "(" in cells[0]:
        cells = [",".join(cells)]
    if len(cells) not in (1, 2):
        raise StorageError(
            path,
            f"has {len(cells)} cells in line {record.line}, where counts have one or two",
            "Write a number, a lowest and a highest number, or a law such as exactly(3).",
        )
    return tuple(cells)


def _row_counts(entries: _Entries, n_rows: int, missing: CountLaw | None) -> RowCounts:
    """Return the laws of rows; each different entry is read once."""
    if len(entries.cells) != n_rows:
        raise StorageError(
            entries.path,
            f"has counts for {len(entries.cells)} rows, from {entries.place(0)} on, but the data "
            f"have {n_rows}"
            if entries.cells
            else f"has no counts, but the data have {n_rows} rows",
            "Give every row of the data one entry, in the same order.",
        )
    known = [row for row, cells in enumerate(entries.cells) if not all(map(is_missing, cells))]
    first_rows: dict[tuple[str, ...], int] = {}
    for row in known:
        first_rows.setdefault(entries.cells[row], row)
    laws = tuple(_law_of(entries, row, cells) for cells, row in first_rows.items())
    position = {cells: at for at, cells in enumerate(first_rows)}
    law_of_row = np.array([position[entries.cells[row]] for row in known], np.int64)
    found = RowCounts(laws, law_of_row)
    if len(known) == n_rows:
        return found
    return joined(found, np.array(known, np.int64), n_rows, missing)


def _law_of(entries: _Entries, row: int, cells: tuple[str, ...]) -> CountLaw:
    """Return the law of one row, or say where its entry is and what is wrong with it."""
    try:
        return _law(cells)
    except TextError as error:
        problem, remedy = str(error.args[2]), str(error.args[3])
    except InputError as error:
        problem, remedy = f"{error.args[0]} {error.args[1]}", str(error.args[3])
    except RecursionError:
        problem, remedy = "nested too deeply", "Write a simpler law."
    value = ", ".join(shown(cell) for cell in cells)
    raise StorageError(
        entries.path,
        f"has in {entries.place(row)} the count {value}, which {OPTION} cannot read: "
        f"{problem.rstrip('.')}",
        remedy,
    )


def _law(cells: tuple[str, ...]) -> CountLaw:
    whole = [_whole(cell) for cell in cells]
    known = [k for k in whole if k is not None]
    if any(is_missing(cell) for cell in cells):
        remedy = "Leave both empty if the count is not known; write 0 for a lowest one."
        raise InputError("a range", "must have two ends", cells, remedy)
    if len(known) == 2:
        return uniform(*known)
    if len(cells) == 2:
        remedy = "Write the lowest and the highest count."
        raise InputError("a range", "must be two whole numbers", cells, remedy)
    if known:
        return exactly(*known)
    if number(cells[0]) is not None:
        remedy = "Write a whole number from 0 on, or a law."
        raise InputError("a count", "must be a whole number", cells, remedy)
    return parse(cells[0])


def _whole(cell: str) -> int | None:
    """Return the whole number in a cell, exactly; None if there is none."""
    if re.fullmatch(r"[-+]?[0-9]{1,30}", cell):
        return int(cell)
    value = number(cell)
    return int(value) if value is not None and abs(value) < 2**63 and value % 1 == 0 else None
