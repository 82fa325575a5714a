"""From a model and data to a `Result`: the one entry to all samplers.

`prepare` validates everything before any work; `run` searches, samples and returns the result;
`fit` does one after the other, and `resume` goes on from a checkpoint.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ribp import checks
from ribp.errors import FitWarning, InputError, Notice, StorageError
from ribp.likelihoods import exposures
from ribp.likelihoods.data import Data
from ribp.model import Model
from ribp.results import Result
from ribp.results.settings import MOST_CHAINS, MOST_SWEEPS, AnyModel, checked, describe
from ribp.results.settings import model as rebuilt
from ribp.results.tree import build
from ribp.rows.column_notices import offset_notices
from ribp.rows.local import in_memory
from ribp.rows.store import RowStore
from ribp.running.chain import Chain, Plan, new_chains
from ribp.running.checkpoint import Checkpoint
from ribp.running.estimate import estimate, thinning
from ribp.running.progress import Event, Progress, ProgressOption
from ribp.running.progress import progress as progress_shown
from ribp.running.run import Ended, run_chains
from ribp.running.samplers import sampler, searches
from ribp.search.background import BackgroundChoice, asked_for, with_background
from ribp.search.pool import Pool, Reached, Search, Start, searched_rows, settle
from ribp.threads import n_workers

Names = Sequence[Any] | None

_LONG = 10.0  # seconds from which on an estimate is worth a line
_PLANNED = ("n_chains", "n_warmup", "n_draws", "thin")
_SEARCHED = 2**31 + 1  # key of which rows are searched, apart from those of chains and starts


def fit(
    model: AnyModel,
    data: Data | RowStore,
    method: str = "gibbs",
    *,
    n_jobs: int | None = None,
    progress: ProgressOption = "auto",
    checkpoint: str | Path | None = None,
    **options: Any,
) -> Result:
    """Sample from the posterior.

    Parameters
    ----------
    model, data, method
        As in `prepare`, like all `options`.
    n_jobs, progress, checkpoint
        As in `run`.
    """
    prepared = prepare(model, data, method, **options)
    return run(prepared, n_jobs=n_jobs, progress=progress, checkpoint=checkpoint)


class Prepared(NamedTuple):
    """A fit, validated and not begun."""

    model: AnyModel
    store: RowStore
    method: str
    plan: Plan
    about: About
    grow: bool
    """Whether the model may get more features."""
    choose: bool
    """Whether a search decides on the background."""
    auto_thin: bool
    """Whether thinning follows from the size of a draw."""


def prepare(
    model: AnyModel,
    data: Data | RowStore,
    method: str = "gibbs",
    *,
    grow: bool = False,
    choose: bool = False,
    n_chains: int = 4,
    n_warmup: int = 500,
    n_draws: int = 500,
    thin: int | Literal["auto"] = "auto",
    seed: int | Sequence[int] | None = None,
    dim_names: Names = None,
    row_names: Names = None,
    notices: Sequence[Notice] = (),
) -> Prepared:
    """Return a fit, or raise an `InputError` if such data cannot be fitted so.

    Parameters
    ----------
    model, data
        What is sampled, given what: data in memory (`ribp.likelihoods.validation.as_data`), or a
        row store. Data are in the units of the user, and so is what is found; samplers see the
        standard units of the likelihood.
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
    seed
        Whole numbers from which all randomness comes; None for fresh ones.
    dim_names, row_names
        Names of columns and rows of the data.
    notices
        What was found strange about the data: kept with the result.
    """
    plan, store = _planned(n_chains, n_warmup, n_draws, thin, seed), _as_store(data)
    exposures.check_store(model.likelihood.exposure, store.exposures)
    sampler(method, with_background(model, True) if choose else model).check(store)
    about = About(asked_for(model.likelihood.background), dim_names, row_names, tuple(notices))
    return Prepared(model, store, method, plan, about, grow, choose, thin == "auto")


def run(
    prepared: Prepared,
    *,
    n_jobs: int | None = None,
    progress: ProgressOption = "auto",
    checkpoint: str | Path | None = None,
) -> Result:
    """Search for a start, sample, and return the result.

    Parameters
    ----------
    prepared
        What to fit.
    n_jobs
        Cores to use; None for all. Chains run at once where data are in memory; otherwise one after
        another, each on all cores or workers.
    progress
        "auto" for bars or lines, False for silence, or a function of an `Event`.
    checkpoint
        A folder that is empty or does not exist yet, from which `resume` goes on.
    """
    cores, folder = n_workers(n_jobs), None if checkpoint is None else Checkpoint(checkpoint)
    if folder:
        folder.check_free()
    with progress_shown(progress, prepared.plan.n_chains) as shown:
        prepared, pool = _settled(prepared, cores, shown)
        job = _Job(prepared, pool, cores)
        if folder:
            job.write_settings(folder)
        if shown.is_shown:
            job.announce(shown)
        chains = new_chains(job.plan)
        ended = run_chains(
            job.sampler, job.store, job.plan, chains, job.pool, n_jobs=job.at_once,
            progress=shown, checkpoint=folder,
        )  # fmt: skip
    return job.result(chains, ended, folder)


def _settled(prepared: Prepared, cores: int, shown: Progress) -> tuple[Prepared, Pool]:
    """Return a fit with background, number of features and thinning decided, and its starts."""
    model, store, method, plan, about = prepared[:5]
    rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(_SEARCHED,)))
    some = searched_rows(rng, store.shape[0])
    search = Search(
        model.on_rows(some) if isinstance(model, Model) else model,
        store.take(some),
        some,
        plan.seed,
        plan.n_chains if searches(method) else 0,
        prepared.grow,
        prepared.choose,
    )

    def tick(done: int, total: int) -> None:
        shown(Event(0, "search", done, total, 0.0, 0, float("nan")))

    try:
        found = settle(search, cores, tick)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_NOTHING) from None
    model = with_background(model, found.choice.on)
    if prepared.grow:
        model = replace(model, n_features=found.model.n_features)
    store.use_units(model.likelihood)
    if prepared.auto_thin:
        plan = replace(plan, thin=thinning(plan, model, store))
    about = about._replace(choice=found.choice)
    return prepared._replace(model=model, plan=plan, about=about), found.pool


def resume(
    checkpoint: str | Path,
    data: Data | RowStore,
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
        The same data, wherever they are.
    n_draws
        None for as many draws as were asked for; or more.
    n_jobs, progress
        As in `fit`.
    """
    cores, folder = n_workers(n_jobs), Checkpoint(checkpoint)
    prepared = _read_prepared(folder, _as_store(data), n_draws)
    prepared.store.use_units(prepared.model.likelihood)
    job = _Job(prepared, _read_pool(folder, folder.settings()["settings"]), cores)
    if n_draws is not None:
        job.write_settings(folder)
    chains = new_chains(job.plan)
    for chain in chains:
        folder.read(chain, job.sampler)
    with progress_shown(progress, job.plan.n_chains) as shown:
        ended = run_chains(
            job.sampler, job.store, job.plan, chains, job.pool, n_jobs=job.at_once,
            progress=shown, checkpoint=folder,
        )  # fmt: skip
    return job.result(chains, ended, folder)


