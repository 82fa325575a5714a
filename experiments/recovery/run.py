"""Run the study: `python -m experiments.recovery.run`, ten minutes; `--quick` for a look.

For every case and seed one chain with default settings: the best of five starts, 100 sweeps of
warm-up, 100 draws. Rows are read off where a feature is on in more than half of the draws, features
as the mean of their draws. F1 of the rows after matching features one to one (Hungarian method);
the number of true features that some found one resembles, |correlation| above 0.95. A chain that
begins at the truth shows whether the posterior prefers another answer: its log joint stands beside.
Then the same without staging on the first four cases.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments.recovery.cases import NAMES, Case, load
from experiments.shared import parse, write_results
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.door import as_data
from ribp.mcmc import capacity, gibbs, start
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.testing.recovery import alike, f1
from ribp.threads import one_blas_thread

VARIANTS = {
    "default": start.Schedule(),
    "not staged": start.Schedule(staged=False),
}


class Found(NamedTuple):
    """What one chain found."""

    f1: float
    alike: int
    features: int
    log_joint: float
    truth_log_joint: float
    truth_f1: float
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("recovery", arguments)
    seeds, n_sweeps = (1, 20) if options.quick else (5, 100)
    began, console, found, seconds = time.perf_counter(), Console(), {}, {}
    for variant, schedule in VARIANTS.items():
        columns = ("F1, median", "least", "alike", "features", "log joint - truth", "seconds")
        table = Table("case", *columns, title=variant)
        for name in NAMES if variant == "default" else NAMES[:4]:
            runs = [_run(load(name, seed), seed, n_sweeps, schedule) for seed in range(seeds)]
            found[f"{variant}: {name}"] = [_numbers(run) for run in runs]
            seconds[f"{variant}: {name}"] = [run.seconds for run in runs]
            table.add_row(name, *_columns(runs))
        console.print(table)
        write_results(  # after each variant: they take minutes
            options,
            seeds=list(range(seeds)),
            setting={"n_sweeps": n_sweeps},
            numbers=found,
            timing={"minutes": (time.perf_counter() - began) / 60, "seconds": seconds},
        )


def _numbers(run: Found) -> dict[str, float]:
    return {name: value for name, value in run._asdict().items() if name != "seconds"}


def _columns(runs: list[Found]) -> list[str]:
    f1 = np.array([run.f1 for run in runs])
    above = np.array([run.log_joint - run.truth_log_joint for run in runs])
    return [
        f"{np.median(f1):.3f}",
        f"{f1.min():.3f}",
        " ".join(str(run.alike) for run in runs) if runs[0].alike else "",
        " ".join(str(run.features) for run in runs),
        f"{above.min():.0f} to {above.max():.0f}",
        f"{np.mean([run.seconds for run in runs]):.1f}",
    ]


def _run(case: Case, seed: int, n_sweeps: int, schedule: start.Schedule) -> Found:
    began = time.perf_counter()
    rng, data = np.random.default_rng(seed), as_data(case.data)
    likelihood = LinearGaussian(
        background=case.background, noise_variance=float(np.nanvar(case.data))
    )
    size = case.max_features or capacity.first_guess(case.counts)
    model = Model(case.counts, size, likelihood)
    with one_blas_thread():
        if case.max_features is None:
            model = capacity.with_room(rng, model, data, gibbs.update)
        state = start.best_start(rng, model, data, schedule=schedule)
        rows, features, log_joint = _means(rng, model, state, data, n_sweeps)
        seconds = time.perf_counter() - began
        truth = np.pad(case.rows, ((0, 0), (0, model.n_features - case.rows.shape[1])))
        at_truth = start.from_rows(rng, model, data, truth)
        kept, _, truth_log_joint = _means(rng, model, at_truth, data, n_sweeps // 2)
    on = rows > 0.5
    same = 0 if case.components is None else alike(features[on.any(axis=0)], case.components)
    return Found(
        f1(on, case.rows), same, int(on.any(axis=0).sum()), log_joint, truth_log_joint,
        f1(kept > 0.5, case.rows), seconds,
    )  # fmt: skip


def _means(rng: Any, model: Model, state: Any, data: Any, n_draws: int) -> tuple[Any, Any, float]:
    """Return means of rows, features and log joint along a chain, after as long a warm-up."""
    seed = kernel_seed(rng)
    for _ in range(n_draws):
        state, _ = gibbs.update(rng, seed, state, model, data)
    rows = np.zeros(state.rows.shape)
    features, total = np.zeros(state.parameters.features.shape), 0.0
    for _ in range(n_draws):
        state, info = gibbs.update(rng, seed, state, model, data)
        rows += state.rows / n_draws
        features += state.parameters.features / n_draws
        total += info.log_joint / n_draws
    return rows, features, total


if __name__ == "__main__":
    main()
