"""The rows of a fit as a table: name, labels, what was said of their counts, and their features."""

from __future__ import annotations

import numpy as np

from ribp.plots.labels import row_names
from ribp.report.content import Fit
from ribp.report.elements import Html, note, paragraph, section, short, table

_MOST_ROWS = 1000
_SURE, _WORTH = 0.995, 0.05  # probabilities: not written, and left out


def rows(fit: Fit) -> Html | None:
    """Return the table of rows; None where rows must not be shown."""
    if not fit.show_rows or not fit.result.shown_places.size:
        return None
    result, n_rows = fit.result, fit.result.settings["n_rows"]
    names, laws, labels = row_names(result), result.settings["laws"], fit.labels or {}
    law_of_row = result.tree["laws"]["law_of_row"].to_numpy() if laws else np.zeros(n_rows, int)
    shown = range(min(n_rows, _MOST_ROWS))
    lines = [
        [
            short(names[n]) if names else str(n),
            *(short(column[n] or "") for column in labels.values()),
            *([law_words(laws[law_of_row[n]])] if laws else []),
            _features(fit, n),
        ]
        for n in shown
    ]
    head = ["row", *map(short, labels), *(["features said"] if laws else []), "features found"]
    left = n_rows - len(lines)
    return section(
        "rows",
        "Which row has which features",
        paragraph(
            "Features that a row has in more than one draw in twenty, with the share of draws where"
            " it is not nearly all of them."
        ),
        table(head, lines, texts=range(len(head)), name="rows"),
        note(f"and {left:,} more rows: ribp transform RUN DATA --out rows.csv writes all of them")
        if left
        else None,
    )


def _features(fit: Fit, n: int) -> str:
    """Return the features of a row, the most probable first."""
    probs, names = fit.result.row_probs()[n], fit.result.feature_names
    order = np.argsort(-probs, kind="stable")
    return ", ".join(
        names[i] if probs[i] >= _SURE else f"{names[i]} ({probs[i]:.0%})"
        for i in order.tolist()
        if probs[i] >= _WORTH
    )


def law_words(law: str) -> str:
    """Return a count law in few words."""
    if law.startswith("exactly(") and law.count("(") == 1:
        return law.removeprefix("exactly(").removesuffix(")")
    if law.startswith("learned("):
        return f"learned, 0 to {law.count(',')}"
    return short(law)
