"""`ribp summary` and `ribp transform`: what a run found, and what it says of other data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ribp.cli.run_folder import RunFolder
from ribp.cli.show import print_json, say, show_summary
from ribp.errors import InputError, StorageError
from ribp.estimators import load
from ribp.io.count_options import count_columns, counts_from
from ribp.io.formats import read_data
from ribp.io.write_files import check_target, write_table
from ribp.likelihoods.validation import as_data

__all__ = ["fitted", "summary", "transform"]


def summary(run: Path, *, as_json: bool) -> None:
    """Print the summary of a run."""
    folder, result = RunFolder(run), fitted(run).result_
    hidden = folder.hidden((result.settings["n_rows"], result.settings["n_dims"]))
    scores = None if hidden is None else result.held_out_log_density(*hidden)
    show_summary(result, as_json, scores, run)


def transform(
    run: Path,
    path: Path,
    out: Path,
    *,
    counts: str | None,
    decode: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write which features the rows of a file have: probabilities, or 0 and 1."""
    model = fitted(run)
    check_target(out, overwrite)
    aside = () if counts is None else count_columns(counts)
    file = read_data(path, exclude=aside)
    _check_columns(model, file.dim_names, file.values.shape[1], path)
    laws = None if counts is None else counts_from(counts, file, len(file.values))
    data = as_data(file.values)
    found = (
        model.result_.decode(data, laws, features=model._kept)
        if decode
        else model.result_.rows_given(data, laws).probs[:, model._kept]
    )
    names = [f"feature{at}" for at in range(found.shape[1])]
    write_table(out, found, dim_names=names, row_names=file.row_names, overwrite=overwrite)
    if as_json:
        print_json({"out": str(out), "rows": len(found), "features": found.shape[1]})
    else:
        say(f"{len(found)} rows, {found.shape[1]} features: {out}")


def fitted(run: Path) -> Any:
    """Return the estimator of a run."""
    folder = RunFolder(run)
    folder.config()
    if not folder.result.exists():
        raise StorageError(
            run, "has no result yet", f"It was stopped before its end; go on: ribp resume {run}"
        )
    model = load(folder.result)
    if not hasattr(model, "result_"):
        raise StorageError(folder.result, "is not of this run", "Fit again.")
    return model


def _check_columns(model: Any, names: list[str] | None, n_dims: int, path: Path) -> None:
    """Raise an error unless data have the columns of the fit, in its order."""
    known = getattr(model, "feature_names_in_", None)
    if n_dims != model.n_features_in_:
        raise InputError(
            "DATA",
            f"must have the {model.n_features_in_} columns of the fit",
            f"{n_dims} in {path}",
            "Leave out other columns; name that of the counts in --counts.",
        )
    if known is None or names is None:
        return
    wrong = [(a, b) for a, b in zip(known, names, strict=True) if a != b]
    if wrong:
        raise InputError(
            "DATA",
            f"must have the columns of the fit in its order, such as {wrong[0][0]!r}",
            f"{wrong[0][1]!r} in its place in {path}",
            "Put the columns in the order of the file that was fitted.",
        )
