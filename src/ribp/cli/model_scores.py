"""Scores of the restricted and the unrestricted buffet on the same hidden entries."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ribp.cli.run_folder import InputTable, RunFolder
from ribp.cli.show import say
from ribp.errors import FitWarning, InputError
from ribp.estimators import IndianBuffet, RestrictedIBP
from ribp.fitting import Prepared
from ribp.posterior.held_out import score
from ribp.rows.local import in_memory

Scores = dict[str, dict[str, float]]
"""Numbers by name, of models by name."""

_SHARED = (
    "likelihood", "noise", "noise_scale", "feature_scale", "background", "n_chains", "n_warmup",
    "n_draws", "n_jobs", "random_state", "progress",
)  # fmt: skip


def compare_table(
    table: InputTable, arguments: dict[str, Any], holdout: float, announce: bool
) -> Scores:
    """Return the scores of both models, fitted to a table with hidden entries."""
    _check_hidden(table, holdout)
    restricted, buffet = RestrictedIBP(**arguments), _buffet(arguments)
    prepared = [_prepared(restricted, table, table.counts), _prepared(buffet, table, None)]
    return {
        "restricted": _fit(restricted, table, prepared[0], announce),
        "unrestricted": _fit(buffet, table, prepared[1], announce),
    }


def compare_run(run: Path, announce: bool) -> tuple[Scores, IndianBuffet]:
    """Fit the unrestricted buffet to the data of a run, and store the scores of both models.

    Returns the scores and the fitted buffet.
    """
    folder = RunFolder(run)
    model, table, config = folder.model(), folder.table(), folder.config()
    _check_hidden(table, config["source"]["holdout"])
    buffet = _buffet({**config["estimator"], "progress": "auto" if announce else False})
    scores = {
        "restricted": _scores(model, table),
        "unrestricted": _fit(buffet, table, _prepared(buffet, table, None), announce),
    }
    folder.write_comparison(scores)
    return scores, buffet


def _check_hidden(table: InputTable, holdout: float) -> None:
    if not table.hidden.any():
        raise InputError(
            "--holdout", "must hide at least one entry", holdout, "Raise it, for example to 0.05."
        )


def _buffet(arguments: dict[str, Any]) -> IndianBuffet:
    return IndianBuffet(**{name: arguments[name] for name in _SHARED})


def _prepared(model: Any, table: InputTable, counts: Any) -> Prepared:
    """Return the fit of a model to what is not hidden, validated and not begun."""
    prepared: Prepared = model.prepare(
        in_memory(table.data), counts, table.row_names, table.dim_names
    )
    return prepared


def _fit(model: Any, table: InputTable, prepared: Prepared, announce: bool) -> dict[str, float]:
    """Fit a model to what is not hidden; return its scores, and how long it took."""
    if announce:
        say(f"Fitting {type(model).__name__} ...")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # R-hat is in the table
        model.fit_prepared(prepared)
    seconds = time.perf_counter() - began
    return _scores(model, table) | {"seconds": seconds}


def _scores(model: Any, table: InputTable) -> dict[str, float]:
    """Return how well a fitted model predicts the hidden entries."""
    result = model.result_
    hidden = score(result.held_out_log_density(table.values, table.hidden))
    mean, _ = result.impute(table.data)
    error = (table.values - mean)[table.hidden]
    return {
        "hidden": hidden.entries,
        "log_density": hidden.mean,
        "standard_error": hidden.standard_error,
        "error": float(np.sqrt((error**2).mean())),
        "features": len(model.components_),
        "modes": len(result.modes),
        "r_hat": float(result.diagnostics()["log_joint"].r_hat),
    }
