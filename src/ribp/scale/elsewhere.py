"""Data that are not in memory, as users hand them over: memory maps and Dask arrays.

`gibbs-rows` and `structured` run where the data are. `stochastic` reads rows as it uses them, from
a memory map; a Dask array is first written to a file for it, in the folder for temporary files. All
other methods need the data in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.errors import InputError
from ribp.scale.in_process import InProcess, Keeper
from ribp.scale.row_methods import METHODS
from ribp.scale.shard import GROUP
from ribp.scale.source import as_source
from ribp.threads import memory

__all__ = ["METHODS", "is_dask", "is_elsewhere", "keeper", "mapped"]

_READING = "stochastic"  # reads rows as it uses them
_REMEDY = 'Use method="gibbs-rows", "structured" or "stochastic".'


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "to_delayed")


def is_elsewhere(X: Any) -> bool:
    """Whether X may be larger than memory."""
    return is_dask(X) or isinstance(X, np.memmap)


@contextmanager
def keeper(X: Any) -> Iterator[Keeper]:
    """Give whoever has the rows of X, and let go of them in the end."""
    found: Keeper
    if is_dask(X):
        from ribp.scale.dask_runner import DaskKeeper

        found = DaskKeeper.of_array(X)
    else:
        found = InProcess(as_source(X))
    try:
        yield found
    finally:
        found.close()


@contextmanager
def mapped(X: Any, method: str) -> Iterator[NDArray[Any]]:
    """Give X as a matrix that numpy can index; refuse what the method could not hold."""
    if method != _READING:
        _refuse(X, method)
    if not is_dask(X):
        yield X
        return
    with tempfile.TemporaryDirectory(prefix="ribp-") as folder:
        yield _spooled(X, Path(folder) / "data.npy")


def _refuse(X: Any, method: str) -> None:
    if is_dask(X):
        raise InputError("X", f'must be in memory with method="{method}"', "a Dask array", _REMEDY)
    size, most = X.size * 8, memory()
    if 2 * size > most:
        raise InputError(
            "X",
            f'must fit into memory twice with method="{method}"',
            f"{size / 1e9:.3g} GB, and this machine has {most / 1e9:.3g} GB",
            _REMEDY,
        )


def _spooled(X: Any, path: Path) -> NDArray[Any]:
    """Write a Dask array to a file, some rows at a time, and return it as a memory map."""
    into = np.lib.format.open_memmap(path, "w+", np.float64, X.shape)
    for start in range(0, X.shape[0], 16 * GROUP):
        at = slice(start, start + 16 * GROUP)
        into[at] = X[at].compute()
    into.flush()
    found: NDArray[Any] = np.load(path, mmap_mode="r")
    return found
