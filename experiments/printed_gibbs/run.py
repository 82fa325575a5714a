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
from rich.table import Table

from experiments.printed_gibbs import chains, exact
from experiments.shared import BLUE, GREEN, ORANGE, parse, save, write_results

_SHOWN = ("score", "mean count", "true mean count", "rows with the right count", "f1")


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
    write_results(
        options,
        seeds=list(range(n_seeds)),
        setting={"n_rows": n_rows, "n_sweeps": n_sweeps, "hidden": chains.HIDDEN},
        numbers={"exact": found, "chains": runs},
        timing={"minutes": (time.perf_counter() - began) / 60},
    )
    _draw(found, options.out / "total-variation.png")
    console.print(_table(runs))


def _table(runs: dict[str, Any]) -> Table:
    table = Table("data", "divisor", *_SHOWN)
    for name, results in runs.items():
        for kind in ("right", "printed"):
            means = [float(np.mean([run[kind][key] for run in results])) for key in _SHOWN]
            table.add_row(name, kind, *(f"{mean:.3f}" for mean in means))
    return table


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
