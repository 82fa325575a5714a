"""From a model and data to a `Result`: the one entry to all samplers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ribp import checks
from ribp.background_choice import (
    BackgroundChoice,
    asked_for,
    choose_background,
    with_background,
)
from ribp.errors import FitWarning, InputError, Notice, StorageError
from ribp.likelihoods.base import Data
from ribp.likelihoods.column_notices import offset_notices
from ribp.likelihoods.moments import MANY
from ribp.mcmc import capacity, gibbs, gibbs_rows, sampled_start
from ribp.mcmc.start import Tick
from ribp.model import Model
from ribp.results import Result
from ribp.results.settings import MOST_CHAINS, MOST_SWEEPS, AnyModel, checked, describe
from ribp.results.settings import model as rebuilt
from ribp.results.tree import build
from ribp.running.chain import Chain, Plan, new_chains
from ribp.running.checkpoint import Checkpoint, digest
from ribp.running.estimate import estimate, thinning
from ribp.running.progress import Event, Progress, ProgressOption
from ribp.running.progress import progress as progress_shown
from ribp.running.run import run_chains
from ribp.running.samplers import Sampler, sampler
from ribp.threads import n_cores, one_blas_thread

__all__ = ["fit", "resume"]

Names = Sequence[Any] | None

_LONG = 10.0  # seconds from which on an estimate is worth a line
_PLANNED = ("n_chains", "n_warmup", "n_draws", "thin")
_PILOT, CHOICE = 2**31, 2**31 + 1  # keys of their randomness, apart from those of chains
_BY_BLOCKS = ("gibbs-rows", "structured", "stochastic")  # look at some rows at a time


def fit(
    model: AnyModel,
    data: Data,
    method: str = "gibbs",
    *,
    grow: bool = False,
    choose: bool = False,
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
    notices: Sequence[Notice] = (),
) -> Result:
    """Sample from the posterior.

    Parameters
    ----------
    model, data
        What is sampled, given what; see `ribp.likelihoods.door.as_data`. Data are in the units of
        the user, and so is what is found; samplers see the standard units of the likelihood.
    method
        "gibbs", "gibbs-rows", "augmented", "structured", "stochastic" or "hybrid"; "buffet" for a
        `BuffetModel`; "buffet-variational" or "buffet-hybrid" for a `FiniteBuffetModel`.
    grow
        Whether the model may get more features if it needs them, before chains begin.
    choose
        Whether a background is switched on or off as a short search finds best.
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
    notices
        What was found strange about the data: kept with the result.
    """
    plan = planned(n_chains, n_warmup, n_draws, thin, seed)
    sampler(method, with_background(model, True) if choose else model).check(data)
    folder = None if checkpoint is None else Checkpoint(checkpoint)
    if folder:
        folder.check_free()
    with progress_shown(progress, plan.n_chains) as shown:
        choice = asked_for(model.likelihood.background)
        if choose:
            choice = _choice(model, data, plan, shown)
            model = with_background(model, choice.on)
        if grow and isinstance(model, Model):
            model = _with_room(model, data, method, plan, shown)
        if thin == "auto":
            plan = replace(plan, thin=thinning(plan, model, data.values.shape))
        about = About(choice, dim_names, row_names, tuple(notices))
        run = _run_in_memory(model, method, data, plan, n_jobs, about)
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
    stored = read_stored(folder, digest(data), n_draws)
    run = _run_in_memory(stored.model, stored.method, data, stored.plan, n_jobs, stored.about)
    if n_draws is not None:
        run.write_settings(folder)
    chains = new_chains(stored.plan)
    for chain in chains:
        folder.read(chain, run.sampler)
    with progress_shown(progress, stored.plan.n_chains) as shown:
        return run.result(chains, shown, folder)


class About(NamedTuple):
    """What is said of a run beside its model and its plan."""

    choice: BackgroundChoice
    """Whether there is a background, and why."""
    dim_names: Names = None
    row_names: Names = None
    notices: tuple[Notice, ...] = ()
    """What was found strange about the data."""

    def to_json(self) -> dict[str, Any]:
        """Return what a checkpoint keeps beside the settings."""
        names = {"dim_names": self.dim_names, "row_names": self.row_names}
        texts = {k: None if v is None else [str(one) for one in v] for k, v in names.items()}
        return {**texts, "notices": [list(notice) for notice in self.notices]}


class Stored(NamedTuple):
    """What a checkpoint says of its run."""

    model: AnyModel
    method: str
    plan: Plan
    about: About


def read_stored(folder: Checkpoint, fingerprint: str, n_draws: int | None) -> Stored:
    """Return what the run in a folder was asked for; its data must have this fingerprint."""
    known, arrays = folder.settings(), folder.arrays()
    if known.get("data") != fingerprint:
        raise InputError(
            "data",
            f"must be those of the run in {folder.folder}",
            "other numbers, or another shape",
            "Pass the data that the run was started with.",
        )
    try:
        settings = checked(known["settings"])
        model = rebuilt(settings, arrays.get("law_of_row"))
        plan = Plan(**{name: settings[name] for name in _PLANNED}, seed=tuple(settings["seed"]))
        choice = BackgroundChoice(**settings["background_choice"])
        notices = tuple(Notice(str(code), str(text)) for code, text in known["notices"])
        about = About(choice, known["dim_names"], known["row_names"], notices)
        stored = Stored(model, settings["method"], plan, about)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(
            folder.folder, f"has settings that make no sense ({error})", "Start the run afresh."
        ) from None
    if n_draws is None:
        return stored
    more = checks.integer("n_draws", n_draws, least=plan.n_draws, most=MOST_SWEEPS)
    return stored._replace(plan=replace(plan, n_draws=more))


class Run:
    """All that is known of a run before its first sweep.

    Parameters
    ----------
    model, method, plan
        What is run, and for how long.
    sampler, data
        Who makes sweeps, and what it takes for data: a `Data`, or whoever has them.
    shape, fingerprint
        Of the data.
    n_jobs
        Chains at once.
    about
        What else is said of it.
    """

    def __init__(
        self,
        model: AnyModel,
        method: str,
        plan: Plan,
        sampler: Sampler,
        data: Any,
        shape: tuple[int, ...],
        fingerprint: Callable[[], str],
        n_jobs: int,
        about: About,
    ) -> None:
        self.method, self.data, self.plan = method, data, plan
        self.sampler, self.n_jobs, self.fingerprint = sampler, n_jobs, fingerprint
        self.about, self.likelihood = about, model.likelihood
        self.settings = describe(model, method, shape, about.choice) | asdict(plan)
        self.law_of_row = model.counts.index if isinstance(model, Model) else None

    def write_settings(self, folder: Checkpoint) -> None:
        """Begin a run on disk, or change how long it is to be."""
        known = {"settings": self.settings, "data": self.fingerprint(), **self.about.to_json()}
        if folder.exists():
            folder.write_settings(known)
        else:
            arrays = {} if self.law_of_row is None else {"law_of_row": self.law_of_row}
            folder.create(known, **arrays)

    def _offsets(self) -> list[Notice]:
        """Return a notice if columns are far from zero and there is no background."""
        units = getattr(self.likelihood, "units", None)
        if units is None or self.likelihood.background:
            return []
        return offset_notices(units.means / units.spreads, self.about.dim_names)

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
        for text in [stopped] * ended.interrupted + [one.text for one in ended.warnings]:
            warnings.warn(text, FitWarning, stacklevel=3)
        most = max(len(one["log_odds"]) for chain in chains for one in chain.draws.features)
        tree = build(
            [chain.draws for chain in chains],
            self.settings | ({"n_features": most} if self.method == "augmented" else {}),
            law_of_row=self.law_of_row,
            interrupted=ended.interrupted,
            warnings=[*self.about.notices, *self._offsets(), *ended.warnings],
            dim_names=self.about.dim_names,
            row_names=self.about.row_names,
        )
        return Result(tree).judged(getattr(self.data, "take", None) or self.data.rows)


def _run_in_memory(
    model: AnyModel,
    method: str,
    data: Data,
    plan: Plan,
    n_jobs: int | None,
    about: About,
) -> Run:
    jobs = n_cores() if n_jobs is None else checks.integer("n_jobs", n_jobs, least=1)
    chosen = sampler(method, model, max(1, jobs // plan.n_chains))
    likelihood, large = model.likelihood, data.shape[0] > MANY and method in _BY_BLOCKS
    standard = likelihood.standard_on_demand if large else likelihood.standard
    return Run(
        model, method, plan, chosen, standard(data), data.shape, lambda: digest(data),
        min(jobs, plan.n_chains), about,
    )  # fmt: skip


_NOTHING = "stopped before the first draw"
_RESUME = "; the run can be resumed from its checkpoint"


def _choice(model: AnyModel, data: Data, plan: Plan, shown: Progress) -> BackgroundChoice:
    """Return whether the model needs a background, found on some rows if there are many."""
    rng, some = pilot(plan, CHOICE), np.arange(data.shape[0])
    if data.shape[0] > sampled_start.SAMPLE:
        some = sampled_start.sample(rng, data.shape[0])
        model = model.on_rows(some) if isinstance(model, Model) else model
    with one_blas_thread():
        return choose_background(rng, model, data.rows(some), searching(shown))


def _with_room(model: Model, data: Data, method: str, plan: Plan, shown: Progress) -> Model:
    """Return the model with as many features as a short chain needs, on some rows if many."""
    rng, n_rows = pilot(plan), data.shape[0]
    if method in _BY_BLOCKS and n_rows > sampled_start.SAMPLE:
        some = sampled_start.sample(rng, n_rows)
        here = model.likelihood.standard(data.rows(some))
        small = with_room(rng, model.on_rows(some), here, method, shown)
        return replace(model, n_features=small.n_features)
    return with_room(rng, model, model.likelihood.standard(data), method, shown)


def pilot(plan: Plan, key: int = _PILOT) -> np.random.Generator:
    """Return the randomness of what comes before all chains."""
    return np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(key,)))


def searching(shown: Progress) -> Tick:
    """Return what a search before all chains tells of its progress."""

    def tick(done: int, total: int) -> None:
        shown(Event(0, "search", done, total, 0.0, 0, float("nan")))

    return tick


def with_room(
    rng: np.random.Generator, model: Model, data: Data, method: str, shown: Progress
) -> Model:
    """Return the model with as many features as a short chain on these data needs."""
    update = gibbs_rows.update if method == "gibbs-rows" else gibbs.update
    with one_blas_thread():
        return capacity.with_room(rng, model, data, update, searching(shown))


def planned(
    n_chains: int, n_warmup: int, n_draws: int, thin: Any, seed: int | Sequence[int] | None
) -> Plan:
    """Return the plan of a run, its arguments checked; a fresh seed if there is none."""
    if seed is None:
        seed = np.random.SeedSequence().generate_state(4).tolist()
    return Plan(
        checks.integer("n_chains", n_chains, least=1, most=MOST_CHAINS),
        checks.integer("n_warmup", n_warmup, most=MOST_SWEEPS),
        checks.integer("n_draws", n_draws, least=1, most=MOST_SWEEPS),
        1 if thin == "auto" else checks.integer("thin", thin, least=1),
        checks.seeds("seed", seed),
    )
