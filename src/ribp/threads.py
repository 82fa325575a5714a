"""How many cores and how much memory there are, linear algebra on one core, memory of a thread.

Matrices of a sweep are small: a second thread makes it slower. The limit holds for the whole
process, so it is set once, around all chains, never by one of them.

To be given fresh memory by the system takes longer than to read or to work out what goes into it.
Whoever needs much of it again and again asks for that of its thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ribp import checks
from ribp.errors import InputError

T = TypeVar("T")
P = ParamSpec("P")
_MOST_JOBS = 10**6
_own = threading.local()


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries for linear algebra once: that takes longer than a small sweep."""
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """Return a context in which linear algebra stays on one thread."""
    return _libraries().limit(limits=1, user_api="blas")


def on_one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function during which linear algebra stays on one thread."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_blas_thread():
            return function(*args, **kwargs)

    return limited


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_workers(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` are: None for one a core, -1 too, -2 for one fewer."""
    if n_jobs is None:
        return n_cores()
    number = checks.integer("n_jobs", n_jobs, least=-_MOST_JOBS)
    if number == 0:
        raise InputError("n_jobs", "must not be 0", number, "Pass 1, or -1 for one a core.")
    return number if number > 0 else max(1, n_cores() + 1 + number)


def in_threads(works: Sequence[Callable[[], T]], n_threads: int, stop: threading.Event) -> list[T]:
    """Return what each work returns, in their order.

    An error, or Ctrl-C, sets `stop`, for works that look at it, and is raised when all have ended.
    """
    if n_threads == 1 or len(works) < 2:
        return [work() for work in works]
    with ThreadPoolExecutor(n_threads, "ribp-search") as pool:
        futures = [pool.submit(work) for work in works]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


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
