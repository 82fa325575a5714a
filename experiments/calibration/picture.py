"""One panel a model: how far the ranks of all its numbers are from uniform.

The blue area holds the lines of all numbers; the one that is farthest out is drawn.

With F(r) the share of replicates whose truth has a rank of at most r, a line is F(r) less
(r + 1)/(L + 1). If ranks are uniform it stays in the grey band with probability .99: the band of
L + 1 bins is that of so many binomial shares at once, its width found by simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.shared import BLUE
from ribp.checks import FloatArray

_ACROSS = 5
_INSIDE = 0.99
_SIMULATED = 4000


def differences(bins: Any) -> FloatArray:
    """Return F(r) - (r + 1)/(L + 1) for all ranks r, given how often each was seen."""
    seen = np.asarray(bins, dtype=np.float64)
    n_bins = seen.shape[-1]
    below = np.cumsum(seen, axis=-1) / seen.sum(axis=-1, keepdims=True)
    return np.asarray(below - np.arange(1, n_bins + 1) / n_bins)


def half_widths(n_replicates: int, n_bins: int) -> FloatArray:
    """Return the half width of the band at every rank."""
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n_replicates, np.full(n_bins, 1 / n_bins), size=_SIMULATED)
    share = np.arange(1, n_bins + 1) / n_bins
    error = np.sqrt(share * (1 - share) / n_replicates)
    apart = np.abs(differences(drawn))[:, :-1] / error[:-1]
    return np.asarray(np.quantile(apart.max(axis=1), _INSIDE) * error)


def rank_picture(panels: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Return the picture, given how often each rank was seen, by panel and number."""
    down = -(-len(panels) // _ACROSS)
    figure = Figure(figsize=(2.5 * _ACROSS, 1.9 * down + 0.4), layout="constrained")
    axes = figure.subplots(down, _ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
    for axis, (title, numbers) in zip(axes, panels.items(), strict=False):
        bins = np.array(list(numbers.values()))
        share = np.arange(1, bins.shape[1] + 1) / bins.shape[1]
        width = half_widths(int(bins[0].sum()), bins.shape[1])
        axis.fill_between(share, -width, width, color="0.88", linewidth=0)
        apart = differences(bins)
        lowest, highest = apart.min(axis=0), apart.max(axis=0)
        axis.fill_between(share, lowest, highest, color=BLUE, alpha=0.35, linewidth=0)
        farthest = np.abs(apart[:, :-1] / width[:-1]).max(axis=1).argmax()
        axis.plot(share, apart[farthest], color=BLUE, linewidth=1.0)
        axis.set_title(title, fontsize=8)
        axis.tick_params(labelsize=7)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    said = "rank of the truth, as a share; upwards: data sets at or below it, less what is right"
    figure.supxlabel(said, fontsize=9)
    return figure
