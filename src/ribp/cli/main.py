"""`ribp`: the commands, one file each, and how their errors reach the user.

Heavy modules are imported inside the commands, so that `ribp --help` stays quick.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from ribp.cli.compare import compare
from ribp.cli.demo import demo
from ribp.cli.features import features, name
from ribp.cli.fit import fit, resume
from ribp.cli.parameters import PARAMETERS
from ribp.cli.report import report
from ribp.cli.reproduce import reproduce
from ribp.cli.show import harmless
from ribp.cli.simulate import simulate
from ribp.cli.summary import summary
from ribp.cli.transform import transform
from ribp.version import __version__

_DATA_ARGUMENTS = ("X", "DATA", "data", "column", "counts", "--counts", "exposure", "--exposure")

app = typer.Typer(
    name="ribp",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (
    fit, resume, summary, features, name, report, transform, compare, simulate, reproduce, demo,
):  # fmt: skip
    app.command()(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ribp {__version__}")
        raise typer.Exit


@app.callback()
def _ribp(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Restricted Indian Buffet Process: hidden binary features with a stated number per row."""


def main() -> None:
    """Run the command line; expected failures become one line and an exit code, no traceback."""
    from ribp.errors import InputError, ProposalLimitError, StorageError

    try:
        app()
    except InputError as error:
        if error.argument in PARAMETERS:
            error = InputError(PARAMETERS[error.argument].flag, *error.args[1:])
        _stop(error, 1 if error.argument in _DATA_ARGUMENTS else 2)
    except (StorageError, ProposalLimitError) as error:
        _stop(error, 1)
    except OSError as error:
        _stop(f"{error.strerror or error}: {error.filename}", 1)
    except MemoryError:
        _stop("out of memory; use fewer rows, features or draws", 1)
    except KeyboardInterrupt as error:
        _stop(str(error) or "interrupted", 130)


def _stop(message: object, code: int) -> NoReturn:
    sys.stderr.write(f"ribp: {harmless(str(message))}\n")
    raise SystemExit(code)
