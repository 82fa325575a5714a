"""What the features look like: one panel a feature, the most popular first.

A panel shows the mean component A_i over the draws in which some row has the feature, and as a band
or a bar what 5% to 95% of these draws say. It is a line over the columns, an image where columns
are pixels, or bars of the largest values where columns have names. Where columns have kinds it
shows by how much the feature raises the probability of each level, or of numbers above the usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.plots.labels import percent, plain, shown_names
from ribp.plots.layout import AnyFigure, AxesArray, check_result, empty_panel, panels, whole_numbers
from ribp.plots.reading import SPREAD, component, places
from ribp.plots.style import BAND, BLUE, GREY, ORANGE, SEQUENTIAL, SIGNED, ink, styled
from ribp.posterior.feature_spread import Spread
from ribp.results import Result

_BARS = 8  # in a panel
DOTS = 20
"""Columns up to which they are marked."""
_DENSE = 500  # columns from which on lines are thin
_NEGATIVE = 0.1  # share of the largest value from which on negative ones have a colour


@styled()
def features(
    result: Result,
    *,
    shape: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
    axis: ArrayLike | tuple[ArrayLike, str] | None = None,
    most: int = 24,
    figure: AnyFigure | None = None,
) -> AxesArray:
    """Draw the features of the main mode, numbered as in `components_`, one panel each.

    Parameters
    ----------
    shape
        Height and width, if a row of the data is an image: draw images.
    names
        Names of the columns: draw bars of the largest values. Columns that had names in the fit
        have them without this.
    axis
        Where the columns stand, such as frequencies, or such numbers and a label for them:
        draw lines over them.
    most
        Draw at most so many features.
    """
    check_result(result)
    most = checks.integer("most", most, least=1)
    n_dims, called = len(result.event_names or ()) or result.settings["n_dims"], shown_names(result)
    at = places(result)
    shown = at[:most]
    spreads = [component(result, place) for place in shown.tolist()]
    if shape is not None:
        axes = _images(figure, spreads, checked_shape(shape, n_dims))
    elif axis is None and (names is not None or called):
        what = "values" if result.event_names is None else "changes of probability"
        axes = _bars(figure, spreads, _checked_names(names or called, n_dims), what)
    else:
        axes = _lines(figure, spreads, *checked_axis(axis, n_dims))
    if not spreads:
        empty_panel(axes[0])
    _titles(axes, result, shown, ": " if shape is None else "\n")
    if at.size > shown.size:
        text = f"the {shown.size} most popular of {at.size} features"
        axes[0].figure.suptitle(text)
    return axes


def _titles(axes: AxesArray, result: Result, shown: IntArray, between: str) -> None:
    shares = result.row_probs()[:, : shown.size].mean(axis=0)
    known = len(result.model.likelihood.known)
    for number, (ax, share) in enumerate(zip(axes, shares, strict=False)):
        kind = "known " if number < known else ""
        name = plain(result.feature_names[number])
        ax.set_title(f"{kind}{name}{between}{percent(share)} of rows")


def _lines(figure: AnyFigure | None, spreads: list[Spread], x: FloatArray, label: str) -> AxesArray:
    axes = panels(figure, len(spreads), 4, 2.4, 1.5, sharex=True, sharey=True)
    order = np.argsort(x, kind="stable")
    marker = "o" if x.size <= DOTS else ""
    width = 1.2 if x.size <= _DENSE else 0.5
    for ax, (mean, low, high) in zip(axes, spreads, strict=False):
        ax.axhline(0.0, color=GREY, lw=0.6, zorder=0)
        ax.fill_between(x[order], low[order], high[order], color=BLUE, alpha=BAND, lw=0)
        ax.plot(x[order], mean[order], color=BLUE, marker=marker, ms=3, lw=width)
        if x.size == 1:  # a band of no width
            ax.vlines(x, low, high, color=BLUE, alpha=BAND, lw=4)
    if np.array_equal(x, np.arange(x.size)):
        whole_numbers(axes[0], "x")
    _caption(axes, f"{label} (line: mean; band: {SPREAD})", spreads)
    return axes


def _bars(
    figure: AnyFigure | None, spreads: list[Spread], names: Sequence[str], what: str
) -> AxesArray:
    number = min(_BARS, len(names))
    axes = panels(figure, len(spreads), 4, 2.5, 0.5 + 0.16 * number, sharex=True)
    for ax, spread in zip(axes, spreads, strict=False):
        largest = np.argsort(-np.abs(spread.mean), kind="stable")[:number]
        mean, low, high = (one[largest] for one in spread)
        y = np.arange(number)
        ax.barh(y, mean, color=np.where(mean < 0, ORANGE, BLUE), height=0.7, alpha=0.8)
        ax.hlines(y, low, high, color=ink(), lw=1.0)
        ax.axvline(0.0, color=GREY, lw=0.6)
        ax.set_yticks(y, [plain(names[i], 16) for i in largest])
        ax.set_ylim(number - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
    if number < len(names):
        what = f"the {number} largest {what}"
    _caption(axes, f"{what} (bar: mean; line: {SPREAD})", spreads)
    return axes


def _images(figure: AnyFigure | None, spreads: list[Spread], shape: tuple[int, int]) -> AxesArray:
    wide = float(np.clip(1.4 * shape[1] / shape[0], 1.1, 3.0))
    columns = max(int(9.0 / wide), 1)
    axes = panels(figure, len(spreads), min(columns, 6), wide, 1.7)
    look = colours(np.array([one.mean for one in spreads]))
    for ax, spread in zip(axes, spreads, strict=False):
        image = draw_image(ax, spread.mean.reshape(shape), look)
    if spreads:
        bar = axes[0].figure.colorbar(image, ax=list(axes), label="mean", shrink=0.8)
        bar.outline.set_visible(False)
    return axes


def colours(values: FloatArray) -> dict[str, Any]:
    """Return one colour map for all images: from zero, or around it; NaN does not count."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    size = max(abs(low), abs(high)) or 1.0
    if low < -_NEGATIVE * size:
        return {"cmap": SIGNED, "norm": Normalize(-size, size)}
    return {"cmap": SEQUENTIAL, "norm": Normalize(0.0, size)}


