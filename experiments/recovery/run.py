"""Run the study: `python -m experiments.recovery.run`, some minutes; `--quick` for a look.

For every case and seed one chain with default settings: the best of six starts, 100 sweeps of
warm-up, 100 draws. Rows are read off where a feature is on in more than half of the draws, features
as the mean of their draws. F1 of the rows after matching features one to one (Hungarian method);
the number of true features that some found one resembles, |correlation| above 0.95. A chain that
begins at the truth shows whether the posterior prefers another answer: its log joint stands beside.
Then the same without staging on the first four cases, and with defaults on five further seeds, on
which nothing was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from experiments.recovery.cases import NAMES, Case, load
from experiments.shared import parse, table, write_results, write_text
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.moments import moments
from ribp.likelihoods.units import Units
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search import capacity, starts
from ribp.testing.recovery import f1, n_recovered
from ribp.threads import one_blas_thread


class Plan(NamedTuple):
    """Which cases and seeds are run, and how starts are made."""

    cases: Sequence[str] = NAMES
    first_seed: int = 0
    schedule: starts.Schedule = starts.Schedule()


PLANS = {
    "default": Plan(),
    "not staged": Plan(NAMES[:4], schedule=starts.Schedule(staged=False)),
    "further seeds": Plan(("chords-window", "bars", "signed"), first_seed=5),
}
N_SEEDS = 5


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
    n_seeds, n_sweeps = (1, 20) if options.quick else (N_SEEDS, 100)
    plans = {name: PLANS[name] for name in list(PLANS)[: 2 if options.quick else None]}
    began, console, found, seconds = time.perf_counter(), Console(), {}, {}
    for variant, plan in plans.items():
        seeds = range(plan.first_seed, plan.first_seed + n_seeds)
        for name in plan.cases:
            runs = [_run(load(name, seed), seed, n_sweeps, plan.schedule) for seed in seeds]
            key = f"{variant}: {name}"
            found[key] = [_numbers(run) for run in runs]
            seconds[key] = [run.seconds for run in runs]
            console.print(f"{key}: F1 {' '.join(f'{run.f1:.3f}' for run in runs)}")
        numbers = write_results(  # after each variant: they take minutes
            options,
            seeds=sorted({p.first_seed + at for p in plans.values() for at in range(n_seeds)}),
            setting={"n_sweeps": n_sweeps},
            numbers=found,
            timing={"minutes": (time.perf_counter() - began) / 60, "seconds": seconds},
        )
    for file, lines in tables(numbers).items():
        write_text(options.out / file, lines)


def _numbers(run: Found) -> dict[str, float]:
    return {name: value for name, value in run._asdict().items() if name != "seconds"}


_COLUMNS = ("F1, median (least)", "alike", "features found", "log joint less that at the truth")
_TITLES = {
    "default": "Defaults",
    "not staged": "Without staging",
    "further seeds": "Defaults, further seeds",
}


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables as Markdown, by the name of a file."""
    lines = []
    for variant, title in _TITLES.items():
        begins = f"{variant}: "
        names = [key.removeprefix(begins) for key in numbers if key.startswith(begins)]
        if names:
            rows = [[name, *_cells(numbers[begins + name])] for name in names]
            lines += [f"**{title}.**", "", *table(("case", *_COLUMNS), rows)]
    return {"table.md": lines}


def _cells(runs: list[dict[str, float]]) -> list[str]:
    f1 = [run["f1"] for run in runs]
    above = [run["log_joint"] - run["truth_log_joint"] for run in runs]
    return [
        f"{np.median(f1):.3f} ({min(f1):.3f})",
        " ".join(str(run["alike"]) for run in runs) if runs[0]["alike"] else "",
        " ".join(str(run["features"]) for run in runs),
        f"{min(above):.0f} to {max(above):.0f}",
    ]


def _run(case: Case, seed: int, n_sweeps: int, schedule: starts.Schedule) -> Found:
    began = time.perf_counter()
    rng, data = np.random.default_rng(seed), as_data(case.data)
    likelihood = LinearGaussian(background=case.background, units=Units.of(moments(data)))
    data = likelihood.standard(data)
    size = case.max_features or capacity.first_guess(case.counts)
    model = Model(case.counts, size, likelihood)
    with one_blas_thread():
        if case.max_features is None:
            model = capacity.with_room(rng, model, data, gibbs.update)
        state = starts.best_start(rng, model, data, schedule=schedule)
        rows, features, log_joint = _means(rng, model, state, data, n_sweeps)
        seconds = time.perf_counter() - began
        truth = np.pad(case.rows, ((0, 0), (0, model.n_features - case.rows.shape[1])))
        at_truth = starts.from_rows(rng, model, data, truth)
        kept, _, truth_log_joint = _means(rng, model, at_truth, data, n_sweeps // 2)
    on = rows > 0.5
    same = 0 if case.components is None else n_recovered(features[on.any(axis=0)], case.components)
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
        features += model.likelihood.reported(state.parameters).features / n_draws
        total += info.log_joint / n_draws
    return rows, features, total


if __name__ == "__main__":
    main()
