"""Names as pictures can hold them: one line, not too long, and never read as a formula.

Matplotlib reads text between dollar signs as mathematics; here a dollar is a dollar. Characters
that the font does not have become the sign for that, instead of a warning.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.font_manager import FontProperties, findfont, get_font
from numpy.typing import NDArray

from ribp.results import Result

_UNKNOWN = "\ufffd"


def plain(text: object, most: int = 24) -> str:
    """Return a text on one line, cut to `most` characters."""
    known = _drawable(tuple(FontProperties().get_family()))
    printable = "".join(one if one.isprintable() else " " for one in str(text))
    line = " ".join(printable.split())
    cut = line if len(line) <= most else line[: most - 1].rstrip() + "…"
    drawn = "".join(one if ord(one) in known else _UNKNOWN for one in cut)
    return drawn.replace("$", r"\$")


@cache
def _drawable(families: tuple[str, ...]) -> frozenset[int]:
    """Return the characters that some of these fonts have."""
    characters: set[int] = set()
    for family in families:
        characters |= get_font(findfont(FontProperties(family=[family]))).get_charmap().keys()
    return frozenset(characters)


def percent(share: float) -> str:
    """Return a share in words: a small one is not nothing."""
    return "<1%" if 0.0 < share < 0.005 else f"{share:.0%}"


def dim_names(result: Result) -> list[str] | None:
    """Return the names of the columns, None if they only have numbers."""
    return _texts(result.tree["features"]["dim"].to_numpy())


def shown_names(result: Result) -> list[str] | None:
    """Return the names of what pictures of features show; None if that is numbered columns."""
    events, names = result.event_names, dim_names(result)
    if events is None or (names is None and len(events) == result.settings["n_dims"]):
        return names
    return events


def row_names(result: Result) -> list[str] | None:
    """Return the names of the rows, None if they only have numbers."""
    return _texts(result.tree["features"]["row"].to_numpy())


def chain_names(result: Result) -> list[str]:
    """Return the name of each chain; those that found other features say so."""
    numbers = result.tree["posterior"]["chain"].to_numpy().tolist()
    main = result.modes[0].chains
    return [
        f"chain {number}" + ("" if at in main else ", other features")
        for at, number in enumerate(numbers)
    ]


def _texts(labels: NDArray[np.generic]) -> list[str] | None:
    return None if labels.dtype.kind in "iu" else [str(label) for label in labels.tolist()]
