"""`ribp transform`: which features the rows of a file have, by a run.

Rows are taken in blocks, on several cores, and written as they come; with --memory or --scheduler
only some of them are read at a time, or by the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ribp.cli import options

if TYPE_CHECKING:
    from ribp.cli.run_folder import RunFolder
    from ribp.io.input_options import InputOptions
    from ribp.io.large_files import OpenFile


def transform(
    run: options.Run,
    data: options.Data,
    out: options.OutTable,
    counts: Annotated[
        str | None,
        typer.Option(
            help="How many features each of these rows has, as for ribp fit. If left out, the law "
            "of the fit; where its rows had different laws, their average.",
        ),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            help="column:NAME with the exposure of each row, where the fit was given exposures. If "
            "left out, the column of the fit.",
        ),
    ] = None,
    decode: Annotated[
        bool, typer.Option("--decode", help="Write 0 and 1 that obey the counts.")
    ] = False,
    id_: options.Id = None,
    label: options.Label = None,
    counts_missing: options.CountsMissing = None,
    memory: options.Memory = None,
    scheduler: options.Scheduler = None,
    jobs: Annotated[
        int | None,
        typer.Option(rich_help_panel=options.LARGE, help="Threads; one a core if left out."),
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write which features the rows of a file have; columns are found by name, in any order."""
    from ribp.cli.run_folder import RunFolder
    from ribp.io.formats import check_readable, is_large
    from ribp.io.input_options import input_options
    from ribp.io.write_files import check_target

    folder = RunFolder(run)
    folder.check_result()
    check_target(out, overwrite)
    check_readable(data)
    holds = input_options(counts, counts_missing, None, None, label, id_, exposure)
    in_parts = memory is not None or scheduler is not None or is_large(data)

    import numpy as np

    from ribp.cli.feature_file import write_features
    from ribp.cli.row_progress import shown
    from ribp.io.write_files import Blocks
    from ribp.threads import n_workers

    model = folder.model()
    holds, dims = _by_name(data, holds, folder, model)
    opened = (
        _in_parts(data, holds, dims, model, memory, scheduler, out.parent)
        if in_parts
        else _in_memory(data, holds, dims, model)
    )
    with opened as (store, laws, file, own):
        _check_columns(data, store.shape[1], model.n_features_in_)
        store.share(n_workers(jobs), 1)
        parts = model.result_.mapped(store, laws, own, features=model._kept, decode=decode)
        shape, dtype = (store.shape[0], model._kept.size), np.dtype("int8" if decode else "float64")
        write_features(
            out,
            Blocks(shape, dtype, shown(parts, shape[0], quiet=json)),
            overwrite=overwrite,
            as_json=json,
            names=model.result_.feature_names,
            row_names=None if file is None else file.row_names,
            labels=None if file is None else holds.choice(dims).labels_in(file),
        )


def _by_name(
    path: Path, holds: InputOptions, folder: RunFolder, model: Any
) -> tuple[InputOptions, tuple[str, ...] | None]:
    """Return id and labels as in the fit, if the file has them, and the columns that it must have.

    A file without names must have the columns of the fit in its order.
    """
    from ribp.io.formats import column_names

    names, dims = column_names(path), getattr(model, "feature_names_in_", None)
    if names is None:
        return holds, None
    return holds.with_defaults(folder.options(), names), None if dims is None else tuple(
        map(str, dims)
    )


@contextmanager
def _in_memory(
    path: Path, holds: InputOptions, dims: tuple[str, ...] | None, model: Any
) -> Iterator[OpenFile]:
    """Yield a file that is read at once."""
    from ribp.io.input_options import OF_FLAGS, read_input
    from ribp.io.large_files import OpenFile
    from ribp.likelihoods.validation import as_data
    from ribp.rows.local import in_memory

    kinds = getattr(model, "kinds_", None)
    holds = holds._replace(as_text=kinds is not None, flags=model.likelihood in OF_FLAGS)
    file, laws, _, own = read_input(path, holds, dims, _law_of_missing(model))
    if kinds is not None and file.values.shape[1] == len(kinds):
        from ribp.io.kind_columns import coded_by

        file = coded_by(file, list(kinds.values()))
    yield OpenFile(in_memory(as_data(file.values)), laws, file, own)


@contextmanager
def _in_parts(
    path: Path,
    holds: InputOptions,
    dims: tuple[str, ...] | None,
    model: Any,
    memory: str | None,
    scheduler: str | None,
    folder: Path,
) -> Iterator[OpenFile]:
    """Yield a file that is read some rows at a time, a copy of it beside what is written."""
    from ribp.io.large_files import LargeFile

    model.check_in_parts()
    n_features = int(model.result_.settings["n_features"] or model._kept.size)
    large = LargeFile(
        path, holds, memory, scheduler, n_features, dims, _law_of_missing(model), row_names=True
    )
    large.check()
    with (
        TemporaryDirectory(prefix=".ribp-", dir=folder) as copies,
        large.opened(Path(copies)) as it,
    ):
        yield it


def _law_of_missing(model: Any) -> Any:
    """Return the law of a row whose count is missing; None for a buffet."""
    from ribp.posterior.laws import law_of_missing

    counts = getattr(model.result_.model, "counts", None)
    return None if counts is None else law_of_missing(counts)


def _check_columns(path: Path, n_dims: int, expected: int) -> None:
    from ribp.errors import InputError

    if n_dims != expected:
        raise InputError(
            "DATA",
            f"must have the {expected} columns of the fit",
            f"{n_dims} in {path}",
            "Leave out other columns; name that of the counts in --counts.",
        )
