"""How many cores and how much memory there are, linear algebra on one core, memory of a thread.

Matrices of a sweep are small: a second thread makes it slower. The limit holds for the whole
process, so it is set once, around all chains, never by one of them.

To be given fresh memory by the system takes longer than to read or to work out what goes into it.
Whoever needs much of it again and again asks for that of its thread.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_own = threading.local()


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries for linear algebra once: that takes longer than a small sweep."""
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """Return a context in which linear algebra stays on one thread."""
    return _libraries().limit(limits=1, user_api="blas")


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 2**40


def own_memory(name: str, n_bytes: int) -> NDArray[np.uint8]:
    """Return memory of this thread for this name: what it held before is lost."""
    found: NDArray[np.uint8] | None = getattr(_own, name, None)
    if found is None or found.size < n_bytes:
        found = np.empty(n_bytes, np.uint8)
        setattr(_own, name, found)
    return found[:n_bytes]
