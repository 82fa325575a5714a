"""How likely each feature is: its weight with an interval, and the share of rows that have it.

A weight pi_i is the probability of the feature in an unrestricted row. Where the count law forces
rows to have more features than the weights alone would give, shares of rows lie above weights.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ribp import checks
from ribp.plots.layout import check_result, empty_panel, one_panel, whole_numbers
from ribp.plots.reading import SPREAD, places, weight
from ribp.plots.style import BLUE, ORANGE, styled
from ribp.results import Result


@styled()
def weights(result: Result, *, most: int = 100, ax: Axes | None = None) -> Axes:
    """Draw the weight of each feature of the main mode, the most popular first.

    Parameters
    ----------
    most
        Draw at most so many features.
    """
    check_result(result)
    at = places(result)
    shown = at[: checks.integer("most", most, least=1)]
    ax = one_panel(ax, float(np.clip(2.5 + 0.2 * shown.size, 4.6, 9.0)), 3.2)
    if shown.size == 0:
        return empty_panel(ax)
    spreads = np.array([weight(result, place) for place in shown.tolist()])
    mean, low, high = spreads.T
    number = np.arange(shown.size)
    share = result.row_probs()[:, : shown.size].mean(axis=0)
    ax.vlines(number, low, high, color=BLUE, lw=2.5, alpha=0.5, label=SPREAD)
    ax.plot(number, mean, "o", ms=4, color=BLUE, label="weight, mean")
    ax.plot(number, share, "D", ms=4, mfc="none", mec=ORANGE, label="share of rows")
    some = "" if shown.size == at.size else f" ({shown.size} of {at.size})"
    ax.set_xlabel(f"feature, the most popular first{some}")
    ax.set_ylabel("probability")
    ax.set_ylim(bottom=0.0)
    whole_numbers(ax, "x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.0)
    return ax
