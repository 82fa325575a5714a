"""`ribp transform`: which features the rows of a file have, by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.cli import options


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
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write which features the rows of a file have."""
    from ribp.cli.feature_file import write_features
    from ribp.cli.run_folder import RunFolder
    from ribp.io.count_options import read_with_counts
    from ribp.io.write_files import check_target
    from ribp.likelihoods.validation import as_data

    model = RunFolder(run).model()
    check_target(out, overwrite)
    file, laws = read_with_counts(data, counts)
    _check_columns(model, file.dim_names, file.values.shape[1], data)
    validated = as_data(file.values)
    rows = (
        model.result_.decode(validated, laws, features=model._kept)
        if decode
        else model.result_.rows_given(validated, laws).probs[:, model._kept]
    )
    write_features(out, rows, overwrite=overwrite, as_json=json, row_names=file.row_names)


def _check_columns(model: Any, names: list[str] | None, n_dims: int, path: Path) -> None:
    """Raise an `InputError` unless data have the columns of the fit, in its order."""
    from ribp.errors import InputError

    if n_dims != model.n_features_in_:
        raise InputError(
            "DATA",
            f"must have the {model.n_features_in_} columns of the fit",
            f"{n_dims} in {path}",
            "Leave out other columns; name that of the counts in --counts.",
        )
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None or names is None:
        return
    for expected, name in zip(fitted, names, strict=True):
        if name != expected:
            raise InputError(
                "DATA",
                f"must have the columns of the fit in its order, such as {expected!r}",
                f"{name!r} in its place in {path}",
                "Put the columns in the order of the file that was fitted.",
            )
