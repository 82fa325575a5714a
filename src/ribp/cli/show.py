"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ribp.checks import FloatArray
    from ribp.results import Result


def say(text: str) -> None:
    """Print lines for people; what a terminal would obey instead of showing it is replaced."""
    sys.stdout.write(harmless(text) + "\n")


def harmless(text: str) -> str:
    """Return a text without control characters: names come from files."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in text)


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


def show_summary(result: Result, run: Path, as_json: bool, scores: FloatArray | None) -> None:
    """Print the summary of a run; `scores` are log densities of hidden entries."""
    from ribp.posterior.held_out import score

    summary = result.summary()
    held_out = None if scores is None else score(scores)
    if as_json:
        print_json(
            {
                "run": str(run),
                "settings": result.settings,
                "features": [feature._asdict() for feature in summary.features],
                "active_features": summary.active_features,
                "background": summary.background._asdict(),
                "diagnostics": {k: d._asdict() for k, d in summary.diagnostics.items()},
                "modes": [mode._asdict() for mode in summary.modes],
                "verdict": summary.verdict.as_dict(),
                "warnings": [notice._asdict() for notice in summary.warnings],
                "notes": [notice._asdict() for notice in summary.notes],
                "interrupted": result.interrupted,
                "held_out": None if held_out is None else held_out._asdict(),
            }
        )
        return
    say(repr(result).splitlines()[0].strip("<>"))
    say(f"\n{summary}")
    if held_out is not None:
        say(
            f"\nHeld out: {held_out.entries} entries, mean log density {held_out.mean:.4f}"
            f" (standard error {held_out.standard_error:.4f})"
        )
