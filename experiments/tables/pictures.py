"""The picture: held-out density and time of every method on every set.

A held-out density that is far below that of a model without features is shown at the left edge.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.chains import MOST_FEATURES
from experiments.shared import BLUE, GREY, ORANGE, save
from experiments.study import Study
from experiments.tables.cases import NAMES
from experiments.tables.methods import METHODS, NO_FEATURES, NOISES

_MARKS = dict(zip(NOISES, ("o", "D", "^"), strict=True))
_FAR = 1.5
_PLACES = dict(zip(NOISES, (-0.25, 0.0, 0.25), strict=True))


def draw(path: Path, study: Study) -> None:
    """Draw single runs as marks and medians as bars; one column a set."""
    figure = Figure(figsize=(11.5, 6.4), layout="constrained")
    axes = figure.subplots(2, len(NAMES), sharey=True)
    for column, name in zip(axes.T, NAMES, strict=True):
        alone = study.values(name, NO_FEATURES, of="held_out")
        least = float(np.median(alone)) - _FAR if alone.size else -np.inf
        _panel(column[0], study, name, "held_out", least)
        _panel(column[1], study, name, "seconds", -np.inf)
        if alone.size:
            column[0].axvline(np.median(alone), color=GREY, ls="--", lw=1, zorder=0)
            right = max(column[0].get_xlim()[1], float(np.median(alone)) + 0.1)
            column[0].set(xlim=(least - 0.1, right))
        column[0].set(title=name, xlabel="log density of a hidden entry")
        column[0].locator_params(axis="x", nbins=5)
        column[1].set(xlabel="seconds of one core", xscale="log", xlim=(0.7, 1000))
    for ax in axes[:, 0]:
        ax.set(yticks=range(len(METHODS)), yticklabels=list(METHODS), ylim=(5.6, -0.6))
    handles = [
        axes[0, 0].plot([], [], _MARKS[noise], mec="0.3", mfc=_fill("0.3", noise))[0]
        for noise in NOISES
    ]
    handles += axes[0, 0].plot([], [], "<", color="0.3", ms=6)
    handles += axes[0, 0].plot([], [], "--", color=GREY, lw=1)
    labels = [*(f"noise {noise}" for noise in NOISES), "far below", "no features"]
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    save(figure, path)


def _fill(colour: str, noise: str) -> str:
    return "none" if noise == "fixed" else colour


def _panel(ax: Any, study: Study, name: str, quantity: str, least: float) -> None:
    for at, method in enumerate(METHODS):
        colour, stopped = BLUE if "R-IBP" in method else ORANGE, []
        for noise in NOISES:
            v, y = study.values(name, noise, method, of=quantity), at + _PLACES[noise]
            ended = v[np.isfinite(v)]
            if ended.size:
                style = {"mec": colour, "mfc": _fill(colour, noise), "ms": 4, "alpha": 0.7}
                near, far = ended[ended >= least], ended[ended < least]
                ax.plot(near, np.full(near.size, y), _MARKS[noise], **style)
                ax.plot([least] * far.size, [y] * far.size, "<", color=colour, ms=6)
                middle = max(float(np.median(ended)), least)
                ax.plot([middle] * 2, [y - 0.12, y + 0.12], color=colour, lw=2)
            elif v.size:
                stopped.append(noise)
        if stopped:
            said = f"{' and '.join(stopped)}: over {MOST_FEATURES} features"
            ax.text(0.02, at, said, fontsize=7, va="center", transform=ax.get_yaxis_transform())
    ax.grid(axis="x", color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
