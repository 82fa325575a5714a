"""The picture: held-out density and time of every method on every set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.shared import BLUE, ORANGE, save
from experiments.study import Study
from experiments.tables.cases import NAMES
from experiments.tables.methods import METHODS

_MARKS = {"learned": "o", "fixed": "D"}


def draw(path: Path, study: Study) -> None:
    """Draw single runs as dots and medians as bars; one column a set."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots(2, len(NAMES), sharey=True)
    for column, name in zip(axes.T, NAMES, strict=True):
        for ax, quantity in zip(column, ("held_out", "seconds"), strict=True):
            for at, method in enumerate(METHODS):
                for noise, mark in _MARKS.items():
                    v = study.values(name, noise, method, of=quantity)
                    v = v[np.isfinite(v)]
                    if v.size == 0:
                        continue
                    colour = BLUE if "R-IBP" in method else ORANGE
                    y = at + (-0.17 if noise == "learned" else 0.17)
                    filled = colour if noise == "learned" else "none"
                    style = {"mec": colour, "mfc": filled, "ms": 4.5, "alpha": 0.8}
                    ax.plot(v, np.full(v.size, y), mark, **style)
                    ax.plot([np.median(v)] * 2, [y - 0.16, y + 0.16], color=colour, lw=2)
            ax.grid(axis="x", color="0.92")
            ax.spines[["top", "right"]].set_visible(False)
        column[0].set(title=name, xlabel="log density of a hidden entry")
        column[1].set(xlabel="seconds of one core", xscale="log")
    for ax in axes[:, 0]:
        ax.set(yticks=range(len(METHODS)), yticklabels=list(METHODS), ylim=(5.6, -0.6))
    handles = [
        axes[0, 0].plot([], [], mark, mec="0.3", mfc="0.3" if noise == "learned" else "none")[0]
        for noise, mark in _MARKS.items()
    ]
    labels = [f"noise {noise}" for noise in _MARKS]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    save(figure, path)
