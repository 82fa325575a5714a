"""Figures and panels: made without pyplot, so that nothing is shown or kept open by itself.

A function that draws one panel takes `ax`, one that draws several takes `figure` (a Matplotlib
Figure or SubFigure); without them it makes a `Picture`, which notebooks show when a cell ends with
it, and which `savefig` writes to a file.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ribp.errors import InputError
from ribp.results import Result

AnyFigure = Figure | SubFigure
AxesArray = NDArray[np.object_]

NO_FEATURE = "No feature is in use in half of the draws."
_NARROWEST = 4.2  # inches: captions and legends need them


class Picture(Figure):
    """A figure that notebooks show also where pyplot was never loaded."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()


def one_panel(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw in: those given, or the only ones of a new picture."""
    if ax is None:
        return Picture(width, height).add_subplot()
    check_kind("ax", ax, Axes, "must be Axes of Matplotlib", "Leave it out for a new picture.")
    return ax


def panels(
    figure: AnyFigure | None, number: int, columns: int, width: float, height: float, **shared: Any
) -> AxesArray:
    """Return `number` panels of one size, row by row in a grid; at least one.

    Parameters
    ----------
    figure
        Where to draw; None for a new picture.
    number, columns
        How many panels, and how many of them stand side by side at most.
    width, height
        Of a panel, in inches.
    **shared
        `sharex` and `sharey`, as `Figure.subplots` takes them.
    """
    number = max(number, 1)
    wide = min(number, columns)
    high = -(-number // wide)
    if figure is None:
        figure = Picture(max(width * wide + 0.5, _NARROWEST), height * high + 0.5)
    remedy = "Leave it out for a new picture."
    check_kind("figure", figure, AnyFigure, "must be a Figure of Matplotlib", remedy)
    cells = np.ravel(figure.subplots(high, wide, squeeze=False, **shared))
    for unused in cells[number:]:
        unused.remove()
    for at in range(max(number - wide, 0), number - number % wide if number % wide else 0):
        cells[at].tick_params(labelbottom=True)  # nothing stands below it
    return cells[:number]


def empty_panel(ax: Axes, text: str = NO_FEATURE) -> Axes:
    """Write why there is nothing to draw, and return the Axes."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", wrap=True, transform=ax.transAxes)
    return ax


def whole_numbers(ax: Axes, *directions: str) -> None:
    """Put ticks at whole numbers only."""
    for direction in directions:
        locator = MaxNLocator("auto", integer=True, min_n_ticks=1)
        getattr(ax, f"{direction}axis").set_major_locator(locator)


def check_kind(argument: str, value: Any, kind: Any, rule: str, remedy: str) -> None:
    """Raise an `InputError` unless an argument is of a kind."""
    if not isinstance(value, kind):
        raise InputError(argument, rule, f"a {type(value).__name__}", remedy)


def check_result(value: Any) -> None:
    """Raise an `InputError` unless the first argument of a picture is a result."""
    remedy = "Pass model.result_ of a fitted estimator, or what Result.load returns."
    check_kind("result", value, Result, "must be a Result", remedy)
