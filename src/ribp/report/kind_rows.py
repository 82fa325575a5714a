"""Some rows of a table of kinds, beside what their features make of them."""

from __future__ import annotations

import numpy as np

from ribp.kinds.kind import Kind
from ribp.likelihoods.data import shown
from ribp.plots.labels import dim_names, row_names
from ribp.posterior import predict
from ribp.report.content import Fit
from ribp.report.elements import Html, short, table

_COLUMNS = 8


def kind_rows(fit: Fit, most: int) -> Html:
    """Return a table of rows: each entry, and what its features alone would make of it."""
    result, data, law = fit.result, fit.data, fit.result.model.likelihood
    kinds = law.kinds
    assert data is not None
    assert kinds is not None
    n_rows = len(data.values)
    at = (np.arange(min(most, n_rows)) * n_rows + n_rows // 2) // min(most, n_rows)
    hidden = data.rows(at)._replace(observed=np.zeros((at.size, len(kinds)), bool))
    draws = result.draws(100)
    guesses, _ = predict.impute(draws.on_rows(at), law, hidden)
    values, seen, names = data.values[at], shown(data)[at], dim_names(result)
    columns = _telling(fit)
    head = ["row", "features"] + [short(names[d]) if names else f"column {d}" for d in columns]
    called, probs = row_names(result), result.row_probs()
    lines = []
    for n, row in enumerate(at.tolist()):
        has = [result.feature_names[i] for i in np.flatnonzero(probs[row] > 0.5)]
        line = [short(called[row]) if called else str(row), short(", ".join(has)) or "none"]
        for d in columns:
            entry = _text(kinds[d], values[n, d]) if seen[n, d] else "missing"
            line.append(f"{entry} ({_text(kinds[d], guesses[n, d])})")
        lines.append(line)
    return table(head, lines, texts=tuple(range(len(head))))


def _telling(fit: Fit) -> list[int]:
    """Return the columns that features change most, in their order."""
    of = fit.result.model.likelihood.columns_of_events()
    largest = np.zeros(of[-1] + 1)
    for one in fit.result.effects() or ():
        np.maximum.at(largest, of, np.abs(one.change.mean(axis=0)))
    return sorted(np.argsort(-largest, kind="stable")[:_COLUMNS].tolist())


def _text(kind: Kind, value: float) -> str:
    """Return an entry by the name of its level, or as a number."""
    return short(kind.levels[round(value)]) if kind.levels else f"{value:.3g}"
