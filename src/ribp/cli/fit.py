"""`ribp fit` and `ribp resume`: from a file to a run folder with a result."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ribp import estimators
from ribp.cli.run_folder import RunFolder, Source, read_source
from ribp.cli.show import say, show_summary
from ribp.errors import FitWarning, InputError, StorageError
from ribp.fitting import resume as go_on
from ribp.io.count_options import check_law
from ribp.io.formats import kind_of, open_check
from ribp.io.large_files import (
    as_bytes,
    check_memory,
    is_large,
    open_large,
    remove_copy,
    rows_of,
)
from ribp.results import Result
from ribp.rows.local import in_memory
from ribp.rows.source import FileSource, npy_source
from ribp.rows.store import RowStore
from ribp.running.checkpoint import Checkpoint
from ribp.running.samplers import ROW_METHODS

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
    asked = {"path": str(path.resolve()), "counts": counts, "holdout": holdout, "seed": seed}
    options, folder, source = options | {"random_state": seed}, RunFolder(out), None
    if memory is not None or scheduler is not None or is_large(path):
        asked |= {"memory": memory, "scheduler": scheduler, "large": True}
        _check_large(folder, asked, options)
    else:
        source = read_source(path, counts, holdout, seed)
        model = estimators.RestrictedIBP(**options)
        model.prepare(in_memory(source.data), source.counts, source.row_names)
    folder.create({"source": asked, "estimator": options}, overwrite)  # all is well until here
    if source is not None and source.hidden.any():
        folder.write_hidden(source)
    folder.log(f"fit {path} with seed {seed}")
    _run(folder, asked, options, as_json, source=source, show=show)


def resume(out: Path, *, n_draws: int | None, as_json: bool) -> None:
    """Go on with the run in a folder, and write its result."""
    folder = RunFolder(out)
    config = folder.config()
    source = None if config["source"].get("large") else folder.source()
    folder.log("resume")
    _run(folder, config["source"], config["estimator"], as_json, n_draws, source)


class _Given(NamedTuple):
    """The data of a run, wherever they are."""

    store: RowStore
    counts: Any
    row_names: list[str] | None
    dim_names: list[str] | None


def _run(
    folder: RunFolder,
    asked: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
    n_draws: int | None = None,
    source: Source | None = None,
    show: bool = True,
) -> None:
    """Fit, or go on from the last checkpoint; write the result and show it."""
    try:
        model = estimators.RestrictedIBP(**options)
    except TypeError:
        raise StorageError(
            folder.path / "config.json", "asks for settings that ribp does not know", "Fit again."
        ) from None
    progress: Any = False if as_json else "auto"
    with _logged(folder), _opened(folder, asked, options, source) as given:
        if Checkpoint(folder.checkpoints).exists():
            result = go_on(folder.checkpoints, given.store, n_draws=n_draws, progress=progress)
            model.adopt(result, given.dim_names)
        else:
            model.set_params(
                progress=progress, checkpoint=str(folder.checkpoints),
                n_draws=n_draws or model.n_draws,
            )  # fmt: skip
            model.fit_prepared(model.prepare(*given))
    model.set_params(progress="auto", checkpoint=None, n_draws=model.result_.settings["n_draws"])
    _finish(folder, model, source, as_json, show)


@contextmanager
def _opened(
    folder: RunFolder, asked: dict[str, Any], options: dict[str, Any], source: Source | None
) -> Iterator[_Given]:
    """Give the data of a run: those that were read, or a file that is read in parts."""
    if source is not None:
        store = in_memory(source.data)
        yield _Given(store, source.counts, source.row_names, source.dim_names)
        return
    try:
        large = rows_of(Path(asked["path"]), folder.path, asked["counts"])
        _check_size(asked, options, large.source)
        with open_large(large.source, asked["scheduler"], folder.path) as rows:
            yield _Given(rows, large.counts, None, large.dim_names)
    finally:
        remove_copy(folder.path)


def _check_large(folder: RunFolder, asked: dict[str, Any], options: dict[str, Any]) -> None:
    """Check all that can be known of a file that is read in parts, before anything is written."""
    if options["method"] not in ROW_METHODS or asked["holdout"]:
        given = f"--holdout {asked['holdout']}" if asked["holdout"] else options["method"]
        raise InputError(
            "--method",
            f"must be one of {', '.join(ROW_METHODS)}, without --holdout, where data are read in "
            "parts",
            given,
            "Write --method gibbs-rows.",
        )
    path = Path(asked["path"])
    if kind_of(path) == "npy":
        open_check(path, "npy")
        _check_size(asked, options, npy_source(path))
        rows_of(path, folder.path, asked["counts"])
        return
    if asked["memory"] is not None:
        as_bytes(asked["memory"])
    if asked["counts"] is not None:
        check_law(asked["counts"])


def _check_size(asked: dict[str, Any], options: dict[str, Any], source: FileSource) -> None:
    """Raise an `InputError` if a run cannot stay within the memory it was given."""
    if asked["memory"] is not None:
        auto = options["max_features"] == "auto"
        size = _USUAL_FEATURES if auto else options["max_features"]
        check_memory(as_bytes(asked["memory"]), source.shape, size)


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
