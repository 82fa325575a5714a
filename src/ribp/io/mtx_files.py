"""MatrixMarket: a banner, comments, a line of sizes, and one entry a line.

    %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric

An entry of `coordinate` is its row and its column, from 1, and its value (1 in a `pattern`);
entries that are not listed are zeros, and those listed twice add up. The entries of `array` are all
values, column by column; of a symmetric matrix, those below and, but for `skew-symmetric`, on the
diagonal.
NaN means missing.

This is read here and not by SciPy, whose reader (1.17.1) ended the process on a damaged file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import StorageError
from ribp.io.data_file import DataFile, check_size, shown
from ribp.io.text_records import opened

_FORMATS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


class _Banner(NamedTuple):
    layout: str
    field: str
    symmetry: str


class _Entries(NamedTuple):
    rows: IntArray
    dims: IntArray
    values: FloatArray


def read_mtx(path: Path) -> DataFile:
    """Return the matrix in a MatrixMarket file, plain or compressed by gzip."""
    lines = _lines(path)
    banner = _banner(path, next(lines)[1])
    shape, n_entries = _sizes(path, banner, next(lines, (0, b"")))
    if banner.layout == "coordinate":
        entries = _coordinates(path, banner, shape, n_entries, lines)
    else:
        entries = _array(path, banner, shape, lines)
    values = np.zeros(shape)
    np.add.at(values, (entries.rows, entries.dims), entries.values)
    if banner.symmetry != "general":
        off = entries.rows != entries.dims
        sign = -1 if banner.symmetry == "skew-symmetric" else 1
        mirrored = entries.dims[off], entries.rows[off]
        np.add.at(values, mirrored, sign * entries.values[off])
    return DataFile(path, "mtx", values)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the banner and then the lines that are neither blank nor comments, with numbers."""
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1 or (line.strip() and not line.lstrip().startswith(b"%")):
                yield number, line


def _banner(path: Path, line: bytes) -> _Banner:
    words = line.decode("ascii", "replace").lower().split()
    allowed = (("%%matrixmarket",), ("matrix",), _FORMATS, _FIELDS, _SYMMETRIES)
    if len(words) != 5:
        raise _wrong(path, 1, f"has {len(words)} words, not 5", line)
    for word, known in zip(words, allowed, strict=True):
        if word not in known:
            raise _wrong(path, 1, f"has {shown(word)} where {' or '.join(known)} belongs", line)
    if words[2:4] == ["array", "pattern"]:
        raise _wrong(path, 1, "says that an array is a pattern", line)
    return _Banner(*words[2:])


def _sizes(path: Path, banner: _Banner, numbered: tuple[int, bytes]) -> tuple[tuple[int, int], int]:
    """Return the shape, and the number of entries if the file tells it."""
    number, line = numbered
    parts = line.split()
    n_sizes = 3 if banner.layout == "coordinate" else 2
    if not parts:
        raise StorageError(path, "has no line of sizes", "Write or fetch it again.")
    if len(parts) != n_sizes or not all(p.isdigit() and len(p) < 19 for p in parts):
        raise _wrong(path, number, f"must hold {n_sizes} sizes", line)
    n_rows, n_dims, *n_entries = (int(part) for part in parts)
    if banner.symmetry != "general" and n_rows != n_dims:
        raise _wrong(path, number, f"gives a {banner.symmetry} matrix that is not square", line)
    check_size(path, n_rows, n_dims)
    return (n_rows, n_dims), n_entries[0] if n_entries else 0


def _coordinates(
    path: Path,
    banner: _Banner,
    shape: tuple[int, int],
    n_entries: int,
    lines: Iterator[tuple[int, bytes]],
) -> _Entries:
    found = _numbers(path, lines, 2 if banner.field == "pattern" else 3, shape)
    if len(found) != n_entries:
        raise _wrong_count(path, len(found), n_entries)
    at = found[:, :2].astype(np.int64) - 1
    values = found[:, 2] if found.shape[1] == 3 else np.ones(len(found))
    return _Entries(at[:, 0], at[:, 1], values)


def _array(
    path: Path, banner: _Banner, shape: tuple[int, int], lines: Iterator[tuple[int, bytes]]
) -> _Entries:
    found = _numbers(path, lines, 1, None)[:, 0]
    dims, rows = (at.ravel() for at in np.indices(shape[::-1]))  # column by column
    if banner.symmetry != "general":
        below = rows > dims if banner.symmetry == "skew-symmetric" else rows >= dims
        rows, dims = rows[below], dims[below]
    if len(found) != len(rows):
        raise _wrong_count(path, len(found), len(rows))
    return _Entries(rows, dims, found)


def _numbers(
    path: Path, lines: Iterator[tuple[int, bytes]], width: int, shape: tuple[int, int] | None
) -> FloatArray:
    """Return one row a line; if a shape is given, a line begins with a place in it."""
    found = array("d")
    for number, line in lines:
        parts = line.split()
        try:
            entry = [float(part) for part in parts]
        except ValueError:
            raise _wrong(path, number, "holds text", line) from None
        if len(entry) != width or b"_" in line:
            raise _wrong(path, number, f"must hold {width} numbers", line)
        if shape is not None:
            for at, size in zip(entry, shape, strict=False):
                if not (1 <= at <= size and at.is_integer()):
                    raise _wrong(path, number, "names a place outside the matrix", line)
        found.extend(entry)
    flat = np.frombuffer(found, dtype=np.float64) if found else np.empty(0)
    return flat.reshape(-1, width)


def _wrong(path: Path, number: int, problem: str, line: bytes) -> StorageError:
    text = shown(line.decode("ascii", "replace").strip())
    return StorageError(
        path, f"is damaged: line {number} {problem}: {text}", "Write or fetch it again."
    )


def _wrong_count(path: Path, found: int, claimed: int) -> StorageError:
    return StorageError(
        path,
        f"is damaged: it has {found} entries, but its line of sizes says {claimed}",
        "Write or fetch it again.",
    )
