"""Which model predicts best: held-out log density of several models, the best on top.

Intervals are two standard errors to either side, over held-out entries. Models are scored on the
same entries, so that a difference can be clear although intervals overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from ribp.errors import InputError
from ribp.plots.labels import plain
from ribp.plots.layout import check_kind, empty_panel, one_panel
from ribp.plots.style import BLUE, styled

_ERRORS = 2.0
_REMEDY = "Pass the entry `models` of what `ribp compare --json` prints."


@styled()
def held_out(scores: Mapping[str, Mapping[str, float]], *, ax: Axes | None = None) -> Axes:
    """Draw the held-out log density of several models.

    Parameters
    ----------
    scores
        By name of the model: "log_density" and "standard_error", means over held-out entries, as
        ``ribp compare --json`` gives them in "models". Other entries are left alone. A model
        without a finite log density is named and has no dot.
    """
    check_kind("scores", scores, Mapping, "must be scores by name of the model", _REMEDY)
    values = {name: _score(name, one) for name, one in scores.items()}
    ordered = sorted(values.items(), key=lambda item: -item[1][0])
    ax = one_panel(ax, 5.5, 1.1 + 0.32 * max(len(values), 1))
    if not values:
        return empty_panel(ax, "No scores.")
    y = np.arange(len(values))
    value, error = np.array([one for _, one in ordered]).T
    low, high = value - _ERRORS * error, value + _ERRORS * error
    ax.hlines(y, low, high, color=BLUE, lw=2.5, alpha=0.5)
    ax.plot(value, y, "o", color=BLUE, ms=5)
    ax.set_yticks(y, [_name(name, one[0]) for name, one in ordered])
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlabel(
        "mean log density of a held-out entry (higher is better)\nlines: ±2 standard errors"
    )
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    return ax


def _score(name: str, scores: Mapping[str, float]) -> tuple[float, float]:
    """Return log density (-inf if it is not finite) and standard error (0 if it is not known)."""
    try:
        value = float(scores["log_density"])
        error = float(scores.get("standard_error", 0.0))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            "scores",
            'must have a number "log_density" for each model',
            f"{name!r}: {scores!r}",
            _REMEDY,
        ) from None
    return value if np.isfinite(value) else -np.inf, error if np.isfinite(error) else 0.0


def _name(name: str, value: float) -> str:
    return plain(name, 32) if np.isfinite(value) else f"{plain(name, 22)} (not finite)"
