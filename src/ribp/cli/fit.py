"""`ribp fit` and `ribp resume`: from a file to a run folder with a result."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ribp import estimators
from ribp.cli.run_folder import RunFolder, Source, read_source
from ribp.cli.show import say, show_summary
from ribp.errors import FitWarning, StorageError
from ribp.fitting import resume as go_on
from ribp.results import Result
from ribp.running.checkpoint import Checkpoint

__all__ = ["fit", "resume"]


def fit(
    path: Path,
    out: Path,
    *,
    counts: str | None,
    options: dict[str, Any],
    holdout: float,
    seed: int | None,
    overwrite: bool,
    as_json: bool,
    show: bool = True,
) -> None:
    """Fit a file and keep everything in the folder `out`; the summary is printed if `show`."""
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    source = read_source(path, counts, holdout, seed)
    options = options | {"random_state": seed}
    folder = RunFolder(out)
    model = estimators.RestrictedIBP(**options)
    model.check(source.data, source.counts)  # before anything is written
    asked = {"path": str(path.resolve()), "counts": counts, "holdout": holdout, "seed": seed}
    folder.create({"source": asked, "estimator": options}, overwrite)
    if source.hidden.any():
        folder.write_hidden(source)
    folder.log(f"fit {path} with seed {seed}")
    with _logged(folder):
        _run(model, source, folder, False if as_json else "auto")
    _finish(folder, model, source, as_json, show)


def resume(out: Path, *, n_draws: int | None, as_json: bool) -> None:
    """Go on with the run in a folder, and write its result."""
    folder = RunFolder(out)
    config = folder.config()
    source = folder.source()
    try:
        model = estimators.RestrictedIBP(**config["estimator"])
    except TypeError:
        raise StorageError(
            out / "config.json", "asks for settings that ribp does not know", "Fit again."
        ) from None
    folder.log("resume")
    progress: Any = False if as_json else "auto"
    checkpoint = Checkpoint(folder.checkpoints)
    with _logged(folder):
        if checkpoint.exists():
            result = go_on(folder.checkpoints, source.data, n_draws=n_draws, progress=progress)
            model.adopt(result, source.dim_names)
        else:  # stopped before its first checkpoint
            model.set_params(n_draws=n_draws or model.n_draws)
            _run(model, source, folder, progress)
    model.set_params(n_draws=model.result_.settings["n_draws"])
    _finish(folder, model, source, as_json)


def _run(model: Any, source: Source, folder: RunFolder, progress: Any) -> None:
    """Fit from the beginning."""
    model.set_params(progress=progress, checkpoint=str(folder.checkpoints))
    model.fit_data(source.data, source.counts, source.row_names, source.dim_names)
    model.set_params(progress="auto", checkpoint=None)


def _finish(
    folder: RunFolder, model: Any, source: Source, as_json: bool, show: bool = True
) -> None:
    """Write the result and show it."""
    model.save(folder.result, overwrite=True)
    result: Result = model.result_
    folder.log(f"done: {result.n_chains} chains of {result.n_draws} draws")
    if show:
        scores = None
        if source.hidden.any():
            scores = result.held_out_log_density(source.values, source.hidden)
        show_summary(result, as_json, scores, folder.path)
    if result.interrupted:
        _stopped(folder)
    if show and not as_json:
        say(f"Saved in {folder.path}. Look again with: ribp summary {folder.path}")


def _stopped(folder: RunFolder) -> NoReturn:
    folder.log("interrupted")
    sys.stderr.write(f"ribp: interrupted; go on with: ribp resume {folder.path}\n")
    raise SystemExit(130)


@contextmanager
def _logged(folder: RunFolder) -> Iterator[None]:
    """Write warnings to the log; the summary shows them, so they are not shown twice."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", FitWarning)
        try:
            yield
        except KeyboardInterrupt:
            _stopped(folder)
    for warning in heard:
        folder.log(f"warning: {warning.message}")
