"""`ribp compare`: what knowing the counts is worth, on entries that were hidden.

Given a file, both models are fitted; given the folder of a run with hidden entries, only the
unrestricted one, and what is found is kept in the folder for its report.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ribp.cli.read_run import fitted
from ribp.cli.run_folder import RunFolder, Source, read_source
from ribp.cli.show import print_json, say
from ribp.errors import FitWarning, InputError
from ribp.estimators import IndianBuffet, RestrictedIBP
from ribp.posterior.held_out import score
from ribp.rows.local import in_memory

__all__ = ["compare", "compare_run", "scores"]

_SHARED = ("background", "n_chains", "n_warmup", "n_draws")


def compare(
    path: Path,
    *,
    counts: str | None,
    options: dict[str, Any],
    holdout: float,
    seed: int,
    as_json: bool,
) -> None:
    """Score the restricted and the unrestricted buffet on the same hidden entries."""
    if path.is_dir():
        if counts is not None:
            raise InputError(
                "--counts and RUN",
                "must not be given together",
                counts,
                "Leave out --counts: the run knows them.",
            )
        found, _ = compare_run(path, progress=not as_json)
    else:
        source = read_source(path, counts, holdout, seed)
        _check_hidden(source, holdout)
        settings: dict[str, Any] = {"random_state": seed, "progress": False if as_json else "auto"}
        model = RestrictedIBP(**options, **settings)
        model.prepare(in_memory(source.data), source.counts)
        found = {"restricted": _fit(model, source, source.counts, not as_json)}
        found["unrestricted"] = _fit(_buffet(options, settings), source, None, not as_json)
    if as_json:
        print_json({"data": str(path), "models": found})
    else:
        _show(found)
        if path.is_dir():
            say(f"Kept in {path}. Make a page of it: ribp report {path}")


def compare_run(run: Path, *, progress: bool) -> tuple[dict[str, dict[str, float]], IndianBuffet]:
    """Score a run and the unrestricted buffet; keep the scores, return them and the buffet."""
    folder, model = RunFolder(run), fitted(run)
    source = folder.source()
    _check_hidden(source, folder.config()["source"]["holdout"])
    options = folder.config()["estimator"]
    settings = {"random_state": options["random_state"], "progress": "auto" if progress else False}
    buffet = _buffet(options, settings)
    found = {
        "restricted": scores(model, source),
        "unrestricted": _fit(buffet, source, None, progress),
    }
    folder.write_comparison(found)
    return found, buffet


def _check_hidden(source: Source, holdout: float) -> None:
    if not source.hidden.any():
        raise InputError(
            "--holdout", "must hide at least one entry", holdout, "Raise it, for example to 0.05."
        )


def _buffet(options: dict[str, Any], settings: dict[str, Any]) -> IndianBuffet:
    return IndianBuffet(**{name: options[name] for name in _SHARED}, **settings)


def _fit(model: Any, source: Source, laws: Any, announce: bool) -> dict[str, float]:
    """Fit a model to what is not hidden; return its scores, and how long it took."""
    if announce:
        say(f"Fitting {type(model).__name__} ...")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # R-hat is in the table
        store = in_memory(source.data)
        model.fit_prepared(model.prepare(store, laws, source.row_names, source.dim_names))
    seconds = time.perf_counter() - began
    return scores(model, source) | {"seconds": seconds}


def scores(model: Any, source: Source) -> dict[str, float]:
    """Return how well a fitted model guesses the hidden entries."""
    result = model.result_
    found = score(result.held_out_log_density(source.values, source.hidden))
    mean, _ = result.impute(source.data)
    error = (source.values - mean)[source.hidden]
    return {
        "hidden": found.entries,
        "log_density": found.mean,
        "standard_error": found.standard_error,
        "error": float(np.sqrt((error**2).mean())),
        "features": len(model.components_),
        "modes": len(result.modes),
        "r_hat": float(result.diagnostics()["log_joint"].r_hat),
    }


def _show(found: dict[str, dict[str, float]]) -> None:
    """Print a table of models."""
    hidden = found["restricted"]["hidden"]
    say(f"{hidden} hidden entries; a higher log density and a lower error are better.")
    say("")
    say("model         log density (error)   rms error  features  modes  R-hat  seconds")
    for name, row in found.items():
        seconds = f"{row['seconds']:8.1f}" if "seconds" in row else ""
        say(
            f"{name:13} {row['log_density']:10.4f} ({row['standard_error']:.4f})"
            f" {row['error']:10.4g} {row['features']:9.0f} {row['modes']:6.0f}"
            f" {row['r_hat']:6.3f} {seconds}".rstrip()
        )
