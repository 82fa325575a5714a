"""Writing tables for users: CSV, NPY, NPZ or Parquet, as the end of the name tells.

A file is written under another name in the same folder, forced to the disk, and renamed: a path
has a whole table or what it had before. Doubles are written so that they read back the same;
missing entries are empty cells in CSV and null in Parquet. CSV and Parquet carry names, with those
of the rows in a first column `id` and labels after it; NPY and NPZ carry numbers only, a sparse
matrix in NPZ as SciPy saves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ribp.errors import InputError, StorageError
from ribp.files import write_atomically
from ribp.io.data_file import ROW_NAME_HEADERS, is_missing, listed, number, shown
from ribp.io.parquet_files import polars

ROW_NAMES = "id"
Texts = dict[str, list[str]]
"""Columns of text by name, before the numbers."""
_BLOCK = 1000
_PLAIN = re.compile('[^,;\\t\\r\\n"\\ufeff]+')


class Blocks(NamedTuple):
    """A table that is made while it is written, some rows at a time."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    parts: Iterable[Any]
    """Matrices, one below the other."""


def write_table(
    path: str | Path,
    values: Any,
    *,
    dim_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[str | None]] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a table, all of it or nothing.

    Parameters
    ----------
    path
        Of the file, ending in .csv, .npy, .npz or .parquet; its folder must exist.
    values
        Real numbers of shape (rows, dims), an array or a SciPy sparse matrix; NaN means missing. Or
        `Blocks`: CSV and NPY are then written as they come.
    dim_names
        The names of the columns, all different; x1, x2, ... if None.
    row_names
        The names of the rows.
    labels
        Other columns, of text, by name; None means missing.
    overwrite
        Whether a file that is there may be replaced.
    """
    path = Path(path)
    write = _writer(path)
    values = values if isinstance(values, Blocks) else _checked(values)
    names = [f"x{j + 1}" for j in range(values.shape[1])] if dim_names is None else dim_names
    dims = [*map(str, names)]
    texts = {} if row_names is None else {ROW_NAMES: [*map(str, row_names)]}
    for name, column in (labels or {}).items():
        texts[str(name)] = ["" if text is None else str(text) for text in column]
    _check_names(dims, texts, values.shape)
    check_target(path, overwrite)
    try:
        write_atomically(path, lambda file: write(path, file, values, dims, texts))
    except UnicodeEncodeError as error:
        bad = shown(error.object[error.start : error.end])
        raise InputError("names", "must be valid Unicode", bad, "Correct that name.") from None
    except (InputError, StorageError, MemoryError):
        raise
    except Exception as error:  # of the disk, or of whichever library writes the format
        raise _cannot_write(path, error) from error


def check_target(path: Path, overwrite: bool) -> None:
    """Raise an error unless a table may be written there."""
    try:
        folder, there, is_folder = path.parent.is_dir(), path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from None
    if not folder:
        raise StorageError(
            path, "cannot be written: there is no such folder", "Create the folder first."
        )
    if is_folder:
        raise StorageError(path, "is a folder", "Add the name of a file, such as rows.csv.")
    _writer(path)
    if there and not overwrite:
        raise StorageError(path, "is there already", "Pass --overwrite, or another path.")


def _writer(path: Path) -> Callable[[Path, IO[bytes], Any, list[str], Texts], None]:
    """Return what writes the format that the end of a name tells."""
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        rule = f"must end in {', '.join(_WRITERS)}"
        raise InputError("--out", rule, repr(str(path)), "Choose one of these formats.")
    return write


def _cannot_write(path: Path, error: Exception) -> StorageError:
    reason = getattr(error, "strerror", None) or error
    return StorageError(path, f"cannot be written: {reason}", "Choose another folder or name.")


def _checked(values: Any) -> Any:
    """Return an array or a CSR matrix of real numbers without infinite ones."""
    try:
        values = values.tocsr() if hasattr(values, "tocsr") else np.asarray(values)
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        kind = f"shape {np.shape(values)}" if hasattr(values, "shape") else type(values).__name__
        remedy = "Pass numbers of shape (rows, dims)."
        raise InputError("values", "must be a matrix of real numbers", kind, remedy) from None
    stored = {"b": np.int8, "f": np.float64}.get(values.dtype.kind, values.dtype)
    values = values.astype(stored, copy=False)
    numbers = values.data if hasattr(values, "tocsr") else values
    if np.isinf(numbers).any():
        raise InputError("values", "must be finite", "an infinite value", "Use NaN for missing.")
    return values


def _check_names(dims: list[str], texts: Texts, shape: tuple[int, ...]) -> None:
    for argument, names, n in [
        ("dim_names", dims, shape[1]),
        *(("row_names", column, shape[0]) for column in texts.values()),
    ]:
        if len(names) != n:
            raise InputError(argument, f"must be {n} names", f"{len(names)}", "Name each once.")
    stripped = [name.strip() for name in [*dims, *texts]]
    if len(set(stripped)) < len(stripped) or "" in stripped:
        raise InputError(
            "dim_names",
            f"must differ, and from {ROW_NAMES!r}",
            listed([*dims, *texts]),
            "Rename one.",
        )
    words = any(number(name) is None for name in dims)
    numbers = any(number(name) is not None and not is_missing(name) for name in dims)
    taken = stripped[0].lower() in ROW_NAME_HEADERS if dims and not texts else False
    if taken or (words and numbers) or (dims and not texts and not words):
        raise InputError(
            "dim_names",
            "must read back as names of columns: words, and first none for names of rows",
            listed(dims),
            "Rename them, for example to x1, x2, ...",
        )


def _csv(path: Path, file: IO[bytes], values: Any, dims: list[str], texts: Texts) -> None:
    names = [*texts, *dims]
    file.write((",".join(map(_quoted, names)) + "\n").encode())
    empty = '""' if len(names) == 1 else ""  # a blank line would not be read
    start = 0
    for part in _parts(values):
        block = part.tolist()
        lines = [",".join(empty if x != x else repr(x) for x in row) for row in block]
        before = [map(_quoted, column[start : start + len(part)]) for column in texts.values()]
        lines = [",".join(cells) for cells in zip(*before, lines, strict=True)]
        file.write("".join(f"{line}\n" for line in lines).encode())
        start += len(part)


def _parts(values: Any) -> Iterator[Any]:
    """Yield a table some rows at a time."""
    if isinstance(values, Blocks):
        yield from map(_checked, values.parts)
        return
    for start in range(0, values.shape[0], _BLOCK):
        yield _dense(values[start : start + _BLOCK])


def _whole(values: Any) -> Any:
    """Return a table at once."""
    return np.concatenate(list(_parts(values))) if isinstance(values, Blocks) else values


def _quoted(text: str) -> str:
    """Return a text as a cell, in quotes if it would be read otherwise without them."""
    plain = _PLAIN.fullmatch(text) and text == text.strip()
    return text if plain else '"' + text.replace('"', '""') + '"'


def _npy(path: Path, file: IO[bytes], values: Any, dims: list[str], texts: Texts) -> None:
    if not isinstance(values, Blocks):
        np.save(file, _dense(values), allow_pickle=False)
        return
    header = {"descr": values.dtype.str, "fortran_order": False, "shape": values.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for part in _parts(values):
        file.write(np.ascontiguousarray(part, dtype=values.dtype).data)


def _npz(path: Path, file: IO[bytes], values: Any, dims: list[str], texts: Texts) -> None:
    if hasattr(values, "tocsr"):
        import scipy.sparse

        scipy.sparse.save_npz(file, values)
    else:
        np.savez_compressed(file, values=_whole(values))


def _parquet(path: Path, file: IO[bytes], values: Any, dims: list[str], texts: Texts) -> None:
    pl = polars(path)
    names = {name: pl.Series(column, dtype=pl.String) for name, column in texts.items()}
    columns = {
        name: pl.Series(column, nan_to_null=True)
        for name, column in zip(dims, np.asarray(_dense(_whole(values))).T, strict=True)
    }
    pl.DataFrame(names | columns).write_parquet(file)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "tocsr") else values


_WRITERS: dict[str, Callable[[Path, IO[bytes], Any, list[str], Texts], None]] = {
    ".csv": _csv,
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
}
