"""`ribp report`: one page that shows what a run found and whether to trust it."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ribp.cli import options
from ribp.cli.parameters import as_options
from ribp.cli.show import print_json, say


def report(
    run: options.Run,
    out: Annotated[
        Path | None, typer.Option(help="File to write; report.html in the run if left out.")
    ] = None,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Leave names and numbers of rows out of the page.")
    ] = False,
    shape: Annotated[
        str | None, typer.Option(help="HEIGHTxWIDTH, where a row of the data is an image.")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Make one HTML page that shows what a run found, and whether to trust it."""
    from ribp.errors import StorageError

    if out is not None and out.exists() and not overwrite:
        raise StorageError(out, "is there already", "Add --overwrite to replace it.")
    target = run / "report.html" if out is None else out
    problems = write_page(run, target, show_rows=not no_data, shape=shape)
    if json:
        print_json({"run": str(run), "report": str(target), "warnings": problems})
        return
    for text in problems:
        say(f"Left out: {text}")
    say(f"Report: {target}")


def write_page(
    run: Path, target: Path, *, show_rows: bool = True, shape: str | None = None
) -> list[str]:
    """Write the page of a run; return what had to be left out."""
    from ribp.cli.run_folder import RunFolder
    from ribp.errors import FitWarning, InputError, StorageError

    folder = RunFolder(run)
    folder.check_result()

    from ribp.report import Fit, write_report

    result, config = folder.stored_result(), folder.config()
    n_rows, n_dims = result.settings["n_rows"], result.settings["n_dims"]
    image = None if shape is None else _image_shape(shape, n_dims)
    data, labels, problems = None, None, []
    try:
        table = folder.table()
        data, labels = table.data, table.labels
    except (StorageError, InputError, OSError) as error:
        problems.append(f"the data themselves, since they cannot be read again ({error})")
    fit = Fit(
        result,
        Path(str(config["source"].get("path", "data"))).name,
        data,
        show_rows,
        folder.hidden((n_rows, n_dims)),
        folder.comparison(),
        _commands(config, run),
        image,
        labels,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # they are on the page
        write_report(fit, target)
    return problems


def _image_shape(text: str, n_dims: int) -> tuple[int, int]:
    from ribp.errors import InputError

    sizes = re.fullmatch(r"(\d+)x(\d+)", text.strip())
    height, width = (int(sizes[1]), int(sizes[2])) if sizes else (0, 0)
    if not sizes or height * width != n_dims:
        raise InputError(
            "--shape",
            f"must be HEIGHTxWIDTH with a product of {n_dims}, the number of columns",
            text,
            "Write for example 6x6.",
        )
    return height, width


def _commands(config: dict[str, Any], run: Path) -> list[str]:
    """Return the command that made a run, and the one that made the page."""
    source, arguments = config["source"], config["estimator"]
    words = ["ribp", "fit", Path(str(source.get("path"))).name]
    names = ("counts", "counts_missing", "exposure", "id", "columns", "exclude", "label", "memory")
    for name in names:
        given = source.get(name)
        for one in given if isinstance(given, list) else [] if given is None else [given]:
            words += [f"--{name.replace('_', '-')}", str(one)]
    words += as_options(arguments)
    if isinstance(arguments.get("likelihood"), dict):
        for column, kind in arguments["likelihood"].items():
            words += ["--kind", f"{column}={kind}"]
    if source.get("fixed_components"):
        words += ["--fixed-components", Path(str(source["fixed_components"])).name]
    if source.get("holdout"):
        words += ["--holdout", str(source["holdout"])]
    words += ["--seed", str(source.get("seed")), "--out", run.name]
    return [shlex.join(words), shlex.join(["ribp", "report", run.name])]
