"""The driver of a run whose rows are elsewhere: a file, other processes, other machines.

What is drawn is what `ribp.fitting.fit` draws from the same data in memory, bit for bit, by
`gibbs-rows` or `structured`. Chains run one after another, each with everybody that has rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ribp import checks
from ribp.background_choice import (
    BackgroundChoice,
    asked_for,
    choose_background,
    with_background,
)
from ribp.checks import IntArray
from ribp.errors import InputError, Notice
from ribp.fitting import (
    CHOICE,
    About,
    Names,
    Run,
    pilot,
    planned,
    read_stored,
    searching,
    with_room,
)
from ribp.likelihoods import PoissonCounts
from ribp.mcmc import sampled_start
from ribp.model import Model
from ribp.results import Result
from ribp.running.chain import Plan, new_chains
from ribp.running.estimate import BUDGET, kept_bytes
from ribp.running.progress import Progress, ProgressOption
from ribp.running.progress import progress as progress_shown
from ribp.running.samplers import sampler
from ribp.scale.checkpoints import RowsCheckpoint
from ribp.scale.in_process import Keeper, Survey
from ribp.scale.row_methods import METHODS
from ribp.scale.sampler import ElsewhereChain, elsewhere
from ribp.threads import one_blas_thread

__all__ = ["check", "fit", "resume"]

_LEAST_KEPT = 3  # draws of a chain whose rows are kept, however large


def check(model: Model, keeper: Keeper, survey: Survey, method: str = "gibbs-rows") -> None:
    """Raise an `InputError` if such data cannot be fitted so with this model."""
    checks.one_of("method", method, METHODS)
    sampler(method, model)
    model.check_counts(survey.shape[0])
    if isinstance(model.likelihood, PoissonCounts) and not survey.counts:
        raise InputError(
            "X",
            "must hold counts (0, 1, 2, ..., at most 2**53) under the Poisson likelihood",
            "other numbers",
            'Correct them, or use likelihood="gaussian".',
        )
    first = np.arange(1)
    model.on_rows(first).check(keeper.take(first))


def fit(
    model: Model,
    keeper: Keeper,
    survey: Survey,
    method: str = "gibbs-rows",
    *,
    grow: bool = False,
    choose: bool = False,
    n_chains: int = 4,
    n_warmup: int = 500,
    n_draws: int = 500,
    thin: Any = "auto",
    progress: ProgressOption = "auto",
    checkpoint: str | Path | None = None,
    seed: int | Sequence[int] | None = None,
    dim_names: Names = None,
    row_names: Names = None,
    notices: Sequence[Notice] = (),
) -> Result:
    """Sample from the posterior; arguments as in `ribp.fitting.fit`.

    Parameters
    ----------
    keeper
        Whoever has the data.
    survey
        What its first look has found.
    method
        "gibbs-rows" or "structured".
    """
    plan = planned(n_chains, n_warmup, n_draws, thin, seed)
    check(with_background(model, True) if choose else model, keeper, survey, method)
    folder = None if checkpoint is None else RowsCheckpoint(checkpoint)
    if folder:
        folder.check_free()
    with progress_shown(progress, plan.n_chains) as shown:
        choice = asked_for(model.likelihood.background)
        if choose:
            choice = _choice(model, keeper, plan, shown)
            model = with_background(model, choice.on)
        keeper.use_units(model.likelihood)
        if grow:
            model = _with_room(model, keeper, method, plan, shown)
        if thin == "auto":
            plan = replace(plan, thin=thinning(plan, model.n_features, survey.shape))
        about = About(choice, dim_names, row_names, tuple(notices))
        run = _run(model, method, keeper, survey, plan, about)
        if folder:
            run.write_settings(folder)
        keeper.begin(model, method)
        return run.result(_chains(plan, keeper), shown, folder)


def resume(
    checkpoint: str | Path,
    keeper: Keeper,
    survey: Survey,
    *,
    n_draws: int | None = None,
    progress: ProgressOption = "auto",
) -> Result:
    """Go on with a run from its last checkpoint: the draws are those of a run never stopped."""
    folder = RowsCheckpoint(checkpoint)
    stored = read_stored(folder, survey.digest, n_draws)
    assert isinstance(stored.model, Model)
    run = _run(stored.model, stored.method, keeper, survey, stored.plan, stored.about)
    if n_draws is not None:
        run.write_settings(folder)
    keeper.begin(stored.model, stored.method)
    chains = _chains(stored.plan, keeper)
    for chain in chains:
        folder.read(chain, run.sampler)
    with progress_shown(progress, stored.plan.n_chains) as shown:
        return run.result(chains, shown, folder)


def thinning(plan: Plan, n_features: int, shape: tuple[int, int]) -> int:
    """Return the least thinning for which kept draws are not too large, or far too few."""
    whole = plan.n_chains * plan.n_draws * kept_bytes(shape[0], n_features, shape[1])
    return max(1, min(-(-whole // BUDGET), plan.n_draws // _LEAST_KEPT))


def _run(
    model: Model,
    method: str,
    keeper: Keeper,
    survey: Survey,
    plan: Plan,
    about: About,
) -> Run:
    return Run(
        model, method, plan, elsewhere(method, model), keeper, survey.shape,
        lambda: survey.digest, 1, about,
    )  # fmt: skip


def _chains(plan: Plan, keeper: Keeper) -> list[ElsewhereChain]:
    return [ElsewhereChain(chain.number, chain.rng, keeper=keeper) for chain in new_chains(plan)]


def _choice(model: Model, keeper: Keeper, plan: Plan, shown: Progress) -> BackgroundChoice:
    rng = pilot(plan, CHOICE)
    some = _some(rng, keeper.shape[0])
    with one_blas_thread():
        return choose_background(rng, model.on_rows(some), keeper.take(some), searching(shown))


def _some(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return the rows of a search before all chains."""
    return sampled_start.sample(rng, n_rows) if n_rows > sampled_start.SAMPLE else np.arange(n_rows)


def _with_room(model: Model, keeper: Keeper, method: str, plan: Plan, shown: Progress) -> Model:
    rng = pilot(plan)
    some = _some(rng, keeper.shape[0])
    with one_blas_thread():
        small = with_room(rng, model.on_rows(some), keeper.take(some), method, shown)
    return replace(model, n_features=small.n_features)
