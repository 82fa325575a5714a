"""The pictures of the study, in colours that colour-blind readers can tell apart (Okabe-Ito)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray
from PIL import Image

from experiments.simulation.probabilities import EXACT, LEVELS
from experiments.simulation.setting import COUNTS, OURS, SAMPLERS

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
SAMPLER_COLOURS = dict(zip(SAMPLERS, (RED, ORANGE, PURPLE, SKY, BLUE, GREEN), strict=True))
LEVEL_COLOURS = dict(zip(LEVELS, (RED, ORANGE, SKY, BLUE), strict=True))


def draw_costs(
    found: dict[str, Any], key: str, label: str, ticks: list[float], limit: int, path: Path
) -> None:
    """Draw one panel per J: single draws as points, quartiles as a bar, the median as a line."""
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    axes = figure.subplots(1, len(COUNTS), sharex=True, sharey=True)
    for ax, count in zip(axes, COUNTS, strict=True):
        for row, name in enumerate(SAMPLERS):
            _draw_sampler(ax, row, found[str(count)][name], key, SAMPLER_COLOURS[name])
        ax.set_title(f"exactly {count} features a row", fontsize=10)
        if key == "rejections":
            ax.set_xscale("symlog", linthresh=30, linscale=0.6)
        else:
            ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(axis="x", color="0.88")
        ax.set_axisbelow(True)
        ax.set_ylim(len(SAMPLERS) - 0.4, -0.6)
    axes[0].set_yticks(range(len(SAMPLERS)), [s.label for s in SAMPLERS.values()])
    figure.supxlabel(label, fontsize=10)
    figure.legend(handles=_cost_legend(limit), loc="outside upper center", ncols=4, frameon=False)
    _save(figure, path)


def _draw_sampler(ax: Axes, row: int, one: dict[str, Any], key: str, colour: str) -> None:
    values, cut = np.array(one[key], float), np.array(one["censored"])
    jitter = row + 0.16 + 0.16 * np.sin(2.4 * np.arange(values.size))
    ax.plot(values[~cut], jitter[~cut], "o", ms=3, mew=0, color=colour, alpha=0.75)
    ax.plot(values[cut], jitter[cut], ">", ms=6, mfc="white", mec=colour, mew=1.1, zorder=4)
    low, middle, high = (
        max(values) if value is None else value for value in one[f"{key}_quartiles"]
    )
    ax.plot([low, high], [row - 0.2] * 2, color=colour, lw=5, solid_capstyle="butt", alpha=0.55)
    ax.plot([middle] * 2, [row - 0.32, row - 0.08], color="black", lw=1.8, zorder=5)


def _cost_legend(limit: int) -> list[Line2D]:
    beyond = f"stopped at $10^{{{round(np.log10(limit))}}}$ proposals: true value lies to the right"
    return [
        Line2D([], [], color="black", marker="|", ls="", ms=10, mew=1.8, label="median"),
        Line2D([], [], color="0.55", lw=5, label="quartiles"),
        Line2D([], [], color="0.4", marker="o", ls="", ms=4, mew=0, label="one draw"),
        Line2D([], [], color="0.4", marker=">", ls="", ms=6, mfc="white", label=beyond),
    ]


def draw_probabilities(found: dict[str, Any], count: int, path: Path) -> None:
    """Draw the mean probabilities by rank, and beside them what truncations add to ours."""
    figure = Figure(figsize=(9.6, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    ours = np.array(found[OURS]["mean"])
    ranks = np.arange(1, ours.size + 1)
    for level, colour in LEVEL_COLOURS.items():
        for rule, style in (("size-ordered", "-"), ("weak limit", "--")):
            mean = np.array(found[f"{rule} {level}"]["mean"])
            label = f"{rule} {level}"
            left.plot(ranks[:level], _shown(mean[:level]), style, color=colour, lw=1.4, label=label)
            right.plot(ranks, mean - ours, style, color=colour, lw=1.4)
    left.plot(ranks, _shown(ours), color="black", lw=2.4, alpha=0.7, label="certified inclusion")
    right.axhline(0.0, color="black", lw=2.4, alpha=0.7)
    for name, marker in zip(EXACT, "ox", strict=True):
        mean = np.array(found[name]["mean"])
        look: dict[str, Any] = {"ls": "", "ms": 4, "color": "black", "mfc": "none", "mew": 0.8}
        label = SAMPLERS[name].label
        left.plot(ranks, _shown(mean), marker=marker, markevery=3, label=label, **look)
        right.plot(ranks, mean - ours, marker=marker, **look)
    left.set(yscale="log", ylim=(1e-4, 1.3), xlim=(0, 45), ylabel="mean feature probability")
    right.set(xlim=(0, 30), ylabel="difference from the certified sampler")
    for ax in (left, right):
        ax.set_xlabel("feature, by descending probability")
        ax.grid(color="0.9")
    figure.suptitle(f"exactly {count} features a row; numbers are features kept", fontsize=10)
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=8.5)
    _save(figure, path)


def _shown(mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means with zeros left out, for a logarithmic axis."""
    return np.where(mean > 0, mean, np.nan)


def draw_bounds(found: dict[str, Any], path: Path) -> None:
    """Draw one panel per J: stated and true losses against the number of features kept."""
    lines = {
        "paper_width": ("the paper's interval for a probability: width", RED, "-", 1.8),
        "certificate": ("our certificate for a row (total variation)", GREEN, "-", 2.6),
        "true_tv": ("true total variation", BLACK, "-", 1.2),
        "true_error": ("true error of a probability", BLUE, "--", 1.4),
    }
    figure = Figure(figsize=(9.6, 4.3), layout="constrained")
    axes = figure.subplots(1, len(found), sharex=True, sharey=True)
    for ax, (count, one) in zip(axes, found.items(), strict=True):
        for key, (label, colour, style, width) in lines.items():
            text = label if ax is axes[0] else None
            ax.plot(one["levels"], one[key], style, color=colour, lw=width, label=text)
        ax.set(yscale="log", ylim=(1e-10, 3), xlim=(0, 122), xlabel="features kept")
        ax.set_title(f"exactly {count} features a row", fontsize=10)
        ax.grid(color="0.9")
    axes[0].set_ylabel("loss (1: nothing is known)")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    """Write a picture of 128 colours, which is a third of the size, then give it its name."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=150)
    temporary = path.with_suffix(".tmp")
    with Image.open(full) as image:
        image.convert("RGB").quantize(128).save(temporary, "png", optimize=True, dpi=(150, 150))
    temporary.replace(path)
