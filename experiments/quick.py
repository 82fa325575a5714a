"""Quick runs look that a study works, not what it finds: their searches are cut short.

A search is most of the work of a short fit. It makes the same steps, but only few of them: one
start for all chains, hardly repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from ribp.search import falling_noise, growth, pool, repairs, starts, strength_starts

SHORT: tuple[tuple[Any, str, Any], ...] = (
    (pool, "_LEAST", 1),
    (pool, "_MORE", 0.0),
    (pool, "_FEW", -1.0),
    (repairs, "MOST_TRIALS", 5),
    (starts, "_STEPS", 20),
    (starts, "_GROWING_SWEEPS", 20),
    (growth, "_STEPS", 20),
    (falling_noise, "_SWEEPS", 20),
    (strength_starts, "_SWEEPS", 5),
)
"""A module, a name in it, and what takes its place."""


@contextmanager
def short_searches() -> Iterator[None]:
    """Cut searches short while this lasts."""
    with ExitStack() as stack:
        for module, name, short in SHORT:
            stack.enter_context(mock.patch.object(module, name, short))
        yield
