"""Parquet, through polars: columns of numbers and of true and false are data; null means missing.

The first column holds the names of the rows as in text files; so does the index that pandas stores.

A file is read by a child process: on a damaged one polars may write reports of its own, or end the
process, which no Python code can catch. The child answers with a line of JSON and then the numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError, StorageError
from ribp.io.array_files import cannot_read
from ribp.io.data_file import (
    ROW_NAME_HEADERS,
    DataFile,
    check_names,
    check_size,
    is_missing,
    set_aside,
    shown,
)

_PANDAS_INDEX = "__index_level_0__"
_PART = 2**16  # rows that are written at once
_CHILD = "from ribp.io.parquet_files import answer; answer()"
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


def read_parquet(path: Path, exclude: Sequence[str] = ()) -> DataFile:
    """Return the table in a Parquet file; columns named in `exclude` are set aside."""
    answered, numbers = _asked(path, [str(path), list(exclude), None])
    values = np.frombuffer(bytearray(numbers)).reshape(answered.pop("shape"))
    return DataFile(path, "parquet", values, **answered)


def spool_parquet(path: Path, exclude: Sequence[str], target: Path) -> DataFile:
    """Write the table in a Parquet file to a .npy file, some rows at a time.

    The table that is returned has names and columns set aside, no rows.
    """
    answered, _ = _asked(path, [str(path), list(exclude), str(target)])
    shape = answered.pop("shape")
    return DataFile(path, "parquet", np.empty((0, shape[1])), **answered)


def _asked(path: Path, question: list[Any]) -> tuple[dict[str, Any], bytes]:
    """Return what a child answers."""
    if find_spec("polars") is None:
        polars(path)
    asked = json.dumps(question).encode()
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _CHILD], input=asked, capture_output=True, check=False
        )
        line, _, numbers = child.stdout.partition(b"\n")
        answered = json.loads(line)
    except (OSError, ValueError):
        raise StorageError(
            path, "is damaged: polars stopped while it read it", "Write or fetch it again."
        ) from None
    if "error" in answered:
        name, arguments = answered["error"]
        raise _ERRORS[name](*arguments)
    return answered, numbers


def answer() -> None:
    """Be the child: read what standard input asks for, answer on standard output."""
    name, exclude, target = json.loads(sys.stdin.buffer.read())
    numbers = b""
    told: dict[str, Any]
    try:
        if target is not None:
            told = _spooled(Path(name), exclude, Path(target))
        else:
            file = table(Path(name), exclude)
            told = {key: getattr(file, key) for key in ("dim_names", "row_names", "columns")}
            told["shape"] = file.values.shape
            numbers = file.values.tobytes()
    except (InputError, StorageError) as error:
        told = {"error": [type(error).__name__, error.args]}
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + numbers)


def table(path: Path, exclude: Sequence[str]) -> DataFile:
    """Return the table in a Parquet file, read by this process."""
    frame = _frame(path)
    names = list(frame.columns)
    check_names(path, names)
    aside = set_aside(path, names, exclude)
    index = _index(frame, aside)
    data = [j for j in range(len(names)) if j not in aside and j != index]
    check_size(path, frame.height, len(data))
    values = np.empty((frame.height, len(data)))
    for k, j in enumerate(data):
        values[:, k] = _numbers(path, frame.to_series(j))
    return DataFile(
        path,
        "parquet",
        values,
        [names[j] for j in data],
        None if index is None else [cell or "" for cell in _cells(frame.to_series(index))],
        {names[j]: _cells(frame.to_series(j)) for j in aside},
    )


def _spooled(path: Path, exclude: Sequence[str], target: Path) -> dict[str, Any]:
    """Write numbers to a file, and return names and columns set aside; names of rows are lost."""
    pl = polars(path)
    try:
        whole = pl.scan_parquet(path)
        n_rows = int(whole.select(pl.len()).collect().item())
        first = whole.head(_PART).collect()
        names = list(first.columns)
        check_names(path, names)
        aside = set_aside(path, names, exclude)
        index = _index(first, aside)
        data = [j for j in range(len(names)) if j not in aside and j != index]
        if not n_rows or not data:
            raise StorageError(path, "has no rows of data", "Name a file with rows and columns.")
        columns: dict[str, list[str | None]] = {names[j]: [] for j in aside}
        header = {"descr": "<f8", "fortran_order": False, "shape": (n_rows, len(data))}
        with target.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, n_rows, _PART):
                part = whole.slice(start, _PART).collect()
                values = np.empty((part.height, len(data)))
                for k, j in enumerate(data):
                    values[:, k] = _numbers(path, part.to_series(j))
                file.write(values.data)
                for j in aside:
                    columns[names[j]] += _cells(part.to_series(j))
    except (InputError, StorageError):
        raise
    except pl.exceptions.PanicException as error:  # not an Exception
        raise cannot_read(path, error) from None
    except Exception as error:  # a damaged file can fail anywhere below, in any way
        raise cannot_read(path, error) from error
    shape = (n_rows, len(data))
    return {"dim_names": [names[j] for j in data], "columns": columns, "shape": shape}


def _frame(path: Path) -> Any:
    pl = polars(path)
    try:
        with path.open("rb") as file:
            return pl.read_parquet(file)
    except pl.exceptions.PanicException as error:  # not an Exception
        raise cannot_read(path, error) from None
    except Exception as error:  # a damaged file can fail anywhere below, in any way
        raise cannot_read(path, error) from error


def _index(frame: Any, aside: Sequence[int]) -> int | None:
    """Return the position of the column that holds the names of the rows, if there is one."""
    names = list(frame.columns)
    if _PANDAS_INDEX in names:
        found = names.index(_PANDAS_INDEX)
        return None if found in aside else found
    if not names or 0 in aside or names[0].lower() not in ROW_NAME_HEADERS:
        return None
    column = frame.to_series(0)
    is_name = column.dtype.is_integer() or (
        _is_text(column) and column.null_count() == 0 and column.n_unique() == len(column)
    )
    return 0 if is_name else None


def _is_text(column: Any) -> bool:
    return str(column.dtype).startswith(("String", "Categorical", "Enum"))


def _numbers(path: Path, column: Any) -> FloatArray:
    dtype = column.dtype
    if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
        row, value = next(((i, x) for i, x in enumerate(column) if x is not None), (0, None))
        raise StorageError(
            path,
            f"has {dtype} in column {shown(column.name)}, such as {shown(value)} in row {row + 1}",
            "Convert that column to numbers, or set it aside.",
        )
    numbers: FloatArray = column.cast(polars(path).Float64).to_numpy()
    return numbers


def _cells(column: Any) -> list[str | None]:
    cells = (None if value is None else str(value).strip() for value in column)
    return [None if cell is None or is_missing(cell) else cell for cell in cells]
