"""Searches cut short, for tests that are not about what a search finds."""

from collections.abc import Callable

from experiments.quick import SHORT
from ribp.search import pool


def shorten(put: Callable[..., None] = setattr) -> None:
    """Make as many starts as there are chains, of few steps, and hardly repair them."""
    for one in SHORT:
        put(*one)


def shorten_on_few_rows(put: Callable[..., None] = setattr) -> None:
    """Make short searches, on 150 rows at the most where a search is made on some of them."""
    shorten(put)
    put(pool, "SEARCH_ROWS", 150)
