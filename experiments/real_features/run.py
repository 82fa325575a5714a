"""Run it: `python -m experiments.real_features.run --data FOLDER --others PYTHON`; or `--quick`.

Five sets of real data whose features are known, five seeds. F1 of the entries of Z after features
were matched one to one (Hungarian method), and the mean of the F1 of each true feature, which
counts rare ones as much as common ones. Then what the R-IBP with its default settings gains over
each other model, seed by seed.
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
from experiments.real_features.methods import MOFA, Answer, methods
from experiments.rivals.others import add_option
from experiments.shared import BLUE, GREEN, GREY, ORANGE, save, table, write_text
from experiments.study import BETWEEN, Study, compared, median, parse, parser
from ribp.checks import FloatArray
from ribp.testing.recovery import f1, feature_f1


class Scale(NamedTuple):
    """How much is run."""

    n_seeds: int = 5
    n_sweeps: int = 100
    n_rows: int | None = None
    n_dims: int | None = None


QUICK = Scale(1, 6, 70, 40)
_STOPPED = f"over {MOST_FEATURES} features"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    options = parser("real_features")
    add_option(options)
    given = parse(options, arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, {k: v for k, v in scale._asdict().items() if k != "n_seeds"})
    for seed in range(scale.n_seeds):
        for name in CASES:
            case = load(name, given.data)
            if scale.n_rows is not None and scale.n_dims is not None:
                case = case.part(scale.n_rows, scale.n_dims)
            for method, run in methods(given.others).items():
                if not study.wants(name, method, seed):
                    continue
                found = run(case, seed, scale.n_sweeps)
                if found.rows or found.stopped:
                    study.add(
                        name, method, seed, numbers=_numbers(case, found), seconds=found.seconds
                    )
    _write(given.out / "table.md", study)
    _write_paired(given.out / "paired.md", study)
    _draw(given.out / "recovery.png", study)


def _numbers(case: Case, found: Answer) -> dict[str, float]:
    """Return F1 of all entries, its mean over features and features in use, of all who answer."""
    numbers: dict[str, float] = {} if found.rows else {"stopped at": found.stopped or 0}
    for who, rows in found.rows.items():
        numbers[who] = f1(rows, case.rows)
        numbers[f"{who}, by feature"] = float(feature_f1(rows, case.rows).mean())
        numbers[f"{who}, features"] = int(rows.any(axis=0).sum())
    return numbers


OURS = "R-IBP, Gibbs"
RUNS = {
    OURS: "restricted",
    "R-IBP, one noise": "shared",
    "R-IBP, twice the features": "twice",
    "R-IBP, structured": "restricted",
    "R-IBP, Poisson": "poisson",
    "IBP, Gibbs": "buffet",
    "IBP, Gibbs, k largest": "buffet",
    "NMF": "nmf",
    "NMF, then pursuit": "nmf pursued",
    "NMF, twice the features": "nmf twice",
    "NMF, twice the features, then pursuit": "nmf twice",
    "dictionary learning": "dictionary",
    "K-SVD": "ksvd",
    "K-SVD, twice the features": "ksvd twice",
    "factor analysis": "factors",
    "MOFA+": MOFA,
    "logistic PCA": "logistic",
    "chance": "chance",
}
"""Lines of the table, and the run that each comes from."""


def _cases(study: Study) -> list[str]:
    """Return the sets for which there are runs."""
    known = {name.partition(BETWEEN)[0] for name in study.numbers}
    return [case for case in CASES if case in known]


def _known(study: Study) -> list[str]:
    """Return the lines for which there are runs."""
    return [name for name in RUNS if any(study.values(c, RUNS[name], of=name).size for c in CASES)]


def _write(path: Path, study: Study) -> None:
    """Write F1 as a table, medians and quartiles."""
    lines, cases = [], _cases(study)
    for ending, title in (("", "F1 of all entries"), (", by feature", "F1, mean over features")):
        rows = [
            [name, *(_cell(study.values(c, RUNS[name], of=name + ending)) for c in cases)]
            for name in _known(study)
        ]
        lines += [f"**{title}.**", "", *table(("", *cases), rows)]
    runs = [f"{case} {study.values(case, 'restricted', of='seconds').size}" for case in cases]
    write_text(path, [*lines, f"Seeds: {', '.join(runs)}."])


def _write_paired(path: Path, study: Study) -> None:
    """Write what the R-IBP gains over each other model: mean, standard error, verdict."""
    cases = _cases(study)
    rivals = [name for name in _known(study) if not name.startswith("R-IBP")]
    rows = [[name, *(_gain(study, case, name) for case in cases)] for name in rivals]
    write_text(path, table((f"F1 of {OURS}, less that of", *cases), rows))


def _gain(study: Study, case: str, name: str) -> str:
    theirs = study.by_seed(case, RUNS[name], of=name)
    if _stopped(np.array(list(theirs.values()))):
        return _STOPPED
    return compared(study.by_seed(case, RUNS[OURS], of=OURS), theirs)


def _stopped(values: FloatArray) -> bool:
    """Return whether there were runs, and none to its end."""
    return bool(values.size) and not np.isfinite(values).any()


def _cell(values: FloatArray) -> str:
    return _STOPPED if _stopped(values) else median(values)


def _colour(name: str) -> str:
    if name == "chance":
        return GREY
    return BLUE if name.startswith("R-IBP") else ORANGE if name.startswith("IBP") else GREEN


def _draw(path: Path, study: Study) -> None:
    """Draw F1 of every seed, one panel a set."""
    lines, cases = _known(study), _cases(study)
    figure = Figure(figsize=(11.5, 0.7 + 0.29 * len(lines)), layout="constrained")
    axes = figure.subplots(1, len(cases), sharey=True, squeeze=False)[0]
    for ax, case in zip(axes, cases, strict=True):
        for at, name in enumerate(lines):
            v = study.values(case, RUNS[name], of=name)
            if _stopped(v):
                ax.text(0.03, at, _STOPPED, va="center", fontsize=8)
            ax.plot(v, [at] * v.size, "o", color=_colour(name), ms=5, alpha=0.7)
        ax.set(title=case, xlim=(0, 1.03), xlabel="F1", xticks=(0, 0.5, 1))
        ax.set_xticklabels(("0", "0.5", "1"))
        ax.grid(color="0.92")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(yticks=range(len(lines)), yticklabels=lines, ylim=(len(lines) - 0.5, -0.5))
    save(figure, path)


if __name__ == "__main__":
    main()
