"""The tables of the evaluation page: `python -m experiments.simulation.tables`.

They are made from the stored results, and a test compares them with the page, so that
the page cannot fall behind the results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from experiments.simulation.compare import joined

RESULTS = Path(__file__).parent / "results" / "results.json"
_LOSSES = {
    "paper_width": "the paper's interval is this narrow",
    "certificate": "our certificate is this small",
    "true_tv": "the true total variation is",
    "true_error": "the true error of every probability is",
}


def tables(results: dict[str, Any]) -> list[str]:
    """Return the tables in Markdown, in the order of the page."""
    return [
        _costs(results, "rejections", 1.0, 0),
        _costs(results, "seconds", 1e3, 2),
        _excesses(results["numbers"]["probabilities"]),
        _levels(results["numbers"]["bounds"]),
    ]


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _costs(results: dict[str, Any], key: str, unit: float, digits: int) -> str:
    """Return medians and quartiles, by sampler and J."""

    def text(value: float | None) -> str:
        return "beyond" if value is None else f"{value * unit:,.{digits}f}"

    def cell(one: dict[str, Any]) -> str:
        low, middle, high = map(text, one[f"{key}_quartiles"])
        stopped = f"; {one['n_censored']} stopped" if one["n_censored"] else ""
        return f"{middle} ({low} to {high}){stopped}"

    found = joined(results)
    rows = [
        [label, *(cell(found[count][name]) for count in found)]
        for name, label in results["setting"]["labels"].items()
    ]
    return _table(["", *(f"J = {count}" for count in found)], rows)


def _excesses(found: dict[str, Any]) -> str:
    """Return the largest excess over the certified sampler, with its standard error and rank."""

    def cell(one: dict[str, Any]) -> str:
        top = one["largest_excess"]
        return f"{top['excess']:.3f} ± {top['standard_error']:.3f} (feature {top['rank']})"

    names = [name for name in next(iter(found.values())) if name != "certified"]
    rows = [[name, *(cell(found[count][name]) for count in found)] for name in names]
    return _table(["", *(f"J = {count}" for count in found)], rows)


def _levels(found: dict[str, Any]) -> str:
    """Return how many features it takes (the median over measures) for a loss to fall to a goal."""
    summaries = {count: one["summary"]["median_level_below"] for count, one in found.items()}
    goals = list(next(iter(summaries.values()))["certificate"])
    rows = [
        [f"J = {count}: {label}", *(_level(losses[key][goal]) for goal in goals)]
        for count, losses in summaries.items()
        for key, label in _LOSSES.items()
    ]
    return _table(["features kept until", *goals], rows)


def _level(value: float | None) -> str:
    return "more than 120" if value is None else f"{value:.0f}"


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables(json.loads(RESULTS.read_text()))) + "\n")
