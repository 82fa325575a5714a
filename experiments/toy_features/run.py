"""Run it: `python -m experiments.toy_features.run`, some minutes; `--quick` for a look.

The first toy set: 400 rows that have 14 of 15 features, 100 that have one; counts known to plus or
minus one. Five data sets, eight models each; two pictures of the first data set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console

from experiments.shared import parse, table, write_results, write_text
from experiments.toy_features.models import MODELS, Fit, Scale, scores
from experiments.toy_features.pictures import draw
from ribp.datasets import toy_missing_one

SHOWN = {
    "variational": ("IBP, variational", "R-IBP, hybrid variational"),
    "gibbs": ("IBP, Gibbs", "R-IBP, Gibbs"),
}
_COLUMNS = (
    "F1, mean (range)",
    "alike, of 15",
    "features found",
    "rows with the right count",
    "mean count of busy rows",
    "single rows left empty",
)
_HEIGHTS = (
    ("IBP, Gibbs", "IBP, Gibbs, begun at the truth"),
    ("R-IBP, Gibbs, search without counts", "R-IBP, Gibbs"),
)
"""Chains of one model each, whose log joints can be compared."""
QUICK = Scale(warmup=20, iterations=20, draws=10)
_SLOW = ("R-IBP, structured variational", "R-IBP, Gibbs, search without counts")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("toy_features", arguments)
    n_seeds, scale = (1, QUICK) if options.quick else (5, Scale())
    began, console = time.perf_counter(), Console()
    models = {k: v for k, v in MODELS.items() if not (options.quick and k in _SLOW)}
    numbers: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    shown: dict[str, Fit] = {}
    for seed in range(n_seeds):
        toy = toy_missing_one(seed)
        for name, model in models.items():
            fit = model(toy, seed, scale)
            numbers[name].append(scores(fit, toy))
            seconds[name].append(fit.seconds)
            if seed == 0:
                shown[name] = fit
            console.print(f"seed {seed}, {name}: F1 {numbers[name][-1]['f1']:.3f}")
    for picture, names in SHOWN.items():
        pair = {name: shown[name] for name in names}
        draw(toy_missing_one(0), pair, options.out / f"{picture}.png")
    stored = write_results(
        options,
        seeds=list(range(n_seeds)),
        setting=scale._asdict(),
        numbers=numbers,
        timing={"minutes": (time.perf_counter() - began) / 60, "seconds": seconds},
    )
    for file, lines in tables(stored).items():
        write_text(options.out / file, lines)


def tables(numbers: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Return table.md: what was found, and log joints beside those of other chains."""
    rows = [[name, *_cells(runs)] for name, runs in numbers.items()]
    lines = table(("model", *_COLUMNS), rows)
    for other, best in _HEIGHTS:
        if other in numbers:
            above = [
                a["log joint"] - b["log joint"]
                for a, b in zip(numbers[other], numbers[best], strict=True)
            ]
            lines += [f'Log joint of "{other}" less that of "{best}", by seed:']
            lines += [f"{', '.join(f'{one:.0f}' for one in above)}.", ""]
    return {"table.md": lines}


def _cells(runs: list[dict[str, Any]]) -> list[str]:
    def mean(key: str) -> float:
        return float(np.mean([run[key] for run in runs]))

    f1 = sorted(run["f1"] for run in runs)
    least, most = f"{f1[0]:.3f}", f"{f1[-1]:.3f}"
    return [
        most if least == most else f"{mean('f1'):.3f} ({least} to {most})",
        " ".join(str(run["alike"]) for run in runs),
        " ".join(str(run["features"]) for run in runs),
        f"{mean('rows with the right count'):.0%}",
        f"{mean('mean count of busy rows'):.1f}",
        f"{mean('single rows left empty'):.0%}",
    ]


if __name__ == "__main__":
    main()
