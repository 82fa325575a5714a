"""The one decorator that compiles a kernel.

Compiled code is kept on disk where that is possible. Numba notices an edit of the file that holds
a kernel but not of the helpers it calls from other files, so the folder of the cache carries a
digest of every source file in `ribp.kernels`: any edit means a new folder, and stale code is never
served. Folders are tried in this order: the user's NUMBA_CACHE_DIR, ``__pycache__`` beside the
kernels, the user's cache folder. If none can be written the kernels are compiled in each process.
A shared temporary folder is never used, because compiled code found there could be anybody's.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

_CONFIG: Any = numba.config
_KERNELS = Path(__file__).parent
_LOCK = threading.Lock()


def sources_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all Python files in `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    if _CONFIG.CACHE_DIR:
        yield Path(_CONFIG.CACHE_DIR)
    yield _KERNELS / "__pycache__"
    cache_home = os.environ.get("XDG_CACHE_HOME")
    if cache_home:
        yield Path(cache_home) / "ribp"
    try:
        yield Path.home() / ".cache" / "ribp"
    except RuntimeError:  # no home folder at all
        return


def cache_folder() -> Path | None:
    """Return the first folder that can be written, or None."""
    name = f"compiled-{sources_digest(_KERNELS)}"
    for parent in _candidates():
        try:
            (parent / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=parent / name).close()
        except OSError:
            continue
        return parent / name
    return None


_CACHE = cache_folder()


@contextmanager
def _cache_in(folder: Path | None) -> Iterator[None]:
    """Let numba see `folder` as its cache while one function is decorated."""
    with _LOCK:
        before = _CONFIG.CACHE_DIR
        _CONFIG.CACHE_DIR = str(folder or before)
        try:
            yield
        finally:
            _CONFIG.CACHE_DIR = before


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` at its first call, without the interpreter lock, cached where possible.

    Floating point stays strict (no reassociation), so results are the same bit for bit everywhere
    the same instructions are. Integer division by zero is not checked.
    """
    with _cache_in(_CACHE):
        compiled: Callable[..., Any] = numba.njit(
            nogil=True, error_model="numpy", cache=_CACHE is not None
        )(function)
    return compiled
