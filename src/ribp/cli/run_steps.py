"""Steps of `ribp fit` and `ribp resume` before and after the fit itself."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ribp.cli.run_folder import InputTable, RunFolder, as_table, stored_options
from ribp.cli.show import say, show_summary
from ribp.counts import RowCounts
from ribp.errors import FitWarning, InputError, StorageError
from ribp.estimators import RestrictedIBP
from ribp.fitting import Prepared
from ribp.io.input_options import InputFile, known_features
from ribp.io.kind_columns import expanded
from ribp.io.large_files import LargeFile
from ribp.kinds import Kind
from ribp.kinds.choice import unseen_kinds
from ribp.kinds.kind import latent_names
from ribp.results import Result
from ribp.rows.local import in_memory
from ribp.rows.store import RowStore
from ribp.running.samplers import ROW_METHODS

_USUAL_FEATURES = 30  # to estimate memory, if nobody says how many


class StartedRun(NamedTuple):
    """A run with its folder, before its fit."""

    folder: RunFolder
    model: RestrictedIBP
    table: InputTable | None
    """The data; None where a file is read in parts."""
    large: LargeFile | None
    """The file that is read in parts."""
    kinds: tuple[Kind, ...] | None = None
    """Of the columns of that file, if they have any."""
    prepared: Prepared | None = None
    """The fit, where it could be validated before the folder was created."""


class Rows(NamedTuple):
    """The data of a run as `prepare` takes them: in memory, in a file or on a cluster."""

    store: RowStore
    counts: RowCounts | None
    row_names: list[str] | None
    dim_names: list[str] | None
    kinds: tuple[Kind, ...] | None = None
    exposure: Any = None


def begin(
    out: Path,
    source: dict[str, Any],
    arguments: dict[str, Any],
    overwrite: bool,
    file: InputFile | None,
) -> StartedRun:
    """Validate data and options, then create the folder of a run.

    Parameters
    ----------
    out
        The folder.
    source
        Path, counts, holdout, seed, memory and scheduler, as config.json stores them.
    arguments
        Of the estimator.
    overwrite
        Whether another run in the folder may be replaced.
    file
        The data; None for a file that is read in parts.
    """
    folder, path, known = RunFolder(out), Path(source["path"]), arguments["fixed_components"]
    source = source | {"fixed_components": known}
    model = RestrictedIBP(**arguments | {"fixed_components": None})
    table = large = prepared = None
    if file is None:
        source = source | {"large": True}
        large = _checked_file(source, arguments)
        names, columns = large.header()
        model.set_params(likelihood=expanded(model.likelihood, path, names))
        kinds = unseen_kinds(model.likelihood, columns, as_options=True)
    else:
        names = file.file.dim_names
        model.set_params(likelihood=expanded(model.likelihood, path, names))
        table = as_table(file, source["holdout"], source["seed"], model.likelihood)
        kinds = table.kinds
    model.set_params(fixed_components=known_features(known, _feature_names(names, kinds)))
    if table is not None:
        prepared = model.prepare(*_rows_of(table))
    arguments = arguments | {
        "likelihood": model.likelihood, "fixed_components": model.fixed_components,
    }  # fmt: skip
    folder.create({"source": source, "estimator": arguments}, overwrite)
    if table is not None and table.hidden.any():
        folder.write_hidden(table)
    folder.log(f"fit {path} with seed {source['seed']}")
    return StartedRun(folder, model, table, large, kinds, prepared)


def _feature_names(names: list[str] | None, kinds: tuple[Kind, ...] | None) -> list[str] | None:
    """Return the names of the columns of features; None if data have none."""
    return names if names is None or kinds is None else latent_names(kinds, names)


def read_again(path: Path) -> StartedRun:
    """Return the run in a folder, with the data that it was begun with."""
    folder = RunFolder(path)
    config = folder.config()
    source, arguments = config["source"], config["estimator"]
    with folder.known_settings():
        model = RestrictedIBP(**arguments)
        large = _large_file(source, arguments) if source.get("large") else None
    table = folder.table() if large is None else None
    kinds = None if large is None else unseen_kinds(model.likelihood, large.header().columns)
    folder.log("resume")
    return StartedRun(folder, model, table, large, kinds)


def _large_file(source: dict[str, Any], arguments: dict[str, Any]) -> LargeFile:
    most = arguments["max_features"]
    return LargeFile(
        Path(source["path"]),
        stored_options(source),
        source["memory"],
        source["scheduler"],
        most if isinstance(most, int) else _USUAL_FEATURES,
    )


def _checked_file(source: dict[str, Any], arguments: dict[str, Any]) -> LargeFile:
    """Return a file that a method can read in parts, with no entries hidden."""
    method, holdout = arguments["method"], source["holdout"]
    if method not in ROW_METHODS or holdout:
        raise InputError(
            "--method",
            f"must be one of {', '.join(ROW_METHODS)}, without --holdout, where data are read in "
            "parts",
            f"--holdout {holdout}" if holdout else method,
            "Write --method gibbs-rows.",
        )
    large = _large_file(source, arguments)
    large.check()
    return large


@contextmanager
def opened(run: StartedRun) -> Iterator[Rows]:
    """Yield the data of a run: those in memory, or a file that is read in parts."""
    if run.table is not None:
        yield _rows_of(run.table)
    elif run.large is not None:
        with run.large.opened(run.folder.path) as (store, counts, file, exposure):
            names = None if file is None else file.dim_names
            yield Rows(store, counts, None, names, run.kinds, exposure)


def _rows_of(table: InputTable) -> Rows:
    return Rows(
        in_memory(table.data), table.counts, table.row_names, table.dim_names, table.kinds,
        table.exposure,
    )  # fmt: skip


@contextmanager
def withdrawn(folder: RunFolder) -> Iterator[None]:
    """Take a run back that an error ends before anything of it was written down."""
    try:
        yield
    except (InputError, StorageError):
        if not folder.checkpoints.exists():
            folder.withdraw()
        raise


@contextmanager
def guarded(folder: RunFolder) -> Iterator[None]:
    """Leave warnings of a fit to its summary; exit with 130 if it is interrupted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            yield
        except KeyboardInterrupt:
            _stop_interrupted(folder)


def finish(run: StartedRun, result: Result, dim_names: list[str] | None, json: bool) -> None:
    """Save the fitted model of a run and print its summary; exit with 130 if interrupted."""
    folder, model, table = run.folder, run.model, run.table
    model.adopt(result, dim_names).set_params(n_draws=result.settings["n_draws"])
    if folder.result.exists():  # features of a run that is made longer keep their names
        model.result_ = model.result_.named_as(folder.model().result_)
    for notice in result.summary().warnings:
        folder.log(f"warning: {notice.text}")
    scores = None
    if table is not None and table.hidden.any():
        scores = model.result_.held_out_log_density(table.values, table.hidden)
        model.result_ = model.result_.scored(table.data, table.values, table.hidden)
    model.save(folder.result, overwrite=True)
    folder.log(f"done: {result.n_chains} chains of {result.n_draws} draws")
    show_summary(model.result_, folder.path, json, scores)
    if result.interrupted:
        _stop_interrupted(folder)
    if not json:
        say(f"Saved in {folder.path}. Look again with: ribp summary {folder.path}")


def _stop_interrupted(folder: RunFolder) -> NoReturn:
    folder.log("interrupted")
    sys.stderr.write(f"ribp: interrupted; go on with: ribp resume {folder.path}\n")
    raise SystemExit(130)
