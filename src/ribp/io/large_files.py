"""`ribp fit --memory` and `--scheduler`: files of which only some rows are in memory at a time.

A `.npy` file is read where it is. A Parquet file is copied as doubles once, beside the run,
and read from there in every sweep; the copy goes when the run is done. Workers of a scheduler read
the same path: it must be on a disk that they share. What variational methods store of every row is
beside the run as well, or in the memory of workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ribp.blocks import GROUP
from ribp.counts import CountLaw, RowCounts
from ribp.errors import InputError
from ribp.io.count_options import check_law, counts_from, missing_law
from ribp.io.data_file import DataFile, no_such_column
from ribp.io.exposure_options import exposure_from
from ribp.io.formats import check_start, kind_of
from ribp.io.input_options import InputOptions
from ribp.io.parquet_files import copy_parquet, parquet_types
from ribp.kinds.choice import unseen_columns
from ribp.kinds.given_columns import GivenColumn
from ribp.rows.local import LocalStore
from ribp.rows.source import FileSource, npy_source
from ribp.rows.store import RowStore
from ribp.running.estimate import BUDGET
from ribp.threads import n_cores

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_ITSELF = 400 * 10**6  # bytes of Python and its libraries
_COPIES = 6  # of a group of rows, while a thread works on it
_EXPOSURE = 100  # bytes of a row: its exposure, and the text that it was read as


def as_bytes(text: str) -> int:
    """Return how many bytes 1GiB, 500MB or 2000000 are."""
    size = _SIZE.fullmatch(text)
    unit = None if size is None else _UNITS.get(size[2].lower())
    if size is None or unit is None:
        raise InputError(
            "--memory", "must be a size", repr(text), "Write for example 1GiB or 500MB."
        )
    return int(float(size[1]) * unit)


def check_memory(most: int, shape: tuple[int, int], n_features: int, row_bytes: int = 0) -> None:
    """Raise an `InputError` unless a run of this size stays below `most` bytes.

    `row_bytes` are those that rows have beside features, such as exposures.
    """
    n_rows, n_dims = shape
    packed = n_rows * -(-n_features // 8)
    working = n_cores() * _COPIES * GROUP * max(n_dims, 2 * n_features + 1) * 8
    need = _ITSELF + working + 3 * packed + 2 * max(BUDGET, 3 * packed) + 4 * n_rows * n_features
    need += n_rows * row_bytes
    if need > most:
        raise InputError(
            "--memory",
            f"must be at least {need / 1e6:.0f} MB for {n_rows} rows and {n_features} features",
            f"{most / 1e6:.0f} MB",
            "Raise it, or use fewer features.",
        )


class OpenFile(NamedTuple):
    """A file that is read in parts, while it is open."""

    store: RowStore
    counts: RowCounts | None
    file: DataFile | None
    """Names, and columns that were set aside; None if it has none."""
    exposure: Any = None
    """Of each row, "learn", or None."""


class Header(NamedTuple):
    """The columns of a file that are data, of which nothing was read yet."""

    names: list[str] | None
    """None if the file has no names."""
    columns: list[GivenColumn]
    """Their names or numbers and their types."""


class LargeFile(NamedTuple):
    """A file that is read in parts, and the options of its fit."""

    path: Path
    options: InputOptions
    """What the file holds."""
    memory: str | None
    """The option --memory."""
    scheduler: str | None
    """The address of a Dask scheduler; None to read the file in this process."""
    n_features: int
    """The number of features for which there must be memory."""
    dims: tuple[str, ...] | None = None
    """Names of columns that a file with names must have, in the order of the data."""
    missing: CountLaw | None = None
    """The law of rows whose count is missing, where no option says it; None to learn it."""
    row_names: bool = False
    """Whether names of rows are wanted."""

    def check(self) -> None:
        """Raise an error if file or options are wrong, as far as can be told without a copy."""
        if self._kind() == "npy":
            self._rows(npy_source(self.path), None)
        else:
            self._most_bytes()
            check_law(self.options.counts)
            missing_law(self.options.counts_missing)

    def header(self) -> Header:
        """Return names and types of the columns that are data, before anything is copied."""
        if self._kind() == "npy":
            source = npy_source(self.path)
            return Header(None, unseen_columns(range(source.n_dims), np.dtype(source.dtype)))
        types = parquet_types(self.path, self.options.choice(self.dims))
        return Header(
            list(types), [GivenColumn(name, one, np.empty(0)) for name, one in types.items()]
        )

    @contextmanager
    def opened(self, folder: Path) -> Iterator[OpenFile]:
        """Yield the rows, their count laws and names.

        Copies, and what rows have beside Z, go to files in `folder`.
        """
        copy = folder / "rows.npy"
        try:
            if self._kind() == "npy":
                source, file = npy_source(self.path), None
            else:
                choice = self.options.choice(self.dims)
                file = copy_parquet(self.path, choice, copy, row_names=self.row_names)
                source = npy_source(copy)
            counts = self._rows(source, file)
            with _store(source, self.scheduler, folder) as store:
                yield OpenFile(store, counts, file, exposure_from(self.options.exposure, file))
        finally:
            copy.unlink(missing_ok=True)

    def _kind(self) -> str:
        """Return npy or parquet, of a file that exists."""
        kind = kind_of(self.path)
        if kind not in ("npy", "parquet"):
            raise InputError(
                "DATA",
                "must be .npy or .parquet to be read in parts",
                repr(str(self.path)),
                "Convert it, or leave out --memory and --scheduler.",
            )
        check_start(self.path, kind)
        return kind

    def _rows(self, source: FileSource, file: DataFile | None) -> RowCounts | None:
        """Return the count laws of rows, which must fit into memory."""
        most = self._most_bytes()
        if most is not None:
            own = _EXPOSURE if self.options.exposure else 0
            check_memory(most, source.shape, self.n_features, own)
        choice = self.options.choice()
        if file is None and not choice.is_empty:
            raise no_such_column(self.path, choice.first_name(), [])
        missing = missing_law(self.options.counts_missing) or self.missing
        return counts_from(self.options.counts, file, source.n_rows, missing)

    def _most_bytes(self) -> int | None:
        return None if self.memory is None else as_bytes(self.memory)


@contextmanager
def _store(source: FileSource, scheduler: str | None, folder: Path) -> Iterator[RowStore]:
    """Yield the store of the rows: of this process, or on the workers of a scheduler."""
    if scheduler is None:
        yield LocalStore(source, scratch=folder)
        return
    from ribp.rows.cluster import connect
    from ribp.rows.dask_store import DaskStore

    client: Any = connect(scheduler)
    try:
        yield DaskStore.of_source(source, client)
    finally:
        client.close()
