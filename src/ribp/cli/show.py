"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from ribp.checks import FloatArray
from ribp.posterior.held_out import score
from ribp.results import Result

__all__ = ["print_json", "say", "show_summary"]


def say(text: str) -> None:
    """Print a line for people."""
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    """Print JSON; numbers that JSON does not have become null."""
    sys.stdout.write(json.dumps(_plain(value), indent=1) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show_summary(
    result: Result, as_json: bool, scores: FloatArray | None = None, run: Path | None = None
) -> None:
    """Print the summary of a result; `scores` are log densities of held-out entries."""
    found = result.summary()
    if as_json:
        print_json(
            {
                "run": None if run is None else str(run),
                "settings": result.settings,
                "features": [feature._asdict() for feature in found.features],
                "active_features": found.active_features,
                "background": found.background._asdict(),
                "diagnostics": {k: d._asdict() for k, d in found.diagnostics.items()},
                "modes": [mode._asdict() for mode in found.modes],
                "verdict": found.verdict.as_dict(),
                "warnings": [notice._asdict() for notice in found.warnings],
                "notes": [notice._asdict() for notice in found.notes],
                "interrupted": result.interrupted,
                "held_out": None if scores is None else score(scores)._asdict(),
            }
        )
        return
    say(repr(result).splitlines()[0].strip("<>"))
    say("")
    say(str(found))
    if scores is not None:
        held = score(scores)
        say("")
        say(
            f"Held out: {held.entries} entries, mean log density {held.mean:.4f}"
            f" (standard error {held.standard_error:.4f})"
        )
