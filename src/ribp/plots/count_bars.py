"""How many features rows have, beside what the count law says.

Bars are the share of rows with k features, the mean over draws, with a line for 5% to 95% of draws;
dots are f(k). The law of a row is known or learned; of a learned one the posterior mean is drawn.
An unrestricted buffet has no law: there are only bars. Where sums are restricted k are units.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ribp.plots.labels import plain
from ribp.plots.layout import AnyFigure, AxesArray, check_result, panels, whole_numbers
from ribp.plots.reading import SPREAD, CountShares, count_shares, counted
from ribp.plots.style import BLUE, ORANGE, ink, styled
from ribp.results import Result

_SHARE, _LAW = "found", "count law"
_VISIBLE = 0.002  # shares below this are not worth room


@styled()
def counts(result: Result, *, figure: AnyFigure | None = None) -> AxesArray:
    """Draw how many features rows have, and how many their count law expects.

    Rows of up to four different laws have a panel each; of more laws the average is drawn. The
    Axes that are returned are one a law.
    """
    check_result(result)
    groups = count_shares(result)
    first, last = _ends(groups)
    width = float(np.clip(2.0 + 0.2 * (last - first), 3.0, 5.0))
    axes = panels(figure, len(groups), 2, width, 2.3, sharex=True, sharey=True)
    for ax, group in zip(axes, groups, strict=True):
        _draw(ax, group, first, last)
    axes[0].set_ylim(bottom=0.0)  # of all panels, once the highest bar is known
    for ax in axes[:: 2 if len(axes) > 1 else 1]:
        ax.set_ylabel("share of rows")
    axes[0].figure.supxlabel(f"{counted(result)} of a row")
    parts = dict(zip(*axes[0].get_legend_handles_labels()[::-1], strict=True))
    shown = {name: parts[name] for name in (_SHARE, SPREAD, _LAW) if name in parts}
    axes[0].figure.legend(shown.values(), shown, loc="outside upper center", ncols=3)
    return axes


def _draw(ax: Axes, group: CountShares, first: int, last: int) -> None:
    k = np.arange(first, last + 1)
    mean, low, high = (one[k] for one in group.shares)
    ax.bar(k, mean, width=0.7, color=BLUE, alpha=0.7, label=_SHARE)
    ax.vlines(k, low, high, color=ink(), lw=1.2, label=SPREAD)
    if group.expected is not None:
        law = group.expected[k]
        ax.plot(k, law, "o", ms=5, mfc="white", mec=ORANGE, mew=1.5, label=_LAW)
    rows = "1 row" if group.n_rows == 1 else f"{group.n_rows} rows"
    ax.set_title(f"{_law(group.law)}: {rows}" if group.law else rows)
    ax.set_xlim(first - 0.7, last + 0.7)
    whole_numbers(ax, "x")


def _law(text: str) -> str:
    """Return a law in words; what a learned one began with does not matter here."""
    return "learned" if text.startswith("learned(") else plain(text, 34)


def _ends(groups: list[CountShares]) -> tuple[int, int]:
    """Return the lowest and the highest count worth showing."""
    high = np.max([np.fmax(one.shares.high, one.shares.mean) for one in groups], axis=0)
    for one in groups:
        high = np.fmax(high, 0.0 if one.expected is None else one.expected)
    visible = np.flatnonzero(high > _VISIBLE)
    return int(visible[0]), int(visible[-1])