def _as_store(data: Data | RowStore) -> RowStore:
    return in_memory(data) if isinstance(data, Data) else data


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


def _read_prepared(folder: Checkpoint, store: RowStore, n_draws: int | None) -> Prepared:
    """Return the fit of a checkpoint; it must have been begun with the data of the store."""
    known, arrays = folder.settings(), folder.arrays()
    if known.get("data") != store.look().digest:
        raise InputError(
            "data",
            f"must be those of the run in {folder.folder}",
            "other numbers, or another shape",
            "Pass the data that the run was started with.",
        )
    try:
        settings = checked(known["settings"])
        model = rebuilt(settings, arrays.get("law_of_row"))
        if "exposures" in arrays:
            store.use_exposures(exposures.checked(arrays["exposures"], store.shape[0]))
        plan = Plan(**{name: settings[name] for name in _PLANNED}, seed=tuple(settings["seed"]))
        choice = BackgroundChoice(**settings["background_choice"])
        notices = tuple(Notice(str(code), str(text)) for code, text in known["notices"])
        about = About(choice, known["dim_names"], known["row_names"], notices)
        stored = Prepared(model, store, settings["method"], plan, about, False, False, False)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(
            folder.folder, f"has settings that make no sense ({error})", "Start the run afresh."
        ) from None
    if n_draws is None:
        return stored
    more = checks.integer("n_draws", n_draws, least=plan.n_draws, most=MOST_SWEEPS)
    return stored._replace(plan=replace(plan, n_draws=more))


