"""How many cores there are, and keeping linear algebra on one of them.

Matrices of a sweep are small: a second thread makes it slower. The limit holds for the whole
process, so it is set once, around all chains, never by one of them.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["n_cores", "one_blas_thread"]


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
