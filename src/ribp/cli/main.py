"""`ribp`: the commands and how their errors reach the user.

Heavy modules are imported inside the commands, so that `ribp --help` stays quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.version import __version__

app = typer.Typer(
    name="ribp",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, NPY, NPZ or MatrixMarket file."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
CountsOption = Annotated[
    str | None,
    typer.Option(
        help="How many features a row has: a law such as exactly(3) or uniform(1, 2), column:NAME, "
        "column:LO,HI or file:PATH. Learned if left out.",
    ),
]
NewCounts = Annotated[
    str | None,
    typer.Option(
        help="How many features each of these rows has, as for ribp fit. If left out, the law of "
        "the fit; where its rows had different laws, their average.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same draws.")]
Method = Annotated[
    str, typer.Option(help="gibbs, gibbs-rows, augmented, structured, stochastic or hybrid.")
]
MaxFeatures = Annotated[str, typer.Option(help="Largest number of features, or auto.")]
LikelihoodOption = Annotated[
    str, typer.Option(help="gaussian, poisson for counts, or the name of a plug-in.")
]
Background = Annotated[
    str,
    typer.Option(
        help="Whether every row has something that nobody counts, such as offsets of columns: auto "
        "(a short search finds out), on or off."
    ),
]
Chains = Annotated[int, typer.Option(min=1, help="Number of chains.")]
Warmup = Annotated[int, typer.Option(min=0, help="Sweeps of a chain that are thrown away.")]
Draws = Annotated[int, typer.Option(min=1, help="Sweeps of a chain that are kept.")]
Holdout = Annotated[float, typer.Option(help="Share of entries to hide from the fit, and score.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ribp {__version__}")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Restricted Indian Buffet Process: hidden binary features with a stated number per row."""


def _options(
    method: str,
    max_features: str,
    likelihood: str,
    background: str,
    chains: int,
    warmup: int,
    draws: int,
) -> dict[str, Any]:
    """Return the arguments of an estimator."""
    from ribp.cli.options import background_option

    whole = max_features.strip()
    return {
        "method": method,
        "max_features": int(whole) if whole.lstrip("-").isdecimal() else whole,
        "likelihood": likelihood,
        "background": background_option(background),
        "n_chains": chains,
        "n_warmup": warmup,
        "n_draws": draws,
    }


@app.command()
def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for everything the run makes.")],
    counts: CountsOption = None,
    method: Method = "gibbs",
    max_features: MaxFeatures = "auto",
    likelihood: LikelihoodOption = "gaussian",
    background: Background = "auto",
    chains: Chains = 4,
    warmup: Warmup = 500,
    draws: Draws = 500,
    holdout: Holdout = 0.0,
    seed: Seed = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Read a .npy or .parquet file in parts, within so much: 1GiB."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers have the file.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Find the features of the rows of a file."""
    from ribp.cli.fit import fit as run

    options = _options(method, max_features, likelihood, background, chains, warmup, draws)
    run(
        data, out, counts=counts, options=options, holdout=holdout, seed=seed, overwrite=overwrite,
        as_json=json, memory=memory, scheduler=scheduler,
    )  # fmt: skip


@app.command()
def resume(
    run: Run,
    draws: Annotated[int | None, typer.Option(min=1, help="More draws than first asked.")] = None,
    json: Json = False,
) -> None:
    """Go on with a run that was stopped, or make it longer."""
    from ribp.cli.fit import resume as go_on

    go_on(run, n_draws=draws, as_json=json)


@app.command()
def summary(run: Run, json: Json = False) -> None:
    """Show what a run found, and whether to trust it."""
    from ribp.cli.read_run import summary as show

    show(run, as_json=json)


@app.command()
def transform(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write: .csv, .npy, .npz or .parquet.")],
    counts: NewCounts = None,
    decode: Annotated[
        bool, typer.Option("--decode", help="Write 0 and 1 that obey the counts.")
    ] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write which features the rows of a file have."""
    from ribp.cli.read_run import transform as write

    write(run, data, out, counts=counts, decode=decode, overwrite=overwrite, as_json=json)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="File to write: .csv, .npy, .npz or .parquet.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")],
    counts: Annotated[str, typer.Option(help="A law such as exactly(3) or poisson(2).")],
    mass: Annotated[float, typer.Option(help="alpha of the beta process.")] = 5.0,
    concentration: Annotated[float, typer.Option(help="c of the beta process.")] = 1.0,
    discount: Annotated[float, typer.Option(help="s of the beta process.")] = 0.0,
    method: Annotated[
        str, typer.Option(help="inclusion, esscher, rejection, collapsed or lazy.")
    ] = "inclusion",
    seed: Seed = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw rows from the prior."""
    from ribp.cli.simulate import simulate as run

    run(
        out, n_rows=rows, counts=counts, mass=mass, concentration=concentration, discount=discount,
        method=method, seed=seed, overwrite=overwrite, as_json=json,
    )  # fmt: skip


@app.command()
def compare(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A file; or the folder of a run made with --holdout."),
    ],
    counts: CountsOption = None,
    method: Method = "gibbs",
    max_features: MaxFeatures = "auto",
    background: Background = "auto",
    chains: Chains = 2,
    warmup: Warmup = 200,
    draws: Draws = 200,
    holdout: Holdout = 0.01,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same draws.")] = 0,
    json: Json = False,
) -> None:
    """Compare the restricted with the unrestricted buffet, on hidden entries."""
    from ribp.cli.compare import compare as run

    options = _options(method, max_features, "gaussian", background, chains, warmup, draws)
    run(data, counts=counts, options=options, holdout=holdout, seed=seed, as_json=json)


@app.command()
def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option(help="File to write; report.html in the run if left out.")
    ] = None,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Leave names and numbers of rows out of the page.")
    ] = False,
    shape: Annotated[
        str | None, typer.Option(help="HEIGHTxWIDTH, where a row of the data is an image.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make one HTML page that shows what a run found, and whether to trust it."""
    from ribp.cli.report import report as make

    make(run, out, show_rows=not no_data, shape=shape, overwrite=overwrite, as_json=json)


@app.command()
def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, or all.", show_default=False)
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small runs, minutes in all.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data files; the variable RIBP_DATA says it too.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for what is found.")] = Path("reproduced"),
) -> None:
    """Run the experiments behind the evaluation pages again (from the source tree)."""
    from ribp.cli.reproduce import list_experiments
    from ribp.cli.reproduce import reproduce as run

    if list_:
        list_experiments()
    else:
        run(name, quick=quick, data=data, out=out)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for all that is made.")] = Path("ribp-demo"),
) -> None:
    """Find the notes of 232 piano chords, beside other models, and make a report."""
    from ribp.cli.demo import run

    run(out)


def main() -> None:
    """Run the command line; expected failures become one line and an exit code, no traceback."""
    from ribp.errors import InputError, ProposalLimitError, StorageError

    try:
        app()
    except InputError as error:
        _stop(f"ribp: {error}", 1 if error.argument in _OF_DATA else 2)
    except (StorageError, ProposalLimitError) as error:
        _stop(f"ribp: {error}", 1)
    except OSError as error:
        _stop(f"ribp: {error.strerror or error}: {error.filename}", 1)
    except MemoryError:
        _stop("ribp: out of memory; use fewer rows, features or draws", 1)
    except KeyboardInterrupt as error:
        _stop(f"ribp: {error or 'interrupted'}", 130)


_OF_DATA = ("X", "DATA", "data", "column", "counts", "--counts")


def _stop(message: str, code: int) -> None:
    sys.stderr.write(message + "\n")
    raise SystemExit(code)
