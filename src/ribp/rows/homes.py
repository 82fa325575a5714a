"""From what users hold to a row store: memory maps are read as used, Dask arrays stay put."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ribp.rows.dask_store import DaskStore, is_dask
from ribp.rows.local import LocalStore
from ribp.rows.source import as_source
from ribp.rows.store import RowStore

__all__ = ["is_large", "open_store"]


def is_large(X: Any) -> bool:
    """Whether X may be larger than memory."""
    return is_dask(X) or isinstance(X, np.memmap)


@contextmanager
def open_store(X: Any) -> Iterator[RowStore]:
    """Give the store of a memory map or a Dask array, and let go of it in the end."""
    store: RowStore = DaskStore.of_array(X) if is_dask(X) else LocalStore(as_source(X))
    try:
        yield store
    finally:
        store.close()
