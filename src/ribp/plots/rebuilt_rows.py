"""Rows of the data beside what their features make of them: one panel a row.

What features make of row n is the mean over draws of b + sum_i z_ni A_i. Entries that are missing
in the data are left out of them, and are there in what is rebuilt.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Data
from ribp.plots.feature_panels import DOTS, checked_axis, checked_shape, colours, draw_image
from ribp.plots.labels import plain, row_names
from ribp.plots.layout import AnyFigure, AxesArray, check_kind, check_result, panels
from ribp.plots.reading import checked_rows
from ribp.plots.style import BLUE, GREY, styled
from ribp.results import Result

_NAMED = 5  # features in a title
_Pair = tuple[FloatArray, FloatArray, str]  # a row of the data, as rebuilt, and its title


@styled()
def rebuilt(
    result: Result,
    data: Data,
    *,
    rows: ArrayLike | None = None,
    shape: tuple[int, int] | None = None,
    axis: ArrayLike | tuple[ArrayLike, str] | None = None,
    most: int = 6,
    figure: AnyFigure | None = None,
) -> AxesArray:
    """Draw rows of the data, and the sum of their features.

    Parameters
    ----------
    data
        What was fitted, as `ribp.likelihoods.validation.as_data` returns it.
    rows
        Indices of rows; `most` of them, evenly spaced, if None.
    shape, axis
        As in `features`: images, or where the columns stand.
    most
        How many rows, if `rows` is None.

    Returns
    -------
    An array of Axes: one a row, or two for images (the data, then what was rebuilt).
    """
    check_result(result)
    check_kind("data", data, Data, "must be data as the fit had them", "Pass as_data(X).")
    n_rows, n_dims = data.values.shape
    if rows is None:
        number = min(checks.integer("most", most, least=1), n_rows)
        rows = (np.arange(number) * n_rows + n_rows // 2) // number
    at = checked_rows(rows, n_rows)
    rebuilt_values, shown = result.fitted(at), data.rows(at)
    values = shown.values if shown.complete else np.where(shown.observed, shown.values, np.nan)
    pairs = list(zip(values, rebuilt_values, _titles(result, at), strict=True))
    if shape is not None:
        return _images(figure, pairs, checked_shape(shape, n_dims))
    return _lines(figure, pairs, *checked_axis(axis, n_dims))


def _titles(result: Result, rows: IntArray) -> list[str]:
    """Return the name of each row and the features that it has."""
    names, probs = row_names(result), result.row_probs()[rows]
    titles, short_names = [], result.short_feature_names
    for n, p in zip(rows.tolist(), probs, strict=True):
        has = np.flatnonzero(p > 0.5)
        called = [plain(short_names[i], 12) for i in has[:_NAMED]]
        listed = ", ".join(called) + (", …" if has.size > _NAMED else "")
        titles.append(f"{plain(names[n], 18) if names else f'row {n}'}: {listed or 'no feature'}")
    return titles


def _lines(figure: AnyFigure | None, pairs: list[_Pair], x: FloatArray, label: str) -> AxesArray:
    axes = panels(figure, len(pairs), 3, 3.2, 1.7, sharex=True, sharey=True)
    order = np.argsort(x, kind="stable")
    marker = "o" if x.size <= DOTS else ""
    for ax, (data, fit, title) in zip(axes, pairs, strict=True):
        ax.plot(x[order], data[order], color=GREY, lw=2.5, marker=marker, ms=5, label="data")
        ax.plot(x[order], fit[order], color=BLUE, lw=1.0, marker=marker, ms=2, label="features")
        ax.set_title(title)
    axes[0].legend()
    axes[0].figure.supxlabel(label)
    return axes


def _images(figure: AnyFigure | None, pairs: list[_Pair], shape: tuple[int, int]) -> AxesArray:
    wide = float(np.clip(1.4 * shape[1] / shape[0], 0.8, 3.0))
    axes = panels(figure, 2 * len(pairs), 6, wide, 1.7)
    look = colours(np.array([pair[:2] for pair in pairs]))
    for left, right, (data, fit, title) in zip(axes[::2], axes[1::2], pairs, strict=True):
        draw_image(left, data.reshape(shape), look)
        draw_image(right, fit.reshape(shape), look)
        left.set_title(title)
        right.set_title("features")
    return axes
