"""The search with one of its parts left out, one at a time.

Nobody but this study wants that, so the library has no option for it: a name or a constant of a
module is replaced for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ribp.likelihoods import linear_gaussian
from ribp.search import pool, repairs, starts


def _annealed(rng: Any, model: Any, data: Any, number: int, tick: Callable[[], None]) -> Any:
    """Return rows that were annealed, whatever the count laws are."""
    search = starts._Search(rng, model, data, tick)
    search.anneal_all()
    return search.rows


WITHOUT: dict[str, tuple[Any, str, Any]] = {
    "no repairs": (repairs, "MOST_TRIALS", 0),
    "no noise units": (linear_gaussian, "noise_units", lambda data: np.ones(data.shape[1])),
    "no recodings": (repairs, "_RECODED", 0.0),
    "no pruning": (repairs.Repairs, "_pruned", lambda self, best: best),
    "no second look": (pool, "_FEW", -1.0),
    "annealed only": (pool, "start_rows", _annealed),
}
"""What is replaced: a module or class, a name in it, and what takes its place."""


@contextmanager
def without(part: str) -> Iterator[None]:
    """Leave out a part of the search; nothing for any other name."""
    if part not in WITHOUT:
        yield
        return
    module, name, other = WITHOUT[part]
    before = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, before)
