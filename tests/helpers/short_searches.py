"""Searches cut short, for tests that are not about what a search finds.

A search is most of the work of a short fit. The same steps are made, only few of them.
"""

from collections.abc import Callable

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


def shorten(put: Callable[..., None] = setattr) -> None:
    """Make as many starts as there are chains, of few steps, and hardly repair them."""
    put(pool, "_LEAST", 1)
    put(pool, "_MORE", 0.0)
    put(given_rows, "_SETTLING", 2)
    put(annealed_counts, "_HOT", (0.8,))
    put(falling_noise, "_SWEEPS", 10)
    put(strength_starts, "_SWEEPS", 3)
    put(repairs, "MOST_TRIALS", 2)
    put(starts, "_STEPS", 5)
    put(starts, "_COLD_SWEEPS", 2)
    put(starts, "_LEARNING_SWEEPS", 2)
    put(starts, "_GROWING_SWEEPS", 5)
    put(growth, "_STEPS", 10)


def shorten_on_few_rows(put: Callable[..., None] = setattr) -> None:
    """Make short searches, on 150 rows at the most where a search is made on some of them."""
    shorten(put)
    put(pool, "SEARCH_ROWS", 150)
