"""How many features two rows share: the mean of Z Z' over draws, which needs no names of features.

The diagonal is how many features a row has.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ribp import checks
from ribp.plots.layout import check_result, one_panel, whole_numbers
from ribp.plots.reading import selection
from ribp.plots.style import SEQUENTIAL, styled
from ribp.results import Result


@styled()
def coactivation(
    result: Result, rows: ArrayLike | None = None, most: int = 400, *, ax: Axes | None = None
) -> Axes:
    """Draw how many features each two rows share on average, in the main mode.

    Parameters
    ----------
    rows
        Indices of the rows to draw; all if None. They are sorted as in `activity`.
    most
        Of more rows than this so many are drawn, evenly spaced in that order.
    """
    check_result(result)
    most = checks.integer("most", most, least=1)
    ordered = selection(result, rows).rows
    number = min(most, ordered.size)
    shown = ordered[(np.arange(number) * ordered.size + ordered.size // 2) // number]
    if number == ordered.size:
        shown = ordered
    shared = result.coactivation(shown)
    ax = one_panel(ax, 5.6, 4.7)
    image = ax.imshow(shared, cmap=SEQUENTIAL, vmin=0.0, vmax=float(shared.max()) or 1.0)
    ax.figure.colorbar(image, ax=ax, label="features that two rows share, on average")
    some = "" if number == ordered.size else f"{number} of "
    ax.set_xlabel(f"{some}{ordered.size} rows, sorted by their features")
    ax.set_ylabel("the same rows")
    whole_numbers(ax, "x", "y")
    return ax
