"""`ribp report`: one page that shows what a run found and whether to trust it."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path
from typing import Any

from ribp.cli.options import background_words
from ribp.cli.read_run import fitted
from ribp.cli.run_folder import RunFolder
from ribp.cli.show import print_json, say
from ribp.errors import FitWarning, InputError, StorageError
from ribp.likelihoods.data import Data
from ribp.report import Fit, write_report

__all__ = ["report", "write"]

_OPTIONS = {
    "method": "--method",
    "max_features": "--max-features",
    "likelihood": "--likelihood",
    "n_chains": "--chains",
    "n_warmup": "--warmup",
    "n_draws": "--draws",
}


def report(
    run: Path,
    out: Path | None,
    *,
    show_rows: bool,
    shape: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write the page of a run and say where it is."""
    target = RunFolder(run).path / "report.html" if out is None else out
    if out is not None and out.exists() and not overwrite:
        raise StorageError(out, "is there already", "Add --overwrite to replace it.")
    trouble = write(run, target, show_rows=show_rows, shape=shape)
    if as_json:
        print_json({"run": str(run), "report": str(target), "warnings": trouble})
        return
    for text in trouble:
        say(f"Left out: {text}")
    say(f"Report: {target}")


def write(
    run: Path, target: Path, *, show_rows: bool = True, shape: str | None = None
) -> list[str]:
    """Write the page of a run; return what had to be left out."""
    folder, result = RunFolder(run), fitted(run).result_
    size = (result.settings["n_rows"], result.settings["n_dims"])
    image = None if shape is None else _shape(shape, size[1])
    data, trouble = _data(folder)
    config = folder.config()
    fit = Fit(
        result,
        Path(str(config["source"].get("path", "data"))).name,
        data,
        show_rows,
        folder.hidden(size),
        folder.comparison(),
        _commands(config, run),
        image,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # they are on the page
        write_report(fit, target)
    return trouble


def _data(folder: RunFolder) -> tuple[Data | None, list[str]]:
    """Return the data of a run if they are still what they were, or why not."""
    try:
        return folder.source().data, []
    except (StorageError, InputError, OSError) as error:
        return None, [f"the data themselves, since they cannot be read again ({error})"]


def _shape(text: str, n_dims: int) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)", text.strip())
    height, width = (int(found[1]), int(found[2])) if found else (0, 0)
    if not found or height * width != n_dims:
        raise InputError(
            "--shape",
            f"must be HEIGHTxWIDTH with a product of {n_dims}, the number of columns",
            text,
            "Write for example 6x6.",
        )
    return height, width


def _commands(config: dict[str, Any], run: Path) -> list[str]:
    """Return the command that made a run, and the one that made the page."""
    asked, options = config["source"], config["estimator"]
    words = ["ribp", "fit", Path(str(asked.get("path"))).name]
    if asked.get("counts") is not None:
        words += ["--counts", str(asked["counts"])]
    for name, option in _OPTIONS.items():
        if name in options:
            words += [option, str(options[name])]
    words += background_words(options.get("background", "auto"))
    if asked.get("holdout"):
        words += ["--holdout", str(asked["holdout"])]
    words += ["--seed", str(asked.get("seed")), "--out", run.name]
    return [shlex.join(words), shlex.join(["ribp", "report", run.name])]
