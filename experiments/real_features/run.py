"""Run it: `python -m experiments.real_features.run --data FOLDER`; `--quick` for a look.

Five sets of real data whose features are known, three seeds. F1 of the entries of Z after features
were matched one to one (Hungarian method), and the mean of the F1 of each true feature, which
counts rare ones as much as common ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.chains import MOST_FEATURES
from experiments.real_features.cases import NAMES as CASES
from experiments.real_features.cases import Case, load
from experiments.real_features.methods import METHODS, Answer
from experiments.shared import BLUE, GREEN, GREY, ORANGE, save, table, write_text
from experiments.study import Study, median, parse, parser
from ribp.checks import FloatArray
from ribp.testing.recovery import f1, feature_f1


class Scale(NamedTuple):
    """How much is run."""

    n_seeds: int = 3
    n_sweeps: int = 100
    n_rows: int | None = None
    n_dims: int | None = None


QUICK = Scale(1, 6, 70, 40)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("real_features"), arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, {k: v for k, v in scale._asdict().items() if k != "n_seeds"})
    for seed in range(scale.n_seeds):
        for name in CASES:
            case = load(name, given.data)
            if scale.n_rows is not None and scale.n_dims is not None:
                case = case.part(scale.n_rows, scale.n_dims)
            for method, run in METHODS.items():
                if not study.wants(name, method, seed):
                    continue
                found = run(case, seed, scale.n_sweeps)
                if found.rows or found.stopped:
                    study.add(
                        name, method, seed, numbers=_numbers(case, found), seconds=found.seconds
                    )
    _write(given.out / "table.md", study)
    _draw(given.out / "recovery.png", study)


def _numbers(case: Case, found: Answer) -> dict[str, float]:
    """Return F1 of all entries, its mean over features and features in use, of all who answer."""
    numbers: dict[str, float] = {} if found.rows else {"stopped at": found.stopped or 0}
    for who, rows in found.rows.items():
        numbers[who] = f1(rows, case.rows)
        numbers[f"{who}, by feature"] = float(feature_f1(rows, case.rows).mean())
        numbers[f"{who}, features"] = int(rows.any(axis=0).sum())
    return numbers


RUNS = {
    "R-IBP, Gibbs": "restricted",
    "R-IBP, one noise": "shared",
    "R-IBP, twice the features": "twice",
    "R-IBP, structured": "restricted",
    "R-IBP, Poisson": "poisson",
    "IBP, Gibbs": "buffet",
    "IBP, Gibbs, k largest": "buffet",
    "NMF": "nmf",
    "dictionary learning": "dictionary",
    "factor analysis": "factors",
    "chance": "chance",
}
"""Lines of the table, and the run that each comes from."""


def _write(path: Path, study: Study) -> None:
    """Write F1 as a table, medians and quartiles."""
    lines = []
    for ending, title in (("", "F1 of all entries"), (", by feature", "F1, mean over features")):
        rows = [
            [name, *(_cell(study.values(c, RUNS[name], of=name + ending)) for c in CASES)]
            for name in RUNS
        ]
        lines += [f"**{title}.**", "", *table(("", *CASES), rows)]
    runs = [f"{case} {study.values(case, 'restricted', of='seconds').size}" for case in CASES]
    write_text(path, [*lines, f"Seeds: {', '.join(runs)}."])


def _stopped(values: FloatArray) -> bool:
    """Return whether there were runs, and none to its end."""
    return bool(values.size) and not np.isfinite(values).any()


def _cell(values: FloatArray) -> str:
    return f"over {MOST_FEATURES} features" if _stopped(values) else median(values)


def _colour(name: str) -> str:
    if name == "chance":
        return GREY
    return BLUE if name.startswith("R-IBP") else ORANGE if name.startswith("IBP") else GREEN


def _draw(path: Path, study: Study) -> None:
    """Draw F1 of every seed, one panel a set."""
    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    axes = figure.subplots(1, len(CASES), sharey=True, squeeze=False)[0]
    for ax, case in zip(axes, CASES, strict=True):
        for at, name in enumerate(RUNS):
            v = study.values(case, RUNS[name], of=name)
            if _stopped(v):
                ax.text(0.03, at, f"over {MOST_FEATURES} features", va="center", fontsize=8)
            ax.plot(v, [at] * v.size, "o", color=_colour(name), ms=5, alpha=0.7)
        ax.set(title=case, xlim=(0, 1.03), xlabel="F1")
        ax.grid(color="0.92")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(yticks=range(len(RUNS)), yticklabels=list(RUNS), ylim=(len(RUNS) - 0.5, -0.5))
    save(figure, path)


if __name__ == "__main__":
    main()
