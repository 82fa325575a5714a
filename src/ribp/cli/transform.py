"""`ribp transform`: which features the rows of a file have, by a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ribp.cli import options

if TYPE_CHECKING:
    from ribp.io.input_options import InputFile, InputOptions


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
    decode: Annotated[
        bool, typer.Option("--decode", help="Write 0 and 1 that obey the counts.")
    ] = False,
    id_: options.Id = None,
    label: options.Label = None,
    counts_missing: options.CountsMissing = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write which features the rows of a file have; columns are found by name, in any order."""
    from ribp.cli.feature_file import write_features
    from ribp.cli.run_folder import RunFolder
    from ribp.io.input_options import input_options
    from ribp.io.write_files import check_target
    from ribp.likelihoods.validation import as_data

    folder = RunFolder(run)
    model = folder.model()
    check_target(out, overwrite)
    holds = input_options(counts, counts_missing, None, None, label, id_)
    file, laws, labels = _read(data, holds, folder.options(), model)
    validated = as_data(file.values)
    rows = (
        model.result_.decode(validated, laws, features=model._kept)
        if decode
        else model.result_.rows_given(validated, laws).probs[:, model._kept]
    )
    write_features(
        out,
        rows,
        overwrite=overwrite,
        as_json=json,
        names=model.result_.feature_names,
        row_names=file.row_names,
        labels=labels,
    )


def _read(path: Path, holds: InputOptions, fitted: InputOptions, model: Any) -> InputFile:
    """Return the rows of a file with the columns of a fit; id and labels as in the fit, if there.

    A file without names must have the columns of the fit in its order.
    """
    from ribp.errors import InputError
    from ribp.io.formats import column_names
    from ribp.io.input_options import read_input
    from ribp.io.kind_columns import coded_by
    from ribp.posterior.laws import law_of_missing

    names, dims = column_names(path), getattr(model, "feature_names_in_", None)
    if names is not None:
        holds = holds.with_defaults(fitted, names)
    wanted = None if names is None or dims is None else tuple(map(str, dims))
    counts = getattr(model.result_.model, "counts", None)
    kinds = getattr(model, "kinds_", None)
    holds = holds._replace(as_text=kinds is not None)
    table = read_input(path, holds, wanted, None if counts is None else law_of_missing(counts))
    n_dims = table.file.values.shape[1]
    if n_dims != model.n_features_in_:
        raise InputError(
            "DATA",
            f"must have the {model.n_features_in_} columns of the fit",
            f"{n_dims} in {path}",
            "Leave out other columns; name that of the counts in --counts.",
        )
    if kinds is not None:
        table = table._replace(file=coded_by(table.file, list(kinds.values())))
    return table
