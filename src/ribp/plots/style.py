"""How pictures look: colours, line styles, colour maps and sizes, in one place.

Colours are those of Okabe and Ito, which people who confuse red and green can tell apart. Chains
differ by colour and by line style. Maps of shares go from white to dark, and print well in grey.
The style holds inside `styled` only: the settings of the user are as before when it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context, rcParams

BLUE, ORANGE = "#0072B2", "#D55E00"
GREY = "0.6"
SEQUENTIAL = "Blues"
"""From nothing to much."""
SIGNED = "RdBu_r"
"""From below zero to above."""
BAND = 0.25
"""How opaque the spread of draws is."""

_COLOURS = [BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F"]
_LINES: list[Any] = ["-", "--", "-.", (0, (1.5, 0.8))]  # the last: dots close together
_SETTINGS: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "figure.labelsize": 9.0,
    "figure.titlesize": 10.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": False,
    "image.interpolation": "nearest",
    "text.usetex": False,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style."""
    with rc_context(_SETTINGS):
        yield


def line(chain: int) -> dict[str, Any]:
    """Return colour and line style of a chain: twenty-eight chains look different."""
    return {"color": _COLOURS[chain % len(_COLOURS)], "linestyle": _LINES[chain % len(_LINES)]}


def ink() -> str:
    """Return the colour of text, which stands out whatever the background is."""
    return str(rcParams["text.color"])
