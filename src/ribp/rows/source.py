"""Where the data of rows come from, a range at a time: data in memory, an array, or a file.

Files are read, not mapped: a file that was cut short is then an error with a name, and pages that
were read do not count as memory of the process. Every thread reads into memory of its own, again
and again the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError, StorageError
from ribp.likelihoods.data import ALL_SEEN, Data
from ribp.threads import own_memory

_REAL = "biuf"


At = slice | IntArray
"""Which rows: a range, or numbers that rise."""


class Source(Protocol):
    """Data of rows."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""

    def read(self, at: At, complete: bool) -> Data:
        """Return the data of some rows; they last until this thread reads again.

        `complete` if nothing is missing in any row of the run.
        """


@dataclass(frozen=True, eq=False)
class MemorySource:
    """Data that were validated (`ribp.likelihoods.validation.as_data`)."""

    data: Data
    name: str = "X"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""
        return self.data.shape

    def read(self, at: At, complete: bool) -> Data:
        """Return the data of some rows."""
        return self.data.rows(at)


@dataclass(frozen=True, eq=False)
class ArraySource:
    """An array in memory, NaN where data are missing."""

    array: NDArray[Any]
    name: str = "X"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""
        return self.array.shape[0], self.array.shape[1]

    def read(self, at: At, complete: bool) -> Data:
        """Return the data of some rows."""
        return _as_data(np.ascontiguousarray(self.array[at], dtype=np.float64), complete)


@dataclass(frozen=True)
class FileSource:
    """Numbers in a file, row after row, from some byte on."""

    path: str
    offset: int
    dtype: str
    n_rows: int
    n_dims: int

    @property
    def name(self) -> str:
        """The file."""
        return self.path

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""
        return self.n_rows, self.n_dims

    def read(self, at: At, complete: bool) -> Data:
        """Return the data of some rows; single ones are read one by one."""
        if isinstance(at, slice):
            return _as_data(self._range(at.start, at.stop), complete)
        if at.size and at[-1] - at[0] == at.size - 1:
            return _as_data(self._range(int(at[0]), int(at[-1]) + 1).copy(), complete)
        rows = np.empty((at.size, self.n_dims))
        for into, row in zip(rows, at.tolist(), strict=True):
            into[:] = self._range(row, row + 1)[0]
        return _as_data(rows, complete)

    def _range(self, start: int, stop: int) -> FloatArray:
        dtype = np.dtype(self.dtype)
        space = own_memory("rows", (stop - start) * self.n_dims * dtype.itemsize)
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self.offset + start * self.n_dims * dtype.itemsize)
                got = _fill(file, space.data)
        except OSError as error:
            raise self._unreadable(start, stop, str(error.strerror or error)) from None
        if got < space.size:
            raise self._unreadable(start, stop, "the file ends before them")
        return np.ascontiguousarray(space.view(dtype).reshape(-1, self.n_dims), dtype=np.float64)

    def _unreadable(self, start: int, stop: int, reason: str) -> StorageError:
        return StorageError(
            self.path,
            f"cannot be read in rows {start} to {stop - 1} ({reason})",
            "Check that it is whole, and that this machine sees it.",
        )


def _as_data(values: FloatArray, complete: bool) -> Data:
    """Return rows with NaN where missing as data; all of a run have a mask, or none of them."""
    if complete:
        return Data(values, ALL_SEEN)
    observed = ~np.isnan(values)
    return Data(np.where(observed, values, 0.0), observed)


def _fill(file: Any, space: memoryview) -> int:
    """Read until a space is full or the file ends, and return how many bytes there were."""
    got = 0
    while got < len(space):
        more = file.readinto(space[got:])
        if not more:
            break
        got += more
    return got


def npy_source(path: str | Path) -> FileSource:
    """Return the matrix in a `.npy` file as a source; nothing is unpickled."""
    where = Path(path).resolve()
    try:
        with where.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                version, np.lib.format.read_array_header_2_0
            )
            shape, by_column, dtype = read(file)
            offset = file.tell()
    except OSError as error:
        raise StorageError(where, f"cannot be read ({error.strerror})", "Check the path.") from None
    except (ValueError, EOFError) as error:
        raise StorageError(where, f"is not a .npy file ({error})", "Write it again.") from None
    if dtype.kind not in _REAL or len(shape) != 2 or 0 in shape:
        raise StorageError(
            where, f"holds {dtype} of shape {shape}, not a matrix of numbers", "Save one matrix."
        )
    if by_column and 1 not in shape:
        raise StorageError(
            where,
            "holds its numbers column after column, which cannot be read by rows",
            "Save np.ascontiguousarray(X) instead.",
        )
    need = offset + math.prod(shape) * dtype.itemsize
    if where.stat().st_size < need:
        whole = max((where.stat().st_size - offset) // (shape[1] * dtype.itemsize), 0)
        raise StorageError(
            where,
            f"cannot be read in rows {whole} to {shape[0] - 1} (the file ends before them)",
            "Write or fetch it again.",
        )
    return FileSource(str(where), offset, dtype.str, *shape)


def as_source(X: Any) -> Source:
    """Return an array, or a memory map, as a source."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or 0 in X.shape or X.dtype.kind not in _REAL:
        raise InputError(
            "X",
            "must be a matrix of real numbers with at least one row and one column",
            f"{getattr(X, 'dtype', type(X).__name__)} of shape {getattr(X, 'shape', None)}",
            "Convert it first.",
        )
    whole = isinstance(X, np.memmap) and not isinstance(X.base, np.ndarray)
    if whole and X.flags.c_contiguous and isinstance(X.filename, str | Path):  # type: ignore[attr-defined]
        path = str(Path(X.filename).resolve())  # type: ignore[attr-defined]
        return FileSource(path, X.offset, X.dtype.str, *X.shape)  # type: ignore[attr-defined]
    return ArraySource(np.asarray(X))
