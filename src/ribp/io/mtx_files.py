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

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import StorageError
from ribp.io.data_file import DataFile, check_size, shown
from ribp.io.text_records import opened

_BANNER = (
    ("%%matrixmarket",),
    ("matrix",),
    ("coordinate", "array"),
    ("real", "double", "integer", "pattern"),
    ("general", "symmetric", "skew-symmetric"),
)


def read_mtx(path: Path) -> DataFile:
    """Return the matrix in a MatrixMarket file, plain or compressed by gzip."""
    lines = _lines(path)
    layout, field, symmetry = _banner(path, next(lines)[1])
    shape, n_entries = _sizes(path, layout, symmetry, *next(lines, (0, b"")))
    if layout == "coordinate":
        entries = _numbers(path, lines, 2 if field == "pattern" else 3, shape)
        rows, dims = entries[:, :2].astype(np.int64).T - 1
        numbers = entries[:, 2] if entries.shape[1] == 3 else np.ones(len(entries))
    else:
        numbers = _numbers(path, lines, 1, None)[:, 0]
        rows, dims = _array_places(shape, symmetry)
        n_entries = len(rows)
    if len(numbers) != n_entries:
        raise StorageError(
            path,
            f"is damaged: it has {len(numbers)} entries, but its line of sizes says {n_entries}",
            "Write or fetch it again.",
        )
    values = np.zeros(shape)
    np.add.at(values, (rows, dims), numbers)
    if symmetry != "general":
        off = rows != dims
        sign = -1 if symmetry == "skew-symmetric" else 1
        np.add.at(values, (dims[off], rows[off]), sign * numbers[off])
    return DataFile(path, values)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the banner and then the lines that are neither blank nor comments, with numbers."""
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1 or (line.strip() and not line.lstrip().startswith(b"%")):
                yield number, line


def _banner(path: Path, line: bytes) -> list[str]:
    """Return layout, field and symmetry."""
    words = line.decode("ascii", "replace").lower().split()
    if len(words) != len(_BANNER):
        raise _wrong(path, 1, f"has {len(words)} words, not {len(_BANNER)}", line)
    for word, allowed in zip(words, _BANNER, strict=True):
        if word not in allowed:
            raise _wrong(path, 1, f"has {shown(word)} where {' or '.join(allowed)} belongs", line)
    if words[2:4] == ["array", "pattern"]:
        raise _wrong(path, 1, "says that an array is a pattern", line)
    return words[2:]


def _sizes(
    path: Path, layout: str, symmetry: str, number: int, line: bytes
) -> tuple[tuple[int, int], int]:
    """Return the shape, and the number of entries if the file tells it."""
    parts = line.split()
    n_sizes = 3 if layout == "coordinate" else 2
    if not parts:
        raise StorageError(path, "has no line of sizes", "Write or fetch it again.")
    if len(parts) != n_sizes or not all(p.isdigit() and len(p) < 19 for p in parts):
        raise _wrong(path, number, f"must hold {n_sizes} sizes", line)
    n_rows, n_dims, *n_entries = (int(part) for part in parts)
    if symmetry != "general" and n_rows != n_dims:
        raise _wrong(path, number, f"gives a {symmetry} matrix that is not square", line)
    check_size(path, n_rows, n_dims)
    return (n_rows, n_dims), n_entries[0] if n_entries else 0


def _array_places(shape: tuple[int, int], symmetry: str) -> tuple[IntArray, IntArray]:
    """Return row and column of each entry of the layout `array`, column by column."""
    dims, rows = (at.ravel() for at in np.indices(shape[::-1]))
    if symmetry == "general":
        return rows, dims
    below = rows > dims if symmetry == "skew-symmetric" else rows >= dims
    return rows[below], dims[below]


def _numbers(
    path: Path, lines: Iterator[tuple[int, bytes]], width: int, shape: tuple[int, int] | None
) -> FloatArray:
    """Return the numbers of each line; with a shape, a line begins with a place in it."""
    numbers = array("d")
    for number, line in lines:
        try:
            entry = [float(part) for part in line.split()]
        except ValueError:
            raise _wrong(path, number, "holds text", line) from None
        if len(entry) != width or b"_" in line:
            raise _wrong(path, number, f"must hold {width} numbers", line)
        for at, size in zip(entry, shape or (), strict=False):
            if not (1 <= at <= size and at.is_integer()):
                raise _wrong(path, number, "names a place outside the matrix", line)
        numbers.extend(entry)
    return np.asarray(numbers, dtype=np.float64).reshape(-1, width)


def _wrong(path: Path, number: int, problem: str, line: bytes) -> StorageError:
    text = shown(line.decode("ascii", "replace").strip())
    return StorageError(
        path, f"is damaged: line {number} {problem}: {text}", "Write or fetch it again."
    )
