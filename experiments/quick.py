"""Quick runs look that a study works, not what it finds: their searches are cut short.

A search is most of the work of a short fit. It makes the same steps, but only few of them: as many
starts as there are chains, hardly repaired. Tests that are not about searches use the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from ribp.search import (
    annealed_counts,
    falling_noise,
    given_rows,
    growth,
    pool,
    repairs,
    starts,
    strength_starts,
)

SHORT: tuple[tuple[Any, str, Any], ...] = (
    (pool, "_LEAST", 1),
    (pool, "_MORE", 0.0),
    (given_rows, "_SETTLING", 2),
    (annealed_counts, "_HOT", (0.8,)),
    (falling_noise, "_SWEEPS", 10),
    (strength_starts, "_SWEEPS", 3),
    (repairs, "MOST_TRIALS", 2),
    (starts, "_STEPS", 5),
    (starts, "_COLD_SWEEPS", 2),
    (starts, "_LEARNING_SWEEPS", 2),
    (starts, "_GROWING_SWEEPS", 5),
    (growth, "_STEPS", 10),
)
"""A module, a name in it, and what takes its place."""


@contextmanager
def short_searches() -> Iterator[None]:
    """Cut searches short while this lasts."""
    with ExitStack() as stack:
        for module, name, short in SHORT:
            stack.enter_context(mock.patch.object(module, name, short))
        yield
