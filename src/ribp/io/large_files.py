"""`ribp fit --memory` and `--scheduler`: files of which only some rows are in memory at a time.

A `.npy` file is read where it is. A Parquet file is written out as doubles once, beside the run,
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

from ribp.blocks import GROUP
from ribp.counts import RowCounts
from ribp.errors import InputError
from ribp.io.count_options import count_columns, counts_from
from ribp.io.data_file import no_such_column
from ribp.io.formats import kind_of, open_check
from ribp.io.parquet_files import spool_parquet
from ribp.rows.local import LocalStore
from ribp.rows.source import FileSource, npy_source
from ribp.rows.store import RowStore
from ribp.running.estimate import BUDGET
from ribp.threads import memory, n_cores

__all__ = ["Large", "as_bytes", "check_memory", "is_large", "open_large", "remove_copy", "rows_of"]

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_ITSELF = 400 * 10**6  # bytes of Python and its libraries
_COPIES = 6  # of a group of rows, while a thread works on it


class Large(NamedTuple):
    """A file that is read as it is used."""

    source: FileSource
    counts: RowCounts | None
    dim_names: list[str] | None


def as_bytes(text: str) -> int:
    """Return how many bytes 1GiB, 500MB or 2000000 are."""
    found = _SIZE.fullmatch(text)
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None:
        raise InputError(
            "--memory", "must be a size", repr(text), "Write for example 1GiB or 500MB."
        )
    return int(float(found[1]) * unit)


def is_large(path: Path) -> bool:
    """Whether a file is of a kind that can be read in parts, and does not fit into memory twice."""
    try:
        return kind_of(path) in ("npy", "parquet") and 2 * path.stat().st_size > memory()
    except OSError:
        return False


def check_memory(most: int, shape: tuple[int, int], n_features: int) -> None:
    """Raise an `InputError` unless a run of this size stays below `most` bytes."""
    n_rows, n_dims = shape
    packed = n_rows * -(-n_features // 8)
    working = n_cores() * _COPIES * GROUP * max(n_dims, 2 * n_features + 1) * 8
    need = _ITSELF + working + 3 * packed + 2 * max(BUDGET, 3 * packed) + 4 * n_rows * n_features
    if need > most:
        raise InputError(
            "--memory",
            f"must be at least {need / 1e6:.0f} MB for {n_rows} rows and {n_features} features",
            f"{most / 1e6:.0f} MB",
            "Raise it, or use fewer features.",
        )


def rows_of(path: Path, folder: Path, counts: str | None) -> Large:
    """Return the rows of a file, made readable in parts."""
    kind = kind_of(path)
    if kind not in ("npy", "parquet"):
        raise InputError(
            "DATA",
            "must be .npy or .parquet to be read in parts",
            repr(str(path)),
            "Convert it, or leave out --memory and --scheduler.",
        )
    open_check(path, kind)
    aside = () if counts is None else count_columns(counts)
    if kind == "npy":
        if aside:
            raise no_such_column(path, aside[0], [])
        source, file = npy_source(path), None
    else:
        file = spool_parquet(path, aside, folder / "rows.npy")
        source = npy_source(folder / "rows.npy")
    laws = None if counts is None else counts_from(counts, file, source.n_rows)
    return Large(source, laws, None if file is None else file.dim_names)


@contextmanager
def open_large(source: FileSource, scheduler: str | None, scratch: Path) -> Iterator[RowStore]:
    """Give the store of the rows: of this process, or on the workers of a scheduler.

    What rows of a file have beside Z goes to a file without a name in the folder `scratch`.
    """
    if scheduler is None:
        yield LocalStore(source, scratch=scratch)
        return
    from ribp.rows.cluster import connect
    from ribp.rows.dask_store import DaskStore

    client: Any = connect(scheduler)
    try:
        yield DaskStore.of_source(source, client)
    finally:
        client.close()


def remove_copy(folder: Path) -> None:
    """Remove what was written out for a run."""
    (folder / "rows.npy").unlink(missing_ok=True)
