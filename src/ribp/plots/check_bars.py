"""Could the model have made these data: posterior predictive p-values of each statistic.

Bars are shares of the p-values, one strip a statistic; a dot is a single one. Middling p-values
prove little. Many at the ends (shaded) mean that the model does not make data like these.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ribp.checks import FloatArray
from ribp.plots.arguments import check_kind
from ribp.plots.layout import one_panel
from ribp.plots.style import BLUE, GREY, ORANGE, styled
from ribp.posterior.predictive_checks import Checks

__all__ = ["predictive_checks"]

_BINS = 50
_END = 0.01


def predictive_checks(checks: Checks, *, ax: Axes | None = None) -> Axes:
    """Draw the p-values of posterior predictive checks, those of `Result.check`.

    Parameters
    ----------
    checks
        What `Result.check` returns.
    ax
        Where to draw; a new picture if None.
    """
    remedy = "Pass result.check(rng, data) instead of the result."
    check_kind("checks", checks, Checks, "must be what `Result.check` returns", remedy)
    found = checks.p_values
    with styled():
        ax = one_panel(ax, 5.5, 1.0 + 0.6 * len(found))
        for place, (name, p) in enumerate(found.items()):
            base = float(len(found) - 1 - place)
            if p.size == 1:
                ax.plot(p, [base + 0.3], "o", color=BLUE, ms=6, zorder=3)
            elif p.size:
                shares = np.histogram(p, _BINS, (0.0, 1.0))[0] / p.size
                x = (np.arange(_BINS) + 0.5) / _BINS
                heights = 0.85 * shares / shares.max()
                ax.bar(x, heights, 0.9 / _BINS, bottom=base, color=BLUE)
            ax.axhline(base, color=GREY, lw=0.6)
            beside = _beside(checks, name)
            ax.text(1.02, base + 0.3, beside, va="center", transform=ax.get_yaxis_transform())
        for low, high in ((0.0, _END), (1.0 - _END, 1.0)):
            ax.axvspan(low, high, color=ORANGE, alpha=0.35, lw=0)
        ax.set(xlim=(-0.01, 1.01), ylim=(0.0, float(len(found))))
        ax.set_yticks(np.arange(len(found))[::-1] + 0.3, [_name(*one) for one in found.items()])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("p-value (near 0: data have more than the model; near 1: less)")
    return ax


def _name(name: str, p: FloatArray) -> str:
    return name if p.size == 1 else f"{name} ({p.size})"


def _beside(checks: Checks, name: str) -> str:
    """Return a single p-value, or how many of them are extreme."""
    p = checks.p_values[name]
    if p.size == 0:
        return "nothing observed"
    return f"p = {p[0]:.3f}" if p.size == 1 else f"{checks.extreme(name):.0%} extreme"
