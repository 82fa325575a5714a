"""Do chains agree: the ranks of each chain's draws among the draws of all chains.

If chains agree every rank is equally likely in each, and steps are level. A chain whose steps rise
to one side has higher or lower draws than the others. The band holds 99 of 100 steps of chains that
agree, if draws are independent; slow chains leave it more often. A single chain is cut into its two
halves. Which of equal draws has the lower rank is decided by lot.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ribp.checks import FloatArray
from ribp.plots.labels import chain_names
from ribp.plots.layout import AnyFigure, AxesArray, check_result, empty_panel, panels
from ribp.plots.reading import rank_shares
from ribp.plots.style import BAND, GREY, line, styled
from ribp.plots.trace_lines import QUANTITIES, r_hat_text
from ribp.posterior.diagnostics import quantities
from ribp.posterior.feature_spread import Spread
from ribp.results import Result

_CAPTION = "rank among all draws, lowest to highest (band: 99% of steps, if draws are independent)"
_LEAST = 2.0  # height of a chain's strip at least, in multiples of what is expected
_LEAST_DRAWS = 4


@styled()
def ranks(result: Result, *, figure: AnyFigure | None = None) -> AxesArray:
    """Draw how the ranks of each chain's draws are spread, one panel a quantity of `traces`."""
    check_result(result)
    draws_of, diagnostics = dict(quantities(result.tree)), result.diagnostics()
    names, halves = chain_names(result), result.n_chains == 1
    if halves:
        names = ["first half", "second half"]
    if result.n_draws < _LEAST_DRAWS:
        axes = panels(figure, 1, 1, 4.0, 1.5)
        empty_panel(axes[0], "Too few draws to compare chains.")
        return axes
    axes = panels(figure, len(draws_of), 3, 2.8, 0.5 + 0.42 * len(names), sharex=True, sharey=True)
    for ax, (name, draws) in zip(axes, draws_of.items(), strict=True):
        rng = np.random.default_rng(0)  # the picture is always the same
        _strips(ax, rank_shares(rng, _in_halves(draws) if halves else draws), names)
        ax.set_title(f"{QUANTITIES[name]} ({r_hat_text(diagnostics[name])})")
    axes[0].figure.supxlabel(_CAPTION)
    return axes


def _in_halves(draws: FloatArray) -> FloatArray:
    half = draws.shape[1] // 2
    return np.vstack([draws[:, :half], draws[:, -half:]])


def _strips(ax: Axes, shares: Spread, names: list[str]) -> None:
    """Draw a strip of height one for each chain, the first on top."""
    chains, bins = shares.mean.shape
    highest = 1.05 * max(_LEAST, float(shares.mean.max()), float(shares.high.max()))
    edges = np.linspace(0.0, 1.0, bins + 1)
    for chain, parts in enumerate(zip(*shares, strict=True)):
        base = chains - 1 - chain
        share, low, high = (base + part / highest for part in parts)
        ax.stairs(high, edges, baseline=low, fill=True, color=GREY, alpha=BAND, lw=0)
        ax.axhline(base + 1.0 / highest, color="white", lw=0.8)
        ax.axhline(base, color=GREY, lw=0.6)
        ax.stairs(share, edges, baseline=None, lw=1.4, **line(chain))
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, chains), xticks=[])
    ax.set_yticks(np.arange(chains)[::-1] + 0.5, names)
    ax.tick_params(axis="y", length=0)
