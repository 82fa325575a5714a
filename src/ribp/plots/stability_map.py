"""Is each feature the same one in all draws: the share of draws in which it is itself, by chain.

A feature is itself in a draw if it has more than half an overlap with its typical rows
(`ribp.posterior.align`). Chains that found other features than the main mode cannot be compared
feature by feature; they are grey, and say how far they agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from ribp import checks
from ribp.checks import FloatArray
from ribp.plots.layout import check_result, empty_panel, one_panel, whole_numbers
from ribp.plots.reading import places, rarely_used
from ribp.plots.style import GREY, SEQUENTIAL, styled
from ribp.results import Result

_OTHER = "0.88"  # the grey of other modes
_TEXT: Any = {"ha": "center", "va": "center", "fontsize": 7.5, "color": "black"}
_WRITTEN = 16  # features up to which numbers are written into the cells


@styled()
def stability(result: Result, *, most: int = 200, ax: Axes | None = None) -> Axes:
    """Draw for each feature and chain the share of draws in which the feature is itself.

    Features that less than half of the draws use come last, after a line.

    Parameters
    ----------
    most
        Draw at most so many features.
    """
    check_result(result)
    usual, rare = places(result), rarely_used(result)
    shown = np.append(usual, rare)[: checks.integer("most", most, least=1)]
    shares = np.full((result.n_chains, shown.size), np.nan)
    shares[list(result.alignment.chains)] = result.alignment.stability[:, shown]
    width = float(np.clip(3.0 + 0.25 * shown.size, 5.0, 9.5))
    ax = one_panel(ax, width, 1.3 + 0.35 * result.n_chains)
    if shown.size == 0:
        return empty_panel(ax, "No feature is in use in any draw.")
    colours = colormaps[SEQUENTIAL].with_extremes(bad=_OTHER)
    image = ax.imshow(shares, cmap=colours, vmin=0.0, vmax=1.0, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="share of draws")
    _label(ax, result)
    if shown.size <= _WRITTEN:
        _write(ax, shares)
    if usual.size < shown.size:
        ax.axvline(usual.size - 0.5, color="black", lw=1.0)
        ax.set_title(f"features from {usual.size} on: in use in less than half of the draws")
    whole_numbers(ax, "x")
    ax.set_xlabel("feature, the most popular first")
    return ax


def _label(ax: Axes, result: Result) -> None:
    """Name the chains, and say which are in other modes."""
    numbers = result.tree["posterior"]["chain"].to_numpy().tolist()
    ax.set_yticks(range(len(numbers)), [f"chain {number}" for number in numbers])
    ax.tick_params(axis="y", length=0)
    middle = float(np.mean(ax.get_xlim()))
    for mode in result.modes[1:]:
        for chain in mode.chains:
            text = f"other features ({mode.agreement:.0%} agreement)"
            ax.text(middle, chain, text, **_TEXT, bbox={"fc": _OTHER, "ec": "none", "pad": 1})
    for edge in range(1, len(numbers)):
        ax.axhline(edge - 0.5, color=GREY, lw=0.5)


def _write(ax: Axes, shares: FloatArray) -> None:
    for (chain, feature), share in np.ndenumerate(shares):
        if np.isfinite(share):
            colour = "white" if share > 0.6 else "black"
            ax.text(feature, chain, f"{share:.0%}", **_TEXT | {"color": colour})
