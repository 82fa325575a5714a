"""Numbers of named columns as labelled bars and dots: SVG inside the page, one small panel each.

Panels stand in a grid that has one column in a narrow window. Text and lines have the colours of
the page, so that they can be read in the dark as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ribp.checks import FloatArray
from ribp.posterior.feature_spread import Spread
from ribp.report.elements import Html, note, short, tag

_WIDTH, _LABELS, _LINE = 320, 118, 18  # pixels of a panel, of its names, and of a line
_CHARACTERS = 17
_MOST = 8  # columns of a panel


def spread_panels(titles: Sequence[str], spreads: Sequence[Spread], names: Sequence[str]) -> Html:
    """Return a panel of bars for each feature: the columns in which it is largest."""
    reach = max((float(np.abs(part).max()) for one in spreads for part in one), default=1.0) or 1.0
    drawn = []
    for title, one in zip(titles, spreads, strict=True):
        largest = np.argsort(-np.abs(one.mean), kind="stable")[:_MOST].tolist()
        lines = [
            _line(at, names[j], [
                _bar(at, 0.0, one.mean[j], reach, "above" if one.mean[j] >= 0 else "below"),
                _range(at, one.low[j], one.high[j], reach),
            ])
            for at, j in enumerate(largest)
        ]  # fmt: skip
        drawn.append(_panel(title, len(largest), lines))
    told = f"Bar: mean; line: 5% to 95% of draws. Panels go from {-reach:.3g} to {reach:.3g}."
    return tag("div", tag("div", *drawn, class_="panels"), note(told))


def pair_panels(
    titles: Sequence[str], data: FloatArray, rebuilt: FloatArray, names: Sequence[str]
) -> Html:
    """Return a panel for each row: data as rings, what features make of them as dots.

    Parameters
    ----------
    titles, names
        Of rows and columns.
    data, rebuilt
        Shape (rows, columns); missing data are NaN. Columns that the rows differ in most are shown.
    """
    spread = np.nan_to_num(np.nanmax(rebuilt, axis=0) - np.nanmin(rebuilt, axis=0))
    shown = np.sort(np.argsort(-spread, kind="stable")[:_MOST])
    seen = np.concatenate([data[:, shown].ravel(), rebuilt[:, shown].ravel()])
    reach = float(np.nanmax(np.abs(seen))) or 1.0
    drawn = []
    for title, x, fit in zip(titles, data, rebuilt, strict=True):
        lines = [
            _line(at, names[j], [
                _dot(at, fit[j], reach, "dot"),
                None if np.isnan(x[j]) else _dot(at, x[j], reach, "ring"),
            ])
            for at, j in enumerate(shown.tolist())
        ]  # fmt: skip
        drawn.append(_panel(title, shown.size, lines))
    told = f"Ring: the data; dot: the features. Panels go from {-reach:.3g} to {reach:.3g}."
    return tag("div", tag("div", *drawn, class_="panels"), note(told))


def _panel(title: str, n_lines: int, lines: Sequence[Html]) -> Html:
    height = _LINE * n_lines + 4
    zero = f"{_x(0.0, 1.0):.1f}"
    axis = tag("line", x1=zero, x2=zero, y1="0", y2=str(height), class_="zero")
    drawing = tag("svg", axis, *lines, viewBox=f"0 0 {_WIDTH} {height}", role="img",
                  aria_label=title)  # fmt: skip
    return tag("figure", tag("figcaption", title), drawing)


def _line(at: int, name: str, marks: Sequence[Html | None]) -> Html:
    y = f"{_LINE * (at + 0.72):.1f}"
    label = name if len(name) <= _CHARACTERS else short(name[: _CHARACTERS - 1] + "…")
    text = tag("text", tag("title", name), label, x=str(_LABELS - 8), y=y, text_anchor="end")
    return tag("g", text, *marks)


def _x(value: float, reach: float) -> float:
    """Return where a number stands, from -reach to reach."""
    half = (_WIDTH - _LABELS) / 2 - 4
    return _LABELS + half + 2 + half * float(np.clip(value / reach, -1.0, 1.0))


def _bar(at: int, start: float, end: float, reach: float, kind: str) -> Html:
    left, right = sorted((_x(start, reach), _x(end, reach)))
    return tag("rect", x=f"{left:.1f}", y=f"{_LINE * at + 4}", width=f"{right - left:.1f}",
               height=f"{_LINE - 6}", class_=kind)  # fmt: skip


def _range(at: int, low: float, high: float, reach: float) -> Html:
    y = f"{_LINE * (at + 0.5) + 1:.1f}"
    return tag("line", x1=f"{_x(low, reach):.1f}", x2=f"{_x(high, reach):.1f}", y1=y, y2=y,
               class_="range")  # fmt: skip


def _dot(at: int, value: float, reach: float, kind: str) -> Html:
    return tag("circle", cx=f"{_x(value, reach):.1f}", cy=f"{_LINE * (at + 0.5) + 1:.1f}",
               r="3.2" if kind == "dot" else "4.8", class_=kind)  # fmt: skip
