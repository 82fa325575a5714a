"""`ribp fit` and `ribp resume`: from a file to a run folder with a result."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ribp import estimators
from ribp.cli.count_options import check_law
from ribp.cli.files import kind_of, open_check
from ribp.cli.large_files import (
    as_bytes,
    check_memory,
    is_large,
    open_large,
    remove_copy,
    rows_of,
)
from ribp.cli.run_folder import RunFolder, Source, read_source
from ribp.cli.show import say, show_summary
from ribp.errors import FitWarning, InputError, StorageError
from ribp.fitting import resume as go_on
from ribp.results import Result
from ribp.running.checkpoint import Checkpoint
from ribp.scale.fit import resume as go_on_elsewhere
from ribp.scale.row_methods import METHODS
from ribp.scale.source import FileSource, npy_source

__all__ = ["fit", "resume"]

_USUAL_FEATURES = 30  # if nobody says how many


def fit(
    path: Path,
    out: Path,
    *,
    counts: str | None,
    options: dict[str, Any],
    holdout: float,
    seed: int | None,
    overwrite: bool,
    as_json: bool,
    show: bool = True,
    memory: str | None = None,
    scheduler: str | None = None,
) -> None:
    """Fit a file and keep everything in the folder `out`; the summary is printed if `show`."""
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    if memory is not None or scheduler is not None or is_large(path):
        asked = {"path": str(path.resolve()), "counts": counts, "holdout": holdout, "seed": seed}
        asked |= {"memory": memory, "scheduler": scheduler, "large": True}
        _fit_large(RunFolder(out), asked, options | {"random_state": seed}, overwrite, as_json)
        return
    source = read_source(path, counts, holdout, seed)
    options = options | {"random_state": seed}
    folder = RunFolder(out)
    model = estimators.RestrictedIBP(**options)
    model.check(source.data, source.counts, source.row_names)  # before anything is written
    asked = {"path": str(path.resolve()), "counts": counts, "holdout": holdout, "seed": seed}
    folder.create({"source": asked, "estimator": options}, overwrite)
    if source.hidden.any():
        folder.write_hidden(source)
    folder.log(f"fit {path} with seed {seed}")
    with _logged(folder):
        _run(model, source, folder, False if as_json else "auto")
    _finish(folder, model, source, as_json, show)


def resume(out: Path, *, n_draws: int | None, as_json: bool) -> None:
    """Go on with the run in a folder, and write its result."""
    folder = RunFolder(out)
    config = folder.config()
    if config["source"].get("large"):
        _resume_large(folder, config, n_draws, as_json)
        return
    source = folder.source()
    try:
        model = estimators.RestrictedIBP(**config["estimator"])
    except TypeError:
        raise StorageError(
            out / "config.json", "asks for settings that ribp does not know", "Fit again."
        ) from None
    folder.log("resume")
    progress: Any = False if as_json else "auto"
    checkpoint = Checkpoint(folder.checkpoints)
    with _logged(folder):
        if checkpoint.exists():
            result = go_on(folder.checkpoints, source.data, n_draws=n_draws, progress=progress)
            model.adopt(result, source.dim_names)
        else:  # stopped before its first checkpoint
            model.set_params(n_draws=n_draws or model.n_draws)
            _run(model, source, folder, progress)
    model.set_params(n_draws=model.result_.settings["n_draws"])
    _finish(folder, model, source, as_json)


def _fit_large(
    folder: RunFolder,
    asked: dict[str, Any],
    options: dict[str, Any],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Fit a file of which only some rows are in memory at a time."""
    if options["method"] not in METHODS or asked["holdout"]:
        given = f"--holdout {asked['holdout']}" if asked["holdout"] else options["method"]
        raise InputError(
            "--method",
            f"must be {' or '.join(METHODS)}, without --holdout, where data are read in parts",
            given,
            "Write --method gibbs-rows.",
        )
    path = Path(asked["path"])
    if kind_of(path) == "npy":  # all that can be checked before anything is written
        open_check(path, "npy")
        _check_size(asked, options, npy_source(path))
        rows_of(path, folder.path, asked["counts"])
    else:
        if asked["memory"] is not None:
            as_bytes(asked["memory"])
        if asked["counts"] is not None:
            check_law(asked["counts"])
    folder.create({"source": asked, "estimator": options}, overwrite)
    folder.log(f"fit {asked['path']} in parts with seed {asked['seed']}")
    _run_large(folder, asked, options, None, as_json)


