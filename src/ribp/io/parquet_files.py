"""Parquet, through polars: columns of numbers and of true and false are data; null means missing.

The first column holds the names of the rows as in text files; so does the index that pandas stores.

A file is read by a child process: on a damaged one polars may write reports of its own, or end the
process, which no Python code can catch. The child writes the numbers and then a line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError, StorageError
from ribp.io.array_files import cannot_read
from ribp.io.column_choice import EVERYTHING, ColumnChoice, Roles, set_aside_remedy
from ribp.io.data_file import (
    DataFile,
    check_names,
    check_not_empty,
    check_size,
    is_missing,
    shown,
)

_PANDAS_INDEX = "__index_level_0__"
_PART = 2**16  # rows that are written at once
_CHILD = "from ribp.io.parquet_files import run_as_child; run_as_child()"
_ERRORS: dict[str, type[InputError | StorageError]] = {
    "InputError": InputError,
    "StorageError": StorageError,
}


def polars(path: Path) -> Any:
    """Return the module polars, or say how to install it."""
    if find_spec("polars") is None:
        raise StorageError(
            path,
            "is Parquet, for which polars must be installed",
            "Install it with: pip install 'ribp[polars]', or use CSV.",
        )
    import polars

    return polars


def read_parquet(path: Path, choice: ColumnChoice = EVERYTHING) -> DataFile:
    """Return the table in a Parquet file."""
    description, numbers = _run_child(path, choice, None)
    values = np.frombuffer(bytearray(numbers)).reshape(description.pop("shape"))
    texts = frozenset(description["dim_names"] if choice.as_text else ())
    return DataFile(path, values, texts=texts, **description)


def parquet_names(path: Path) -> list[str]:
    """Return the names of columns in a Parquet file."""
    return list(_run_child(path, EVERYTHING, None, only="names")[0]["names"])


def parquet_types(path: Path, choice: ColumnChoice = EVERYTHING) -> dict[str, str]:
    """Return the types of the columns that are data, by name: bool, integer or number."""
    return dict(_run_child(path, choice, None, only="types")[0]["types"])


def copy_parquet(
    path: Path, choice: ColumnChoice, target: Path, *, row_names: bool = False
) -> DataFile:
    """Write the table in a Parquet file to a .npy file, some rows at a time.

    The table that is returned has names and columns set aside, no rows; names of rows if asked.
    """
    description, _ = _run_child(path, choice, target, row_names=row_names)
    n_dims = description.pop("shape")[1]
    return DataFile(path, np.empty((0, n_dims)), **description)


def _run_child(
    path: Path,
    choice: ColumnChoice,
    target: Path | None,
    *,
    only: str | None = None,
    row_names: bool = True,
) -> tuple[dict[str, Any], bytes]:
    """Return what a child tells of a table, and its numbers unless they went to a file.

    `only` is names or types where nothing else is wanted.
    """
    if find_spec("polars") is None:
        polars(path)
    where = None if target is None else str(target)
    request: list[Any] = [str(path), choice, where, only, row_names]
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _CHILD],
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
        )
        numbers, _, line = child.stdout.rpartition(b"\n")
        description = json.loads(line)
    except (OSError, ValueError):
        raise StorageError(
            path, "is damaged: polars stopped while it read it", "Write or fetch it again."
        ) from None
    if "error" in description:
        name, arguments = description["error"]
        raise _ERRORS[name](*arguments)
    return description, numbers


def run_as_child() -> None:
    """Read the table that standard input names; write numbers and a description to the output."""
    name, given, target, only, row_names = json.loads(sys.stdin.buffer.read())
    choice = ColumnChoice._make(tuple(one) if isinstance(one, list) else one for one in given)
    try:
        if only == "names":
            description: dict[str, Any] = {"names": _names(Path(name))}
        elif only == "types":
            description = {"types": _types(Path(name), choice)}
        elif target is None:
            description = write_numbers(Path(name), choice, sys.stdout.buffer, None, row_names)
        else:
            with Path(target).open("wb") as file:
                description = write_numbers(Path(name), choice, file, _PART, row_names)
    except (InputError, StorageError) as error:
        description = {"error": [type(error).__name__, error.args]}
    sys.stdout.buffer.write(b"\n" + json.dumps(description).encode())


def write_numbers(
    path: Path, choice: ColumnChoice, out: IO[bytes], part: int | None, with_row_names: bool
) -> dict[str, Any]:
    """Write the numbers of a Parquet file as doubles, row by row; return names and other columns.

    With a number of rows `part` it is a .npy file that is written, so many rows at a time.
    """
    with _damage(path):
        frame, names, roles, shape = _scanned(path, choice)
        data, aside, index, _ = roles
        if part is None:
            check_size(path, *shape)
        else:
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(out, header)
        columns: dict[str, list[str | None]] = {names[j]: [] for j in aside}
        row_names: list[str] = []
        for start in range(0, shape[0], part or shape[0]):
            rows = frame.slice(start, part).collect()
            values = np.empty((rows.height, len(data)))
            for k, j in enumerate(data):
                values[:, k] = np.nan if choice.as_text else _numbers(path, rows.to_series(j))
            out.write(values.data)
            for j in aside:
                columns[names[j]] += _cells(rows.to_series(j))
            if index is not None and with_row_names:
                row_names += [cell or "" for cell in _cells(rows.to_series(index))]
    return {
        "dim_names": [names[j] for j in data],
        "row_names": row_names or None,
        "columns": columns,
        "shape": shape,
    }


class _Scanned(NamedTuple):
    """A file of which no numbers were read yet."""

    frame: Any
    """A lazy frame of polars."""
    names: list[str]
    """Of all columns."""
    roles: Roles
    shape: tuple[int, int]
    """Rows and dims."""


def _scanned(path: Path, choice: ColumnChoice) -> _Scanned:
    pl = polars(path)
    frame = pl.scan_parquet(path, glob=False)
    names = frame.collect_schema().names()
    check_names(path, names)
    roles = _roles(frame, path, names, choice)
    shape = (int(frame.select(pl.len()).collect().item()), len(roles.data))
    check_not_empty(path, *shape)
    return _Scanned(frame, names, roles, shape)


def _types(path: Path, choice: ColumnChoice) -> dict[str, str]:
    """Return the types of the columns that are data; raise an error unless they hold numbers."""
    with _damage(path):
        frame, names, roles, _ = _scanned(path, choice)
        dtypes = {names[j]: frame.collect_schema()[names[j]] for j in roles.data}
        for name in (name for name, dtype in dtypes.items() if not _is_number(dtype)):
            _numbers(path, frame.select(name).head(_PART).collect().to_series())
    return {name: _type(dtype) for name, dtype in dtypes.items()}


def _type(dtype: Any) -> str:
    return "bool" if str(dtype) == "Boolean" else "integer" if dtype.is_integer() else "number"


def _names(path: Path) -> list[str]:
    """Return the names of the columns of a file."""
    pl = polars(path)
    with _damage(path):
        return list(pl.scan_parquet(path, glob=False).collect_schema().names())


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn whatever polars raises into a `StorageError`."""
    try:
        yield
    except (InputError, StorageError):
        raise
    except polars(path).exceptions.PanicException as error:  # not an Exception
        raise cannot_read(path, error) from None
    except Exception as error:  # a damaged file can fail anywhere below, in any way
        raise cannot_read(path, error) from error


