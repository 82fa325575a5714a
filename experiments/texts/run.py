"""Run it: `python -m experiments.texts.run --data FOLDER`; `--quick` for a look.

The two sets of Reuters stories of `experiments.real_features`, whose topics and their numbers are
known: mix (1070 stories of one to three topics, 200 words) and digest (730 texts of one topic or
five, 1713 words). Counts of words have the Poisson likelihood, with a background; all are told the
number of topics in all and of each row. They differ in what they know of rows and entries:

- exposure: none; given, the words of a row over its number of topics, divided by their mean; or
  learned;
- entries: on or off, or with strengths.

Each by one chain: the better of two starts, 100 sweeps of which the second half is kept, rows get
the topics that are on in most draws. Beside them NMF of log(1 + count), as in `real_features`, and
NMF of the counts by Kullback and Leibler's divergence, which is the Poisson likelihood without a
law of what a row has; rows get the topics that are most active. F1 of the entries of Z after
features were matched one to one (Hungarian method).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import NMF

from experiments.chains import chain, largest
from experiments.real_features.cases import Case, load
from experiments.real_features.methods import Answer, nmf
from experiments.real_features.methods import sklearn_rows as by_sklearn
from experiments.shared import table, write_text
from experiments.study import Study, median, parse, parser
from ribp.counts import as_row_counts
from ribp.likelihoods import PoissonCounts, PoissonStrengths
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.testing.recovery import f1, feature_f1

CASES = ("mix", "digest")


class Scale(NamedTuple):
    """How much is run."""

    n_seeds: int = 5
    n_sweeps: int = 100
    n_rows: int | None = None
    n_dims: int | None = None


QUICK = Scale(1, 4, 60, 30)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("texts"), arguments)
    scale = QUICK if given.quick else Scale()
    study = Study(given, {k: v for k, v in scale._asdict().items() if k != "n_seeds"})
    for name in CASES:
        case = load(name, given.data)
        if scale.n_rows is not None and scale.n_dims is not None:
            case = case.part(scale.n_rows, scale.n_dims)
        for seed, method in product(range(scale.n_seeds), METHODS):
            if study.wants(name, method, seed):
                rows, seconds = _answer(method, case, seed, scale.n_sweeps)
                numbers = {
                    "F1": f1(rows, case.rows),
                    "by feature": float(feature_f1(rows, case.rows).mean()),
                }
                study.add(name, method, seed, numbers=numbers, seconds=seconds)
    _write(given.out / "table.md", study)


POISSON = {
    "Poisson": (PoissonCounts, "one"),
    "Poisson, exposure given": (PoissonCounts, "given"),
    "Poisson, exposure learned": (PoissonCounts, "learn"),
    "Poisson, strengths": (PoissonStrengths, "one"),
    "Poisson, strengths, exposure given": (PoissonStrengths, "given"),
    "Poisson, strengths, exposure learned": (PoissonStrengths, "learn"),
}
METHODS = ("NMF", "NMF of counts", *POISSON)


def _answer(method: str, case: Case, seed: int, n_sweeps: int) -> tuple[Any, float]:
    """Return the rows that a method finds, and its seconds of the processor."""
    if method in POISSON:
        return _poisson(case, seed, n_sweeps, *POISSON[method])
    found = nmf(case, seed, n_sweeps) if method == "NMF" else _nmf_of_counts(case, seed)
    return found.rows["NMF"], found.seconds


def exposures(case: Case) -> Any:
    """Return the words of each row over its number of topics, divided by their mean."""
    assert case.word_counts is not None
    lengths = np.maximum(case.word_counts.sum(axis=1), 1.0) / np.maximum(case.k, 1)
    return lengths / lengths.mean()


def _poisson(case: Case, seed: int, n_sweeps: int, kind: Any, exposure: str) -> tuple[Any, float]:
    assert case.word_counts is not None
    mean = float(case.word_counts.mean())
    law = kind(background=True, prior_mean=mean, exposure=exposure)
    model = Model(as_row_counts(case.k, len(case.rows)), case.rows.shape[1], law)
    data = as_data(case.word_counts)
    if exposure == "given":
        data = data._replace(exposures=exposures(case))
    found = chain(seed, model, data, n_sweeps)
    return largest(found.row_probs, case.k), found.seconds


def _nmf_of_counts(case: Case, seed: int) -> Answer:
    model = NMF(
        case.rows.shape[1], init="nndsvda", solver="mu", beta_loss="kullback-leibler",
        random_state=seed, max_iter=500,
    )  # fmt: skip
    words: Any = case.word_counts
    return by_sklearn("NMF", model, words, case)


def _write(path: Path, study: Study) -> None:
    """Write F1 and seconds as a table, medians and quartiles."""
    lines: list[str] = []
    for of, title in (("F1", "F1 of all entries"), ("by feature", "F1, mean over topics")):
        rows = [[one, *(median(study.values(c, one, of=of)) for c in CASES)] for one in METHODS]
        lines += [f"**{title}.**", "", *table(("", *CASES), rows)]
    rows = [[m, *(median(study.values(c, m, of="seconds"), 1) for c in CASES)] for m in METHODS]
    lines += ["**Seconds of the processor.**", "", *table(("", *CASES), rows)]
    runs = [f"{case} {study.values(case, METHODS[-1], of='F1').size}" for case in CASES]
    write_text(path, [*lines, f"Seeds: {', '.join(runs)}."])


if __name__ == "__main__":
    main()
