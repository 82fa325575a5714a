"""The picture of the paper: features in the first row, counts in the second, truth on the left.

A feature has 36 numbers, shown as a square of 6 x 6. Found features stand at the place of the true
one that they are most like, matched one to one, with their correlation; places without a feature
stay empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from experiments.shared import BLUE, GREEN, ORANGE, save
from experiments.toy_features.models import Fit
from ribp.checks import FloatArray
from ribp.datasets import Toy
from ribp.testing.recovery import correlations

_SIDE, _COLUMNS, _LIMIT = 6, 5, 2.5


def draw(toy: Toy, found: dict[str, Fit], path: Path) -> None:
    """Draw the truth and what two models found."""
    figure = Figure(figsize=(10.5, 5.3), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.45, 1])
    panels, bottom = parts[0].subfigures(1, 3), parts[1]
    axes = bottom.subplots(1, 3, sharex=True, sharey=True)
    truth = Fit(toy.components, toy.rows.astype(float), 0.0, 0.0)
    colours = (GREEN, ORANGE, BLUE)
    all_fits = {"truth": truth, **found}
    for panel, ax, (name, fit), colour in zip(panels, axes, all_fits.items(), colours, strict=True):
        panel.suptitle(f"{name}: {len(fit.components)} features", fontsize=11, color=colour)
        _tiles(panel, fit.components, toy.components, known=name == "truth")
        ones = (fit.row_probs > 0.5).sum(axis=1)
        ax.bar(*np.unique(ones, return_counts=True), width=0.8, color=colour)
        ax.set(xlabel="features of a row", xticks=range(0, 16, 2), xlim=(-0.8, 15.8))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("rows")
    save(figure, path)


def _tiles(panel: Any, features: FloatArray, truth: FloatArray, *, known: bool) -> None:
    axes = panel.subplots(len(truth) // _COLUMNS, _COLUMNS).ravel()
    both = correlations(features, truth)
    found, place = linear_sum_assignment(-np.abs(both))
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("0.8")
    for feature, at in zip(found.tolist(), place.tolist(), strict=True):
        image = features[feature].reshape(_SIDE, _SIDE)
        axes[at].imshow(image, cmap="RdBu_r", vmin=-_LIMIT, vmax=_LIMIT)
        if not known:
            axes[at].set_title(f"{both[feature, at]:.2f}", fontsize=8, pad=2)
    for at in set(range(len(axes))) - set(place.tolist()):
        axes[at].set_aspect("equal")
        axes[at].set(xlim=(0, 1), ylim=(0, 1))
