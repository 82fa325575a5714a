"""Options that several commands have; those of the estimator are in `ribp.cli.parameters`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

COLUMNS = "Columns of the file"
LARGE = "Large files"
OUTPUT = "What is written"

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
        "column:LO,HI or file:PATH. Learned if left out, and where a cell is empty.",
    ),
]
CountsMissing = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=COLUMNS,
        metavar="LAW",
        help="Law of rows whose count is missing; learned if left out.",
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=COLUMNS,
        help="With --likelihood poisson, and for log-poisson and negbin columns, by what the rates "
        "of each row are multiplied, such as the length of a text: column:NAME, which is not "
        "fitted, or (poisson) learn.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=COLUMNS,
        metavar="NAMES",
        help="Columns that are data, by name or pattern: a,b,gene_*. All if left out.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(rich_help_panel=COLUMNS, metavar="NAMES", help="Columns to leave out."),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", rich_help_panel=COLUMNS, metavar="NAME", help="Column with the names of rows."
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=COLUMNS,
        metavar="NAMES",
        help="Columns that go with the rows into report and decoded rows, and are never fitted.",
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        rich_help_panel=COLUMNS,
        metavar="COLUMN=KIND",
        help="What a column holds: real, positive, binary, binomial(T), ordinal, categorical, "
        "log-poisson or negbin, levels in parentheses: stage=ordinal(I, II, III). Patterns "
        "allowed; other columns are auto. With --method gibbs-rows.",
    ),
]
Kinds = Annotated[
    Path | None,
    typer.Option(
        "--kinds",
        rich_help_panel=COLUMNS,
        metavar="FILE",
        help="CSV file of such kinds, with the columns column and kind.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=LARGE, help="Read a .npy or .parquet file in parts, within so much: 1GiB."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=LARGE, help="Address of a Dask scheduler whose workers have the file."
    ),
]
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON, for machines.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", rich_help_panel=OUTPUT, help="Replace what is there.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same draws.")]
Holdout = Annotated[float, typer.Option(help="Share of entries to hide from the fit, and score.")]


def show_progress(json: bool, asked: Any = "auto") -> Any:
    """Return the argument `progress` of an estimator: none where JSON is printed."""
    return False if json else asked