def _pool_arrays(pool: Pool) -> dict[str, Any]:
    """Return the starts of chains as arrays, for a run that is killed before they begin."""
    if not pool.starts:
        return {}
    return {"starts": np.stack([one.rows for one in pool.starts]), "searched": pool.starts[0].some}


def _read_pool(folder: Checkpoint, settings: Mapping[str, Any]) -> Pool:
    """Return the starts that a checkpoint keeps."""
    arrays = folder.arrays()
    starts = tuple(Start(rows, arrays["searched"]) for rows in arrays.get("starts", ()))
    return Pool(starts, Reached(settings["n_starts"], settings["n_best"]))


class _Job:
    """A fit whose chains can run, and its settings as they are stored."""

    def __init__(self, prepared: Prepared, pool: Pool, cores: int) -> None:
        self.pool = pool
        model, self.store, self.method, self.plan, self.about = prepared[:5]
        self.sampler = sampler(self.method, model)
        self.at_once = self.store.share(cores, self.plan.n_chains)
        self.likelihood = model.likelihood
        described = describe(model, self.method, self.store.shape, self.about.choice)
        self.settings = described | asdict(self.plan)
        self.settings |= pool.reached._asdict()
        self.law_of_row = model.counts.law_of_row if isinstance(model, Model) else None
        self.exposures = self.store.exposures if self.store.exposures.size else None

    def write_settings(self, folder: Checkpoint) -> None:
        """Begin a run on disk, or change how long it is to be."""
        known = {
            "settings": self.settings,
            "data": self.store.look().digest,
            **self.about.to_json(),
        }
        if folder.exists():
            folder.write_settings(known)
        else:
            own = {"law_of_row": self.law_of_row, "exposures": self.exposures}
            arrays = {name: values for name, values in own.items() if values is not None}
            folder.create(known, **arrays, **_pool_arrays(self.pool))

    def _offsets(self) -> list[Notice]:
        """Return a notice if columns are far from zero and there is no background."""
        units = getattr(self.likelihood, "units", None)
        if units is None or self.likelihood.background:
            return []
        return offset_notices(units.means / units.spreads, self.about.dim_names)

    def announce(self, shown: Progress) -> None:
        """Say what a long run will take."""
        expected = estimate(self.sampler, self.store, self.plan, self.at_once)
        if expected.seconds > _LONG:
            plan = self.plan
            shown.say(f"{plan.n_chains} chains of {plan.n_sweeps} sweeps: {expected}")

    def result(self, chains: Sequence[Chain], ended: Ended, folder: Checkpoint | None) -> Result:
        """Return what the chains have recorded, with its verdict."""
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
            exposures=self.exposures,
            interrupted=ended.interrupted,
            warnings=[*self.about.notices, *self._offsets(), *ended.warnings],
            dim_names=self.about.dim_names,
            row_names=self.about.row_names,
        )
        return Result(tree).judged(self.store.take)


_NOTHING = "stopped before the first draw"
_RESUME = "; the run can be resumed from its checkpoint"


def _planned(
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
