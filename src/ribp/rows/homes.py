"""From what users hold to a row store: memory maps are read as used, Dask arrays stay put.

A home for rows says which objects are its own, and opens a `RowStore` for one. What no home owns is
read into memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ribp.plugins import Registry
from ribp.rows.dask_store import DaskStore, is_dask
from ribp.rows.local import LocalStore
from ribp.rows.source import as_source
from ribp.rows.store import RowStore


class Home(ABC):
    """Where rows are that may be more than memory holds."""

    @staticmethod
    @abstractmethod
    def owns(X: Any) -> bool:
        """Return whether X is an object of this home, without a look at its rows."""

    @staticmethod
    @abstractmethod
    def open(X: Any) -> RowStore:
        """Return the row store of X; whoever opened it closes it."""


class MemoryMaps(Home):
    """Files, as `numpy.load(path, mmap_mode="r")` gives them."""

    @staticmethod
    def owns(X: Any) -> bool:
        """Return whether X is a memory map."""
        return isinstance(X, np.memmap)

    @staticmethod
    def open(X: Any) -> RowStore:
        """Return a store that reads rows of the file as they are used."""
        return LocalStore(as_source(X))


class DaskArrays(Home):
    """Dask arrays."""

    owns = staticmethod(is_dask)
    open = staticmethod(DaskStore.of_array)


HOMES: Registry[type[Home]] = Registry(
    "home", "ribp.rows.homes", Home, {"memory-map": MemoryMaps, "dask": DaskArrays}
)
register = HOMES.register


def home_of(X: Any) -> type[Home] | None:
    """Return the home of an object, None if it is read into memory."""
    return next((home for home in map(HOMES.__getitem__, HOMES) if home.owns(X)), None)
