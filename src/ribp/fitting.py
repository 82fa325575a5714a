"""From a model and data to a `Result`: the one entry to all samplers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ribp import checks
from ribp.errors import FitWarning, InputError, StorageError
from ribp.likelihoods.base import Data
from ribp.mcmc import capacity, gibbs, gibbs_rows
from ribp.model import Model
from ribp.results import Result
from ribp.results.settings import AnyModel, describe
from ribp.results.settings import model as rebuilt
from ribp.results.tree import build
from ribp.running.chain import Chain, Plan, new_chains
from ribp.running.checkpoint import Checkpoint, digest
from ribp.running.estimate import estimate, thinning
from ribp.running.progress import Event, Progress, ProgressOption
from ribp.running.progress import progress as progress_shown
from ribp.running.run import run_chains
from ribp.running.samplers import sampler
from ribp.threads import n_cores, one_blas_thread

__all__ = ["fit", "resume"]

Names = Sequence[Any] | None

_LONG = 10.0  # seconds from which on an estimate is worth a line
_PLANNED = ("n_chains", "n_warmup", "n_draws", "thin")
_PILOT = 2**31  # the key of its randomness, apart from those of chains


def fit(
    model: AnyModel,
    data: Data,
    method: str = "gibbs",
    *,
    grow: bool = False,
    n_chains: int = 4,
    n_warmup: int = 500,
    n_draws: int = 500,
    thin: int | Literal["auto"] = "auto",
    n_jobs: int | None = None,
    progress: ProgressOption = "auto",
    checkpoint: str | Path | None = None,
    seed: int | Sequence[int] | None = None,
    dim_names: Names = None,
    row_names: Names = None,
) -> Result:
    """Sample from the posterior.

    Parameters
    ----------
    model, data
        What is sampled, given what; see `ribp.likelihoods.door.as_data`.
    method
        "gibbs", "gibbs-rows", "augmented", "structured" or "hybrid"; "buffet" for a `BuffetModel`;
        "buffet-variational" or "buffet-hybrid" for a `FiniteBuffetModel`.
    grow
        Whether the model may get more features if it needs them, before chains begin.
    n_chains, n_warmup, n_draws
        Chains, and sweeps of each that are thrown away and kept.
    thin
        Features and rows are kept of every `thin`-th draw; "auto" for at most 100 MB in all.
    n_jobs
        Chains at once; None for one a core.
    progress
        "auto" for bars or lines, False for silence, or a function of an `Event`.
    checkpoint
        A folder that is empty or does not exist yet, from which `resume` goes on.
    seed
        Whole numbers from which all randomness comes; None for fresh ones.
    dim_names, row_names
        Names of columns and rows of the data.
    """
    plan = _plan(n_chains, n_warmup, n_draws, thin, seed)
    sampler(method, model).check(data)
    folder = None if checkpoint is None else Checkpoint(checkpoint)
    if folder:
        folder.check_free()
    with progress_shown(progress, plan.n_chains) as shown:
        if grow and isinstance(model, Model):
            model = _with_room(model, data, method, plan, shown)
        if thin == "auto":
            plan = replace(plan, thin=thinning(plan, model, data.values.shape))
        run = _Run(model, method, data, plan, n_jobs, dim_names, row_names)
        if folder:
            run.write_settings(folder)
        run.announce(shown)
        return run.result(new_chains(plan), shown, folder)


def resume(
    checkpoint: str | Path,
    data: Data,
    *,
    n_draws: int | None = None,
    n_jobs: int | None = None,
    progress: ProgressOption = "auto",
) -> Result:
    """Go on with a run from its last checkpoint: the draws are those of a run never stopped.

    Parameters
    ----------
    checkpoint
        The folder that was given to `fit`.
    data
        The same data.
    n_draws
        None for as many draws as were asked for; or more.
    n_jobs, progress
        As in `fit`.
    """
    folder = Checkpoint(checkpoint)
    known, arrays = folder.settings(), folder.arrays()
    if known.get("data") != digest(data):
        raise InputError(
            "data",
            f"must be those of the run in {folder.folder}",
            f"{data.values.shape[0]} rows of {data.values.shape[1]} other numbers",
            "Pass the data that the run was started with.",
        )
    try:
        settings = known["settings"]
        model = rebuilt(settings, arrays.get("law_of_row"))
        plan = Plan(**{name: settings[name] for name in _PLANNED}, seed=tuple(settings["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            folder.folder, f"has settings that make no sense ({error})", "Start the run afresh."
        ) from None
    if n_draws is not None:
        plan = replace(plan, n_draws=checks.integer("n_draws", n_draws, least=plan.n_draws))
    run = _Run(
        model, settings["method"], data, plan, n_jobs, known["dim_names"], known["row_names"]
    )
    if n_draws is not None:
        run.write_settings(folder)
    chains = new_chains(plan)
    for chain in chains:
        folder.read(chain, run.sampler)
    with progress_shown(progress, plan.n_chains) as shown:
        return run.result(chains, shown, folder)


class _Run:
    """All that is known of a run before its first sweep."""

    def __init__(
        self,
        model: AnyModel,
        method: str,
        data: Data,
        plan: Plan,
        n_jobs: int | None,
        dim_names: Names,
        row_names: Names,
    ) -> None:
        jobs = n_cores() if n_jobs is None else checks.integer("n_jobs", n_jobs, least=1)
        self.model, self.method, self.data, self.plan = model, method, data, plan
        self.n_jobs = min(jobs, plan.n_chains)
        self.sampler = sampler(method, model, max(1, jobs // plan.n_chains))
        named = {"dim_names": dim_names, "row_names": row_names}
        self.names = {k: None if v is None else [str(one) for one in v] for k, v in named.items()}
        self.settings = describe(model, method, data.values.shape) | asdict(plan)
        self.law_of_row = model.counts.index if isinstance(model, Model) else None

    def write_settings(self, folder: Checkpoint) -> None:
        """Begin a run on disk, or change how long it is to be."""
        known = {"settings": self.settings, "data": digest(self.data), **self.names}
        if folder.exists():
            folder.write_settings(known)
        else:
            arrays = {} if self.law_of_row is None else {"law_of_row": self.law_of_row}
            folder.create(known, **arrays)

    def announce(self, shown: Progress) -> None:
        """Say what a long run will take."""
        expected = estimate(self.sampler, self.data, self.plan, self.n_jobs)
        if expected.seconds > _LONG:
            plan = self.plan
            shown.say(f"{plan.n_chains} chains of {plan.n_sweeps} sweeps: {expected}")

    def result(self, chains: Sequence[Chain], shown: Progress, folder: Checkpoint | None) -> Result:
        """Run the chains and return what they found."""
        ended = run_chains(
            self.sampler, self.data, self.plan, chains, n_jobs=self.n_jobs, progress=shown,
            checkpoint=folder,
        )  # fmt: skip
        if not any(chain.draws.posterior for chain in chains):
            raise KeyboardInterrupt(_NOTHING if folder is None else _NOTHING + _RESUME)
        stopped = f"Stopped before all {self.plan.n_draws} draws were made."
        for text in [stopped] * ended.interrupted + ended.warnings:
            warnings.warn(text, FitWarning, stacklevel=3)
        most = max(len(one["log_odds"]) for chain in chains for one in chain.draws.features)
        tree = build(
            [chain.draws for chain in chains],
            self.settings | ({"n_features": most} if self.method == "augmented" else {}),
            law_of_row=self.law_of_row,
            interrupted=ended.interrupted,
            warnings=ended.warnings,
            **self.names,
        )
        return Result(tree)


_NOTHING = "stopped before the first draw"
_RESUME = "; the run can be resumed from its checkpoint"


def _with_room(model: Model, data: Data, method: str, plan: Plan, shown: Progress) -> Model:
    """Return the model with as many features as a short chain needs."""
    rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(_PILOT,)))
    update = gibbs_rows.update if method == "gibbs-rows" else gibbs.update

    def tick(done: int, total: int) -> None:
        shown(Event(0, "search", done, total, 0.0, 0, float("nan")))

    with one_blas_thread():
        return capacity.with_room(rng, model, data, update, tick)


def _plan(
    n_chains: int, n_warmup: int, n_draws: int, thin: Any, seed: int | Sequence[int] | None
) -> Plan:
    if seed is None:
        seed = np.random.SeedSequence().generate_state(4).tolist()
    entropy = checks.integers("seed", np.atleast_1d(np.asarray(seed, dtype=object)).tolist())
    return Plan(
        checks.integer("n_chains", n_chains, least=1),
        checks.integer("n_warmup", n_warmup),
        checks.integer("n_draws", n_draws, least=1),
        1 if thin == "auto" else checks.integer("thin", thin, least=1),
        tuple(entropy.tolist()),
    )