def _roles(frame: Any, path: Path, names: list[str], choice: ColumnChoice) -> Roles:
    """Return what each column is; a first column named id is data if it cannot be names of rows."""
    if _PANDAS_INDEX in names and choice.id is None and _PANDAS_INDEX not in choice.aside:
        choice = choice._replace(id=_PANDAS_INDEX)
    roles = choice.roles(path, names)
    if not roles.is_guess:
        return roles
    column = frame.select(names[0]).collect().to_series()
    is_name = column.dtype.is_integer() or (
        _is_text(column) and column.null_count() == 0 and column.n_unique() == len(column)
    )
    if is_name or (choice.columns and names[0] not in choice.columns):
        return roles
    return roles._replace(data=[0, *roles.data], id=None)


def _is_text(column: Any) -> bool:
    return str(column.dtype).startswith(("String", "Categorical", "Enum"))


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null")


def _numbers(path: Path, column: Any) -> FloatArray:
    dtype = column.dtype
    if not _is_number(dtype):
        row, value = next(((i, x) for i, x in enumerate(column) if x is not None), (0, None))
        raise StorageError(
            path,
            f"has {dtype} in column {shown(column.name)}, such as {shown(value)} in row {row + 1}",
            set_aside_remedy([column.name]),
        )
    numbers: FloatArray = column.cast(polars(path).Float64).to_numpy()
    return numbers


def _cells(column: Any) -> list[str | None]:
    cells = (None if value is None else str(value).strip() for value in column)
    return [None if cell is None or is_missing(cell) else cell for cell in cells]
