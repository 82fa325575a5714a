"""The part of a report about hidden entries: how well they were predicted, by which models."""

from __future__ import annotations

import math
from typing import Any

from ribp import plots
from ribp.posterior.held_out import Score, score
from ribp.report.content import Fit
from ribp.report.elements import Html, note, paragraph, section, table, tag
from ribp.report.pictures import picture

_COLUMNS = {
    "log_density": ("log density of hidden entries", ".3f"),
    "standard_error": ("its error", ".3f"),
    "error": ("typical error", ".3g"),
    "features": ("features", ".0f"),
    "found": ("true features found", ".0f"),
    "f1": ("F1", ".3f"),
    "r_hat": ("R-hat", ".3f"),
    "seconds": ("seconds", ".1f"),
}


def held_out(fit: Fit) -> Html:
    """Return how well hidden entries were guessed, and how other models did."""
    parts: list[str | None] = []
    if fit.hidden is None and fit.comparison is None:
        parts.append(
            paragraph(
                "No entries were hidden from this fit. Some were left out of it afterwards, draw by"
                " draw; the answer stands at the top of the page. To have them hidden from the"
                " beginning, fit with ",
                tag("code", "--holdout 0.01"),
                ".",
            )
        )
    if fit.hidden is not None:
        parts += _hidden_words(fit)
    if fit.comparison is not None:
        parts += _comparison(fit.comparison)
    return section("held-out", "Does it predict what it has not seen?", *parts)


def hidden_scores(fit: Fit) -> tuple[Score, Score | None]:
    """Return the score of the fit, and that of a model that knows the columns only."""
    assert fit.hidden is not None
    fitted = score(fit.result.held_out_log_density(*fit.hidden))
    if fit.data is None:
        return fitted, None
    values, hidden = fit.hidden
    by_column = fit.result.model.likelihood.column_log_density(fit.result.exposed(fit.data), values)
    return fitted, score(by_column[hidden])


def _hidden_words(fit: Fit) -> list[str | None]:
    fitted, columns = hidden_scores(fit)
    text = (
        f"{fitted.entries:,} entries were hidden from the fit. Their mean log density is"
        f" {fitted.mean:.3f} (standard error {fitted.standard_error:.3f})."
    )
    if columns is None:
        return [paragraph(text)]
    gain = fitted.mean - columns.mean
    times = f"{math.exp(min(abs(gain), 50.0)):.3g}"
    beside = f"A model of each column by itself, without features, has {columns.mean:.3f}: " + (
        f"with the features a hidden entry is {times} times as likely."
        if gain > 0
        else f"the features make a hidden entry {times} times less likely. They do not help."
    )
    return [paragraph(text), paragraph(beside)]


def _comparison(models: dict[str, dict[str, Any]]) -> list[str | None]:
    keys = [key for key in _COLUMNS if any(_finite(model.get(key)) for model in models.values())]
    rows = [
        [name] + [
            f"{model[key]:{_COLUMNS[key][1]}}" if _finite(model.get(key)) else "" for key in keys
        ]
        for name, model in models.items()
    ]  # fmt: skip
    scored = {name: model for name, model in models.items() if _finite(model.get("log_density"))}
    return [
        paragraph("Several models, scored on the same hidden entries:"),
        table(["model", *(_COLUMNS[key][0] for key in keys)], rows),
        note(
            "F1 is the share of right entries among the features of rows: 1 if all are right."
            if "f1" in keys
            else "A higher log density and a lower error are better."
        ),
        picture(plots.held_out(scored), "Log density of hidden entries of each model.")
        if len(scored) > 1
        else None,
    ]


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
