"""`ribp`: the commands and how their errors reach the user.

Heavy modules are imported inside the commands, so that `ribp --help` stays quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="ribp",
    help="Restricted Indian Buffet Process: hidden binary features with a stated number per row.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keep `ribp demo` a sub-command while there are few of them."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("ribp-demo"),
) -> None:
    """Show the law of a row on a small example, beside brute force, with a picture."""
    from ribp.cli.demo import run

    run(out)


def main() -> None:
    """Run the command line; expected failures become one line and an exit code, no traceback."""
    from ribp.errors import InputError

    try:
        app()
    except InputError as error:
        _stop(f"ribp: {error}", 2)
    except OSError as error:
        _stop(f"ribp: {error.strerror or error}: {error.filename}", 1)
    except KeyboardInterrupt:
        _stop("ribp: interrupted", 130)


def _stop(message: str, code: int) -> None:
    sys.stderr.write(message + "\n")
    raise SystemExit(code)
