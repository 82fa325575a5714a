"""Run the study: `python -m experiments.simulation.run`, one minute; `--quick` for a look.

Writes `results.json` (all numbers) and five pictures. `results.json` is written last.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from rich.console import Console

import ribp
from experiments.simulation import bounds, compare, pictures, probabilities
from experiments.simulation.setting import COUNTS, MASS, N_ROWS, QUICK, SAMPLERS, Scale

_REJECTION_TICKS = [0, 100, 1e4, 1e6]
_TIME_TICKS = [1e-4, 1e-3, 1e-2, 1e-1, 1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = _parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    scale, say = (QUICK if options.quick else Scale()), Console().print
    start = time.perf_counter()
    found = _measure(options.seed, scale, say)
    _draw(found, scale, options.out, say)
    results = {
        "seed": options.seed,
        "quick": options.quick,
        "setting": {"mass": MASS, "concentration": 1.0, "n_rows": N_ROWS, **vars(scale)},
        "versions": _versions(),
        "minutes": (time.perf_counter() - start) / 60,
        "labels": {name: sampler.label for name, sampler in SAMPLERS.items()},
        **found,
    }
    _write(results, options.out / "results.json")
    say(f"done in {results['minutes']:.1f} minutes")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.simulation.run")
    default = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder for what is found")
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it works")
    parser.add_argument("--seed", type=int, default=1, help="whole number, not negative")
    return parser.parse_args(arguments)


def _measure(seed: int, scale: Scale, say: Callable[[str], None]) -> dict[str, Any]:
    """Return all numbers; keys are JSON's, so J is text."""
    found: dict[str, Any] = {"compare": {}, "probabilities": {}, "bounds": {}}
    for count in COUNTS:
        say(f"rejections and time, {count} features a row")
        found["compare"][str(count)] = compare.compare(seed, scale, count)
    for count in probabilities.COUNTS:
        say(f"feature probabilities, {count} features a row")
        found["probabilities"][str(count)] = probabilities.probabilities(seed, scale, count)
    for count in bounds.COUNTS:
        say(f"bounds, {count} features a row")
        found["bounds"][str(count)] = bounds.bounds(seed, scale, count)
    found["failing_example"] = bounds.failing_example()
    return found


def _draw(found: dict[str, Any], scale: Scale, out: Path, say: Callable[[str], None]) -> None:
    say("pictures")
    limit = scale.max_proposals
    costs = (
        ("rejections", "rejections for 100 rows", _REJECTION_TICKS, "rejections.png"),
        ("seconds", "CPU seconds for 100 rows", _TIME_TICKS, "time.png"),
    )
    for key, label, ticks, name in costs:
        pictures.draw_costs(found["compare"], key, label, ticks, limit, out / name)
    for count, curves in found["probabilities"].items():
        pictures.draw_probabilities(curves, int(count), out / f"probabilities-J{count}.png")
    pictures.draw_bounds(found["bounds"], out / "bounds.png")


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "ribp": ribp.__version__,
    }


def _write(results: dict[str, Any], path: Path) -> None:
    """Write JSON with six digits and one line per list, under a temporary name first."""
    text = json.dumps(_short(results), indent=1, allow_nan=False)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found.group().split()), text)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text + "\n")
    temporary.replace(path)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
