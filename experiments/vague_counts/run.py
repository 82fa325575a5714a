"""Run it: `python -m experiments.vague_counts.run --data FOLDER`; `--quick` for a look.

The same chain (Gibbs sampling, features integrated out, noise of its own for every column, the
best of six starts, 100 sweeps of which the second half is kept) with ever less said of the counts.
Where little is said of counts the search begins with a buffet that grows.

F1 of rows that have a feature in more than half of the draws, after matching, and the mean log
density of the one per cent of entries that was hidden. Beside it K-SVD and NMF
(`experiments.vague_counts.rivals`), which get the hidden entries, and as much time as the chain
that knows the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.chains import chain
from experiments.shared import BLUE, save, table, write_text
from experiments.study import Study, compared, median, parse, parser
from experiments.vague_counts.cases import KNOWLEDGE, NAMES, Case, knowledge, load
from experiments.vague_counts.rivals import RIVALS
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import BoolArray
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.testing.recovery import f1

HIDDEN = 0.01


class Scale(NamedTuple):
    """How much is run."""

    n_seeds: int = 5
    n_starts: int = 6
    n_sweeps: int = 100
    n_rows: int | None = None


QUICK = Scale(1, 1, 6, 80)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("vague_counts"), arguments)
    scale = QUICK if given.quick else Scale()
    setting = {k: v for k, v in scale._asdict().items() if k != "n_seeds"} | {"hidden": HIDDEN}
    study = Study(given, setting)
    for seed, name in product(range(scale.n_seeds), NAMES):
        case = load(name, seed, given.data)
        for what in KNOWLEDGE:
            if study.wants(name, what, seed):
                numbers, seconds = _run(case, what, seed, scale)
                study.add(name, what, seed, numbers=numbers, seconds=seconds)
        ours = study.by_seed(name, KNOWLEDGE[0], of="seconds").get(seed, 0.0)
        for rival, method in RIVALS.items():
            if study.wants(name, rival, seed) and (found := method(case, seed, ours)):
                study.add(name, rival, seed, numbers=found.numbers, seconds=found.seconds)
    _write(given.out / "table.md", study)
    _write_paired(given.out / "paired.md", study)
    _draw(given.out / "knowledge.png", study)


def _run(case: Case, what: str, seed: int, scale: Scale) -> tuple[dict[str, float], float]:
    at = np.random.default_rng(0).permutation(len(case.rows))[: scale.n_rows]
    values, truth, k = case.data[at], case.rows[at], case.k[at]
    hidden = _hidden(seed, np.isfinite(values))
    laws = knowledge(what, k, seed, case.max_features)
    likelihood = LinearGaussian(
        background=case.background, noise_variance=float(np.nanvar(values[~hidden]))
    )
    found = chain(
        seed,
        Model(laws, case.max_features, likelihood),
        as_data(np.where(hidden, np.nan, values)),
        scale.n_sweeps,
        n_starts=scale.n_starts,
        values=values,
        hidden=hidden,
    )
    on = found.row_probs > 0.5
    numbers = {
        "f1": f1(on, truth),
        "held out": found.held_out,
        "features": found.features,
        "mean count": float(found.row_probs.sum(axis=1).mean()),
        "right counts": float((on.sum(axis=1) == k).mean()),
    }
    return numbers, found.seconds


def _hidden(seed: int, there: BoolArray) -> BoolArray:
    """Return which of the entries that are there are hidden."""
    rng, some = np.random.default_rng([seed, 99]), np.flatnonzero(there)
    where = np.zeros(there.size, bool)
    where[rng.choice(some, round(HIDDEN * some.size), replace=False)] = True
    return where.reshape(there.shape)


_COLUMNS = {
    "f1": "F1",
    "held out": "held out",
    "features": "features in use",
    "mean count": "mean count",
    "right counts": "rows with the right count",
    "seconds": "processor seconds",
}
_DIGITS = {"features": 1, "mean count": 2, "seconds": 1}


def _names(study: Study) -> list[str]:
    """Return the sets for which there are runs."""
    return [name for name in NAMES if study.values(name, KNOWLEDGE[0], of="f1").size]


def _write(path: Path, study: Study) -> None:
    lines = []
    for name in _names(study):
        n_seeds = study.values(name, KNOWLEDGE[0], of="f1").size
        lines += [f"**{name}**, {n_seeds} seeds.", ""]
        rows = [
            [what, *(median(study.values(name, what, of=c), _DIGITS.get(c, 3)) for c in _COLUMNS)]
            for what in (*KNOWLEDGE, *RIVALS)
            if study.values(name, what, of="f1").size
        ]
        lines += table(("said of counts", *_COLUMNS.values()), rows)
    write_text(path, lines)


def _write_paired(path: Path, study: Study) -> None:
    """Write what exact counts are worth: F1 less that of all others, seed by seed."""
    rows, names = [], _names(study)
    for other in (*KNOWLEDGE[1:], *RIVALS):
        cells = []
        for name in names:
            exact, less = (study.by_seed(name, what, of="f1") for what in (KNOWLEDGE[0], other))
            cells.append(compared(exact, less))
        if any(cells):
            rows.append([other, *cells])
    write_text(path, table(("F1 with exact counts, less", *names), rows))


def _draw(path: Path, study: Study) -> None:
    """Draw F1 and held-out density of every seed, medians as bars; one column a set."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    names = _names(study)
    axes = figure.subplots(2, len(names), sharey=True, squeeze=False)
    for column, name in zip(axes.T, names, strict=True):
        exact = study.values(name, KNOWLEDGE[0], of="held out")
        least = float(np.median(exact)) - _FAR if exact.size else -np.inf
        _panel(column[0], study, name, "f1", -np.inf)
        _panel(column[1], study, name, "held out", least)
        column[0].set(title=name, xlabel="F1 of rows", xlim=(0, 1.03))
        column[1].set(xlabel="log density, hidden")
        column[1].locator_params(axis="x", nbins=4)
    for ax in axes[:, 0]:
        ax.set(
            yticks=range(len(KNOWLEDGE)), yticklabels=KNOWLEDGE, ylim=(len(KNOWLEDGE) - 0.4, -0.6)
        )
    save(figure, path)


_FAR = 1.0  # below the median with exact counts: shown at the left edge


def _panel(ax: Any, study: Study, name: str, quantity: str, least: float) -> None:
    for at, what in enumerate(KNOWLEDGE):
        v = study.values(name, what, of=quantity)
        near, far = v[v >= least], v[v < least]
        ax.plot(near, np.full(near.size, at), "o", color=BLUE, ms=5, alpha=0.5)
        ax.plot([least] * far.size, [at] * far.size, "<", color=BLUE, ms=7)
        if v.size:
            ax.plot([np.median(v)] * 2, [at - 0.3, at + 0.3], color=BLUE, lw=2)
    ax.grid(color="0.92")
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
