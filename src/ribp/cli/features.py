"""`ribp features` and `ribp name`: the features of a run as a table, and what they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ribp.cli import options
from ribp.cli.show import print_json, say


def features(
    run: options.Run,
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write the features as a table: feature, column, mean, 5% and 95% of draws.

    Where columns have kinds: the probability of each level, without the feature and with it.
    """
    from ribp.cli.run_folder import RunFolder
    from ribp.io.write_files import check_target, write_table

    check_target(out, overwrite)
    result = RunFolder(run).stored_result()
    of_kinds = result.event_names is not None
    frame = result.effects_frame() if of_kinds else result.components_frame()
    texts, numbers = list(frame.columns[:2]), list(frame.columns[2:])
    write_table(
        out,
        frame[numbers].to_numpy(),
        dim_names=numbers,
        labels={name: frame[name].astype(str).tolist() for name in texts},
        overwrite=overwrite,
    )
    n_features, n_dims = len(result.feature_names), result.settings["n_dims"]
    if json:
        print_json({"out": str(out), "features": n_features, "columns": n_dims})
    else:
        say(f"{n_features} features, {n_dims} columns: {out}")


def name(
    run: options.Run,
    names: Annotated[
        list[str], typer.Argument(metavar="NUMBER=NAME...", help='Such as 0="loud C".')
    ],
    json: options.Json = False,
) -> None:
    """Give features names, which reports, tables and pictures of the run then have."""
    from ribp.cli.run_folder import RunFolder

    folder, given = RunFolder(run), dict(_pair(text) for text in names)
    model = folder.model().name_features(given)
    model.save(folder.result, overwrite=True)
    folder.log("names: " + ", ".join(model.feature_names_))
    if json:
        print_json({"run": str(run), "names": model.feature_names_})
        return
    for number, called in enumerate(model.feature_names_):
        say(f"{number:4d}  {called}")
    say(f"Make a page with these names: ribp report {run}")


def _pair(text: str) -> tuple[int, str]:
    """Return number and name of 0=NAME; an empty name takes one away."""
    from ribp.errors import InputError
    from ribp.results.feature_names import default_name

    number, sign, called = text.partition("=")
    if not sign or not number.strip().isdecimal():
        raise InputError("NUMBER=NAME", "must be such as 0=loud", repr(text), "Correct it.")
    at = int(number)
    return at, called.strip() or default_name(at)