def draw_image(ax: Axes, values: FloatArray, look: dict[str, Any]) -> AxesImage:
    """Draw an image with a frame and without ticks."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    return ax.imshow(values, **look)


def _caption(axes: AxesArray, text: str, spreads: list[Spread]) -> None:
    if spreads:
        axes[0].figure.supxlabel(text)


def checked_shape(shape: Any, n_dims: int) -> tuple[int, int]:
    """Return height and width of an image."""
    sizes = tuple(checks.integers("shape", shape, least=1).ravel().tolist())
    if len(sizes) != 2 or sizes[0] * sizes[1] != n_dims:
        raise InputError(
            "shape", f"must be a height and a width with {n_dims} pixels", shape, "Correct it."
        )
    return sizes[0], sizes[1]


def _checked_names(names: Any, n_dims: int) -> list[str]:
    texts = [str(name) for name in names]
    if len(texts) != n_dims:
        raise InputError("names", f"must be {n_dims} names", len(texts), "Name every column.")
    return texts


def checked_axis(axis: Any, n_dims: int) -> tuple[FloatArray, str]:
    """Return where columns stand, and a label."""
    if axis is None:
        return np.arange(n_dims, dtype=np.float64), "column"
    labelled = isinstance(axis, tuple) and len(axis) == 2 and isinstance(axis[1], str)
    values, label = axis if labelled else (axis, "column")
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.shape != (n_dims,) or not np.isfinite(x).all():
        raise InputError(
            "axis",
            f"must be {n_dims} numbers, or a pair of such numbers and a label",
            axis,
            "Pass for example (frequencies, 'frequency (Hz)').",
        )
    return x, plain(label, 60)
