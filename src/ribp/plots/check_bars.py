"""Could the model have made these data: the p-value of each check, on a log scale.

A dot is a check, at the p-value of its worst column or feature, corrected for all. Shaded: signs
that the model does not fit (below 0.05), and where that is sure (below 0.001).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from ribp.errors import InputError
from ribp.plots.layout import check_kind, one_panel
from ribp.plots.style import BLUE, GREY, ORANGE, styled
from ribp.posterior.predictive_checks import NOISE, Checked, Checks
from ribp.posterior.verdict import SIGN, SURE
from ribp.results import Result

_LOWEST = 1e-8  # shown; what is lower is a triangle at the edge


@styled()
def predictive_checks(
    checks: Result | Checks | Mapping[str, Checked], *, ax: Axes | None = None
) -> Axes:
    """Draw the p-values of checks.

    Parameters
    ----------
    checks
        A result, whose checks were made at the end of the fit; or ``result.check(rng, data)``; or
        checks by name.
    """
    checks = _by_name(checks)
    ax = one_panel(ax, 6.5, 1.0 + 0.3 * len(checks))
    ax.axvspan(_LOWEST / 3.0, SURE, color=ORANGE, alpha=0.45, lw=0)
    ax.axvspan(SURE, SIGN, color=ORANGE, alpha=0.2, lw=0)
    for place, (name, one) in enumerate(checks.items()):
        base = len(checks) - 1 - place
        low = one.p_value < _LOWEST
        ax.axhline(base, color=GREY, lw=0.4)
        ax.plot(max(one.p_value, _LOWEST), base, "<" if low else "o", color=BLUE, ms=6)
        beside = f"{one.size:.3g} (noise: {NOISE[name]:.3g})"
        ax.text(1.02, base, beside, va="center", transform=ax.get_yaxis_transform())
    ax.set(xscale="log", xlim=(_LOWEST / 3.0, 2.0), ylim=(-0.6, len(checks) - 0.4))
    ax.set_yticks(np.arange(len(checks))[::-1], list(checks))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("p-value, corrected (shaded: the model does not fit)")
    return ax


def _by_name(checks: Result | Checks | Mapping[str, Checked]) -> Mapping[str, Checked]:
    if isinstance(checks, Checks):
        return checks.worst
    if isinstance(checks, Result):
        judged = checks.judgement
        if judged is None or not judged.checks:
            raise InputError(
                "checks",
                "must be those of a fit that was checked",
                "a Result without checks",
                "Pass result.check(rng, data), or make more draws.",
            )
        return judged.checks
    rule = "must be a Result, or what `Result.check` returns"
    check_kind("checks", checks, Mapping, rule, "Pass model.result_.")
    return checks
