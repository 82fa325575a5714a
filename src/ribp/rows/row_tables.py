"""What rows have, as a table: in memory, or in a file of which some rows are read.

A checkpoint has files of its own (`save`, `SavedTable`).
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.errors import StorageError
from ribp.files import write_atomically
from ribp.threads import own_memory

Array = NDArray[Any]


class Parts(Protocol):
    """Something that gives some of its rows: an array, or a file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows, how wide."""

    def __getitem__(self, at: slice, /) -> Array:
        """Return rows at.start .. at.stop - 1."""


class Table(Protocol):
    """Rows of numbers that change."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    def read(self, start: int, stop: int) -> Array:
        """Return some rows; they last until this thread reads again."""

    def write(self, start: int, values: Array) -> None:
        """Put rows from `start` on."""

    def following(self) -> Table:
        """Return where the next rows go: itself, or new memory if the old must stay."""


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """An array. What follows is another one: tasks on a cluster may be run again."""

    array: Array

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.array)

    def __sizeof__(self) -> int:
        """Return what it takes: Dask asks."""
        return self.array.nbytes

    def read(self, start: int, stop: int) -> Array:
        """Return some rows."""
        return self.array[start:stop]

    def write(self, start: int, values: Array) -> None:
        """Put rows from `start` on."""
        self.array[start : start + len(values)] = values

    def following(self) -> MemoryTable:
        """Return new memory."""
        return MemoryTable(np.empty_like(self.array))


class FileTable:
    """Doubles in a file without a name. It is changed in place.

    Parameters
    ----------
    folder
        Where there is room for it.
    shape
        Rows, and numbers in each.
    """

    def __init__(self, folder: Path, shape: tuple[int, int]) -> None:
        self._folder, self.n_rows, self._row = folder, shape[0], 8 * shape[1]
        self._width, self._lock = shape[1], threading.Lock()
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - it stays open
                prefix="ribp-", dir=self._folder, buffering=0
            )
            weakref.finalize(self, self._file.close)
            self._file.truncate(shape[0] * self._row)
        except OSError as error:
            raise self._trouble(error) from None

    def read(self, start: int, stop: int) -> Array:
        """Return some rows."""
        space = own_memory("table", (stop - start) * self._row)
        with self._lock:
            self._file.seek(start * self._row)
            left = space.data
            while left:
                left = left[self._file.readinto(left) :]  # type: ignore[attr-defined]
        return space.view(np.float64).reshape(-1, self._width)

    def write(self, start: int, values: Array) -> None:
        """Put rows from `start` on."""
        left = np.ascontiguousarray(values, dtype=np.float64).data.cast("B")
        try:
            with self._lock:
                self._file.seek(start * self._row)
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:
            raise self._trouble(error) from None

    def following(self) -> FileTable:
        """Return this table."""
        return self

    def _trouble(self, error: OSError) -> StorageError:
        return StorageError(
            self._folder,
            f"cannot hold what all rows have ({error.strerror or error})",
            "Make room there, or set TMPDIR to another folder.",
        )


# On disk, for later


def save(path: Path, n_rows: int, parts: Iterable[Array]) -> None:
    """Write a table as a `.npy` file, some rows at a time."""

    def write(file: IO[bytes]) -> None:
        for number, part in enumerate(parts):
            if number == 0:
                descr = np.lib.format.dtype_to_descr(part.dtype)
                shape = n_rows, part.shape[1]
                header = {"descr": descr, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
            file.write(np.ascontiguousarray(part).data)

    write_atomically(path, write)


class SavedTable:
    """A table that was saved; rows are read as they are asked for."""

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise StorageError(path, "is missing", _AFRESH) from None
        except (OSError, ValueError, EOFError):
            raise StorageError(path, "is damaged or of another kind", _AFRESH) from None
        if found.shape != shape:
            size = " rows of ".join(map(str, found.shape))
            raise StorageError(path, f"has {size} numbers, not {shape[0]} of {shape[1]}", _AFRESH)
        self.path, self.shape, self.dtype = path, shape, found.dtype
        self._offset = found.offset

    def __getitem__(self, at: slice, /) -> Array:
        """Return some rows."""
        width = self.shape[1]
        where = self._offset + at.start * width * self.dtype.itemsize
        number = (at.stop - at.start) * width
        return np.fromfile(self.path, self.dtype, number, offset=where).reshape(-1, width)


_AFRESH = "Start the run afresh in a new folder."
