"""A Dask cluster as runs need it: it answers, has workers, and all have the versions of the driver.

Versions of Python, ribp, numpy, scipy and numba must be the same everywhere: the driver asks all
workers at the start, and every task that makes rows checks again, since workers may come later.
"""

from __future__ import annotations

import asyncio
import platform
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from typing import Any

from ribp.errors import InputError
from ribp.threads import one_blas_thread
from ribp.version import __version__

PATIENCE = 20.0
"""Seconds to wait for a scheduler, and for its first worker."""
_PACKAGES = ("numpy", "scipy", "numba")


# What workers do


@cache
def versions() -> dict[str, str]:
    """Return the versions on which every bit may depend."""
    found = {"python": platform.python_version(), "ribp": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def ready(expected: dict[str, str]) -> None:
    """Make a worker's process one of ours: one thread for linear algebra, the same versions."""
    one_blas_thread()  # from now on: this process does nothing else
    if versions() != expected:
        raise RuntimeError(_differ(expected, "a worker that came later", versions()))


def _differ(here: dict[str, str], worker: str, there: dict[str, str]) -> str:
    pairs = [
        f"{name} {there.get(name, 'missing')} instead of {here[name]}"
        for name in here
        if here[name] != there.get(name)
    ]
    return f"{worker} has {', '.join(pairs)}"


# What the driver does


def distributed() -> Any:
    """Return the module distributed, or say how to install it."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "X",
            "must not be on a cluster unless Dask is installed",
            "no module distributed",
            "Install it with: pip install 'ribp[dask]'.",
        ) from None
    return distributed


def connect(address: str | None = None, *, patience: float = PATIENCE, **options: Any) -> Any:
    """Return a client of the scheduler at an address; of a new cluster here if there is none.

    Parameters
    ----------
    address
        Such as tcp://10.0.0.1:8786, or tls://...; certificates are those of Dask's configuration,
        or `security` in `options`.
    patience
        Seconds to wait for it.
    options
        Of `distributed.Client`.
    """
    dask = distributed()
    if address is None:
        return dask.Client(processes=True, threads_per_worker=1, dashboard_address=None, **options)
    security = options.get("security") or dask.Security()
    try:
        with ThreadPoolExecutor(1) as apart:  # there may be a loop in this thread already
            apart.submit(asyncio.run, _answer(address, patience, security)).result()
        return dask.Client(address, timeout=patience, **options)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            "scheduler",
            f"must answer within {patience:g} seconds",
            f"{address}: {str(error) or type(error).__name__}",
            "Check the address, the scheduler and its certificates.",
        ) from None


async def _answer(address: str, patience: float, security: Any) -> None:
    """Ask a scheduler who it is: a client would wait without end for one that says nothing."""
    from distributed.comm import connect
    from distributed.core import send_recv

    async def ask() -> None:
        arguments = security.get_connection_args("client")
        comm = await connect(address, timeout=patience, **arguments)
        try:
            await send_recv(comm, op="identity")
        finally:
            comm.abort()

    await asyncio.wait_for(ask(), patience)


def n_workers(client: Any, patience: float) -> int:
    """Return how many workers there are, once there is one and all have our versions."""
    try:
        client.wait_for_workers(1, timeout=patience)
        found = client.run(versions)
    except (TimeoutError, OSError):
        raise InputError(
            "scheduler", f"must have a worker within {patience:g} seconds", "none", "Start workers."
        ) from None
    except ModuleNotFoundError as error:
        raise InputError(
            "scheduler", "must have workers with ribp installed", str(error), "Install it there."
        ) from None
    here = versions()
    for worker, there in sorted(found.items()):
        if there != here:
            raise InputError(
                "scheduler",
                "must have workers with the versions of the client",
                _differ(here, f"worker {worker}", there),
                "Install the same versions everywhere.",
            )
    return len(found)
