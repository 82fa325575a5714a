"""`ribp compare`: what knowing the counts is worth, on entries that were hidden."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ribp.cli.run_folder import read_source
from ribp.cli.show import print_json, say
from ribp.errors import FitWarning, InputError
from ribp.estimators import IndianBuffet, RestrictedIBP

__all__ = ["compare"]


def compare(
    path: Path,
    *,
    counts: str | None,
    options: dict[str, Any],
    holdout: float,
    seed: int,
    as_json: bool,
) -> None:
    """Fit the restricted and the unrestricted buffet to the same data, and score both."""
    source = read_source(path, counts, holdout, seed)
    if not source.hidden.any():
        raise InputError(
            "--holdout", "must hide at least one entry", holdout, "Raise it, for example to 0.05."
        )
    shared = {k: v for k, v in options.items() if k not in ("method", "max_features")}
    progress: Any = False if as_json else "auto"
    models: dict[str, Any] = {
        "restricted": RestrictedIBP(**options, random_state=seed, progress=progress),
        "unrestricted": IndianBuffet(**shared, random_state=seed, progress=progress),
    }
    models["restricted"].check(source.data, source.counts)
    found = {}
    for name, model in models.items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # R-hat is in the table
            laws = source.counts if name == "restricted" else None
            model.fit_data(source.data, laws, source.row_names, source.dim_names)
        found[name] = _scores(model, source) | {"seconds": time.perf_counter() - began}
    if as_json:
        print_json({"data": str(path), "hidden": int(source.hidden.sum()), "models": found})
    else:
        _table(found, int(source.hidden.sum()))


def _scores(model: Any, source: Any) -> dict[str, float]:
    result = model.result_
    scores = result.held_out_log_density(source.values, source.hidden)
    mean, _ = result.impute(source.data)
    error = (source.values - mean)[source.hidden]
    return {
        "log_density": float(scores.mean()),
        "standard_error": float(scores.std() / np.sqrt(scores.size)),
        "error": float(np.sqrt((error**2).mean())),
        "features": len(model.components_),
        "modes": len(result.modes),
        "r_hat": float(result.diagnostics()["log_joint"].r_hat),
    }


def _table(found: dict[str, dict[str, float]], hidden: int) -> None:
    say(f"{hidden} hidden entries; a higher log density and a lower error are better.")
    say("")
    say("model         log density (error)   rms error  features  modes  R-hat  seconds")
    for name, row in found.items():
        say(
            f"{name:13} {row['log_density']:10.4f} ({row['standard_error']:.4f})"
            f" {row['error']:10.4g} {row['features']:9.0f} {row['modes']:6.0f}"
            f" {row['r_hat']:6.3f} {row['seconds']:8.1f}"
        )