def _check_size(asked: dict[str, Any], options: dict[str, Any], source: FileSource) -> None:
    """Raise an `InputError` if a run cannot stay within the memory it was given."""
    if asked["memory"] is not None:
        auto = options["max_features"] == "auto"
        size = _USUAL_FEATURES if auto else options["max_features"]
        check_memory(as_bytes(asked["memory"]), source.shape, size)


def _resume_large(
    folder: RunFolder, config: dict[str, Any], n_draws: int | None, as_json: bool
) -> None:
    folder.log("resume")
    _run_large(folder, config["source"], config["estimator"], n_draws, as_json)


def _run_large(
    folder: RunFolder,
    asked: dict[str, Any],
    options: dict[str, Any],
    n_draws: int | None,
    as_json: bool,
) -> None:
    """Run or go on with a fit of a large file."""
    model = estimators.RestrictedIBP(**options)
    progress: Any = False if as_json else "auto"
    try:
        large = rows_of(Path(asked["path"]), folder.path, asked["counts"])
        _check_size(asked, options, large.source)
        with (
            _logged(folder),
            open_large(large.source, asked["scheduler"], folder.path) as keeper,
        ):
            survey = keeper.survey()
            if Checkpoint(folder.checkpoints).exists():
                found = go_on_elsewhere(
                    folder.checkpoints, keeper, survey, n_draws=n_draws, progress=progress
                )
                model.adopt(found, large.dim_names)
            else:
                model.set_params(
                    progress=progress, checkpoint=str(folder.checkpoints),
                    n_draws=n_draws or model.n_draws,
                )  # fmt: skip
                model.fit_elsewhere(keeper, survey, large.counts, large.dim_names)
    finally:
        remove_copy(folder.path)
    model.set_params(progress="auto", checkpoint=None, n_draws=model.result_.settings["n_draws"])
    _finish(folder, model, None, as_json)


def _run(model: Any, source: Source, folder: RunFolder, progress: Any) -> None:
    """Fit from the beginning."""
    model.set_params(progress=progress, checkpoint=str(folder.checkpoints))
    model.fit_data(source.data, source.counts, source.row_names, source.dim_names)
    model.set_params(progress="auto", checkpoint=None)


def _finish(
    folder: RunFolder, model: Any, source: Source | None, as_json: bool, show: bool = True
) -> None:
    """Write the result and show it."""
    scores = None
    if source is not None and source.hidden.any():
        scores = model.result_.held_out_log_density(source.values, source.hidden)
        model.result_ = model.result_.scored(source.data, source.values, source.hidden)
    model.save(folder.result, overwrite=True)
    result: Result = model.result_
    folder.log(f"done: {result.n_chains} chains of {result.n_draws} draws")
    if show:
        show_summary(result, as_json, scores, folder.path)
    if result.interrupted:
        _stopped(folder)
    if show and not as_json:
        say(f"Saved in {folder.path}. Look again with: ribp summary {folder.path}")


def _stopped(folder: RunFolder) -> NoReturn:
    folder.log("interrupted")
    sys.stderr.write(f"ribp: interrupted; go on with: ribp resume {folder.path}\n")
    raise SystemExit(130)


@contextmanager
def _logged(folder: RunFolder) -> Iterator[None]:
    """Write warnings to the log; the summary shows them, so they are not shown twice."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", FitWarning)
        try:
            yield
        except KeyboardInterrupt:
            _stopped(folder)
    for warning in heard:
        folder.log(f"warning: {warning.message}")
