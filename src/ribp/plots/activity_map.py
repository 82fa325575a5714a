"""Which row has which feature: a map of P(z_ni = 1), rows by features.

With many rows a line of the map is the mean over neighbours, and the label says of how many.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray
from ribp.plots.labels import plain, row_names
from ribp.plots.layout import check_result, empty_panel, one_panel, whole_numbers
from ribp.plots.reading import Selection, selection
from ribp.plots.style import SEQUENTIAL, styled
from ribp.results import Result

_NAMED = 30  # rows up to which their names are written


@styled()
def activity(
    result: Result, *, rows: ArrayLike | None = None, most: int = 400, ax: Axes | None = None
) -> Axes:
    """Draw the probability that each row has each feature of the main mode.

    Parameters
    ----------
    rows
        Indices of the rows to draw; all if None. They are sorted: those with the most popular
        feature first, among them those with the second one, and so on.
    most
        With more rows than this each line of the map is the mean over neighbours.
    """
    check_result(result)
    most = checks.integer("most", most, least=1)
    chosen = selection(result, rows)
    n_rows, n_features = chosen.probs.shape
    ax = one_panel(ax, float(np.clip(2.5 + 0.2 * n_features, 4.0, 9.0)), 4.5)
    if n_features == 0:
        return empty_panel(ax)
    lines, size = _averaged(chosen.probs, most)
    image = ax.imshow(
        lines,
        cmap=SEQUENTIAL,
        vmin=0.0,
        vmax=1.0,
        aspect="auto",
        extent=(-0.5, n_features - 0.5, n_rows - 0.5, -0.5),
    )
    ax.figure.colorbar(image, ax=ax, label="P(row has feature)")
    ax.set_xlabel("feature, the most popular first")
    ax.set_ylabel(_label(n_rows, size))
    whole_numbers(ax, "x", "y")
    _name_rows(ax, result, chosen)
    return ax


def _averaged(probs: FloatArray, most: int) -> tuple[FloatArray, int]:
    """Return at most so many lines, and of how many rows each is the mean (the last of fewer)."""
    size = -(-len(probs) // most)
    starts = np.arange(0, len(probs), size)
    sizes = np.diff(np.append(starts, len(probs)))
    return np.add.reduceat(probs, starts, axis=0) / sizes[:, None], size


def _label(n_rows: int, size: int) -> str:
    if size == 1:
        return f"{n_rows} rows, sorted by their features"
    return f"{n_rows} rows, sorted by their features\n(each line: mean of {size} rows)"


def _name_rows(ax: Axes, result: Result, chosen: Selection) -> None:
    """Write the names of rows, if they have any and there is room."""
    if chosen.rows.size > _NAMED:
        return
    names = row_names(result)
    shown = [plain(i if names is None else names[i], 20) for i in chosen.rows.tolist()]
    ax.set_yticks(range(len(shown)), shown, fontsize=min(8.0, 220.0 / len(shown)))
