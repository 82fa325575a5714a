"""Run it: `python -m experiments.toy_features.run`, some minutes; `--quick` for a look.

The first toy set: 400 rows that have 14 of 15 features, 100 that have one; counts known to plus or
minus one. Five data sets, eight models each; two pictures of the first data set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments.shared import parse, write_results
from experiments.toy_features.models import MODELS, Fit, Scale, scores
from experiments.toy_features.pictures import draw
from ribp.datasets import toy_missing_one

SHOWN = {
    "variational": ("IBP, variational", "R-IBP, hybrid variational"),
    "gibbs": ("IBP, Gibbs", "R-IBP, Gibbs"),
}
_COLUMNS = ("f1", "alike", "features", "rows with the right count", "single rows left empty")
QUICK = Scale(warmup=20, iterations=20, draws=10)
_SLOW = ("R-IBP, structured variational", "R-IBP, Gibbs, search without counts")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("toy_features", arguments)
    n_seeds, scale = (1, QUICK) if options.quick else (5, Scale())
    began, console = time.perf_counter(), Console()
    models = {k: v for k, v in MODELS.items() if not (options.quick and k in _SLOW)}
    numbers: dict[str, list[dict[str, float]]] = {name: [] for name in models}
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
    write_results(
        options,
        seeds=list(range(n_seeds)),
        setting=scale._asdict(),
        numbers=numbers,
        timing={"minutes": (time.perf_counter() - began) / 60, "seconds": seconds},
    )
    table = Table("model", *_COLUMNS)
    for name, runs in numbers.items():
        means = [float(np.mean([run[key] for run in runs])) for key in _COLUMNS]
        table.add_row(name, *(f"{mean:.3g}" for mean in means))
    console.print(table)


if __name__ == "__main__":
    main()
