"""How chains moved: draws of what does not depend on the names of features, chain by chain.

Chains that found the same features go up and down around one level. A chain at another level has
found something else, or has not arrived. R-hat is near 1 if the chains agree.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.plots.labels import chain_names
from ribp.plots.layout import AnyFigure, AxesArray, check_result, panels, whole_numbers
from ribp.plots.style import line, styled
from ribp.posterior.diagnostics import Diagnostic, quantities
from ribp.results import Result

QUANTITIES = {
    "log_joint": "log joint density",
    "active_features": "features in use",
    "mean_count": "mean features of a row",
    "mass": "mass",
    "concentration": "concentration",
    "feature_scale": "feature scale",
    "strength_scale": "spread of strengths",
    "log_noise_scale": "log noise scale, mean",
}
"""Names of `Result.diagnostics` in words."""


@styled()
def traces(result: Result, *, figure: AnyFigure | None = None) -> AxesArray:
    """Draw the log joint density, the number of features in use, mass and scales over draws.

    One panel a quantity. What was fixed, not learned, is left out.
    """
    check_result(result)
    draws_of, diagnostics = dict(quantities(result.tree)), result.diagnostics()
    number = result.tree["posterior"]["draw"].to_numpy()
    names, marker = chain_names(result), "o" if number.size == 1 else ""
    axes = panels(figure, len(draws_of), 2, 4.2, 1.7, sharex=True)
    for ax, (name, draws) in zip(axes, draws_of.items(), strict=True):
        for chain, values in enumerate(draws):
            looks = {"lw": 0.9, "marker": marker, "ms": 3, **line(chain)}
            ax.plot(number, values, label=names[chain], **looks)
        ax.set_title(f"{QUANTITIES[name]} ({r_hat_text(diagnostics[name])})")
        if np.array_equal(draws, np.rint(draws)):
            whole_numbers(ax, "y")
    whole_numbers(axes[0], "x")
    axes[0].figure.supxlabel("draw")
    handles, texts = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(handles, texts, loc="outside upper center", ncols=4)
    return axes


def r_hat_text(diagnostic: Diagnostic) -> str:
    """Return R-hat in words, also where nothing is known."""
    if math.isnan(diagnostic.r_hat):
        return "R-hat unknown"
    return "R-hat infinite" if math.isinf(diagnostic.r_hat) else f"R-hat {diagnostic.r_hat:.3f}"
