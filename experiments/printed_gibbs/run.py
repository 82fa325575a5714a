"""Run it: `python -m experiments.printed_gibbs.run`, some minutes; `--quick` for a look.

First posteriors that can be enumerated (`exact`), then chains on data with known truth (`chains`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from experiments.printed_gibbs import chains, exact
from experiments.shared import BLUE, GREEN, ORANGE, parse, save, table, write_results, write_text


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("printed_gibbs", arguments)
    n_rows, n_seeds, n_sweeps = (4, 1, 20) if options.quick else (100, 5, 300)
    began, console = time.perf_counter(), Console()
    found = exact.compare(n_rows)
    console.print("posteriors enumerated")
    runs: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in chains.CASES}
    for name, results in runs.items():
        for seed in range(n_seeds):
            results.append(chains.compare(name, seed, n_sweeps))
            scores = {kind: f"{one['score']:.3f}" for kind, one in results[-1].items()}
            console.print(f"{name}, seed {seed}: score {scores}")
    stored = write_results(
        options,
        seeds=list(range(n_seeds)),
        setting={"n_rows": n_rows, "n_sweeps": n_sweeps, "hidden": chains.HIDDEN},
        numbers={"exact": found, "chains": runs},
        timing={"minutes": (time.perf_counter() - began) / 60},
    )
    _draw(found, options.out / "total-variation.png")
    for file, lines in tables(stored).items():
        write_text(options.out / file, lines)


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return what was found as Markdown, by the name of a file."""
    exactly, lines = numbers["exact"], []
    noises = [*list(next(iter(exactly.values())))[:-1], "no data"]
    for title, key in _EXACT.items():
        rows = [
            [name, *(f"{one[key]:.3f}" for one in by_noise.values())]
            for name, by_noise in exactly.items()
        ]
        lines += [f"**{title}, by noise.**", "", *table(("features of a row", *noises), rows)]
    rows = [
        [name, kind, *_cells(runs, kind)]
        for name, runs in numbers["chains"].items()
        for kind in ("right", "printed")
    ]
    return {"posteriors.md": lines, "chains.md": table(("data", "divisor", *_CHAINS), rows)}


def _cells(runs: list[dict[str, dict[str, float]]], kind: str) -> list[str]:
    def mean(key: str) -> float:
        return float(np.mean([run[kind][key] for run in runs]))

    less = np.array([run["printed"]["score"] - run["right"]["score"] for run in runs])
    error = f" ± {less.std(ddof=1) / np.sqrt(less.size):.3f}" if less.size > 1 else ""
    return [
        f"{mean('score'):.3f}",
        "" if kind == "right" else f"{less.mean():+.3f}{error}",
        f"{mean('mean count'):.2f} ({mean('true mean count'):.2f})",
        f"{mean('rows with the right count'):.1%}",
        f"{mean('f1'):.3f}",
    ]


_EXACT = {
    "Total variation, median over rows": "total variation, median",
    "Total variation, largest of all rows": "total variation, largest",
    "Mean count less the right one, mean over rows": "mean count less the right one, mean",
}
_CHAINS = (
    "score", "printed less right", "mean count (true)", "rows with the right count", "F1",
)  # fmt: skip


def _draw(found: dict[str, Any], path: Path) -> None:
    """Draw how far a printed sweep takes a posterior, by noise."""
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    for (name, by_noise), colour in zip(found.items(), (ORANGE, BLUE, GREEN), strict=True):
        at = np.arange(len(by_noise))
        for ax, key in (
            (left, "total variation, median"),
            (right, "mean count less the right one, mean"),
        ):
            ax.plot(at, [one[key] for one in by_noise.values()], "o-", color=colour, label=name)
    left.set(title="total variation (median over rows)", ylim=(0, None))
    right.set(title="mean count less the right one (mean over rows)")
    right.axhline(0, color="0.6", lw=1)
    noises = list(next(iter(found.values())))
    for ax in (left, right):
        ax.set(xlabel="noise of the data", xticks=range(len(noises)))
        ax.set_xticklabels([*noises[:-1], "no data"])
        ax.spines[["top", "right"]].set_visible(False)
    left.legend(title="features of a row", frameon=False, fontsize=9)
    save(figure, path)


if __name__ == "__main__":
    main()
