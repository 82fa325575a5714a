"""`ribp compare`: what knowing the counts is worth, on entries that were hidden.

Given a file, both models are fitted; given the folder of a run with hidden entries, only the
unrestricted one, and the scores are stored in the folder for its report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.cli import options
from ribp.cli.parameters import estimator_arguments, with_parameters
from ribp.cli.show import print_json, say

_HELPS = {
    "likelihood": "gaussian alone: the unrestricted buffet knows no other data.",
    "fixed_components": "File of features that the restricted model knows, one a row, with the "
    "columns of the data. With --method gibbs-rows.",
}


@with_parameters(_HELPS, n_chains=2, n_warmup=200, n_draws=200)
def compare(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A file; or the folder of a run made with --holdout."),
    ],
    counts: options.Counts = None,
    holdout: options.Holdout = 0.01,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same draws.")] = 0,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    id_: options.Id = None,
    label: options.Label = None,
    counts_missing: options.CountsMissing = None,
    json: options.Json = False,
    **parameters: Any,
) -> None:
    """Compare the restricted with the unrestricted buffet, on hidden entries."""
    from ribp.cli.run_folder import RunFolder, read_table
    from ribp.errors import InputError
    from ribp.io.input_options import input_options, known_features

    is_run, announce = data.is_dir(), not json
    if is_run and counts is not None:
        raise InputError(
            "--counts and RUN",
            "must not be given together",
            counts,
            "Leave out --counts: the run knows them.",
        )
    if is_run:
        _check_gaussian(RunFolder(data).config()["estimator"].get("likelihood"))
        RunFolder(data).check_result()

        from ribp.cli import model_scores

        scores, _ = model_scores.compare_run(data, announce)
    else:
        arguments = estimator_arguments(parameters) | {"random_state": seed}
        arguments["progress"] = options.show_progress(json, arguments.get("progress", "auto"))
        _check_gaussian(arguments["likelihood"])
        holds = input_options(counts, counts_missing, columns, exclude, label, id_)
        table = read_table(data, holds, holdout, seed)
        known = known_features(arguments["fixed_components"], table.dim_names)
        arguments["fixed_components"] = known

        from ribp.cli import model_scores

        scores = model_scores.compare_table(table, arguments, holdout, announce)
    if json:
        print_json({"data": str(data), "models": scores})
        return
    _show(scores)
    if is_run:
        say(f"Stored in {data}. Make a page of it: ribp report {data}")


def _check_gaussian(likelihood: Any) -> None:
    """Raise an `InputError` where data are not Gaussian: the unrestricted buffet has no sampler."""
    from ribp.errors import InputError

    if likelihood != "gaussian":
        raise InputError(
            "--likelihood",
            "must be gaussian for ribp compare, whose unrestricted buffet knows no other data",
            likelihood if isinstance(likelihood, str) else "kinds of columns",
            "Use ribp fit --holdout 0.1 for each model, with the same --seed: log densities of the "
            "same hidden entries can be compared.",
        )


def _show(scores: dict[str, dict[str, float]]) -> None:
    """Print a table of models."""
    hidden = scores["restricted"]["hidden"]
    say(f"{hidden} hidden entries; a higher log density and a lower error are better.\n")
    say("model         log density (error)   rms error  features  modes  R-hat  seconds")
    for name, row in scores.items():
        seconds = f"{row['seconds']:8.1f}" if "seconds" in row else ""
        say(
            f"{name:13} {row['log_density']:10.4f} ({row['standard_error']:.4f})"
            f" {row['error']:10.4g} {row['features']:9.0f} {row['modes']:6.0f}"
            f" {row['r_hat']:6.3f} {seconds}".rstrip()
        )
