"""Options that several commands have, and the arguments of an estimator that they become."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, NPY, NPZ or MatrixMarket file."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
OutTable = Annotated[Path, typer.Option(help="File to write: .csv, .npy, .npz or .parquet.")]
Counts = Annotated[
    str | None,
    typer.Option(
        help="How many features a row has: a law such as exactly(3) or uniform(1, 2), column:NAME, "
        "column:LO,HI or file:PATH. Learned if left out.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same draws.")]
Method = Annotated[
    str, typer.Option(help="gibbs, gibbs-rows, augmented, structured, stochastic or hybrid.")
]
MaxFeatures = Annotated[str, typer.Option(help="Largest number of features, or auto.")]
Background = Annotated[
    str,
    typer.Option(
        help="Whether every row has something that nobody counts, such as offsets of columns: auto "
        "(a short search finds out), on or off."
    ),
]
Chains = Annotated[int, typer.Option(min=1, help="Number of chains.")]
Warmup = Annotated[int, typer.Option(min=0, help="Sweeps of a chain that are thrown away.")]
Draws = Annotated[int, typer.Option(min=1, help="Sweeps of a chain that are stored.")]
Holdout = Annotated[float, typer.Option(help="Share of entries to hide from the fit, and score.")]

BACKGROUNDS: dict[str, bool | str] = {"auto": "auto", "on": True, "off": False}
"""The argument of an estimator for each value of --background."""


def estimator_arguments(
    method: str, max_features: str, background: str, chains: int, warmup: int, draws: int
) -> dict[str, Any]:
    """Return the arguments of an estimator for the options of a command."""
    from ribp.errors import InputError

    if background not in BACKGROUNDS:
        raise InputError(
            "--background", "must be auto, on or off", repr(background), "Leave it out to find out."
        )
    most = max_features.strip()
    return {
        "method": method,
        "max_features": int(most) if most.lstrip("-").isdecimal() else most,
        "background": BACKGROUNDS[background],
        "n_chains": chains,
        "n_warmup": warmup,
        "n_draws": draws,
    }


def show_progress(json: bool) -> Literal[False, "auto"]:
    """Return the argument `progress` of an estimator: none where JSON is printed."""
    return False if json else "auto"
