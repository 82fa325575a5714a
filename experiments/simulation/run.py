"""Run the study: `python -m experiments.simulation.run`, one minute; `--quick` for a look.

Writes `results.json` (all numbers) and five pictures. `results.json` is written last.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.shared import parser, write_results
from experiments.simulation import bounds, compare, pictures, probabilities
from experiments.simulation.setting import COUNTS, MASS, N_ROWS, QUICK, SAMPLERS, Scale

_REJECTION_TICKS = [0, 100, 1e4, 1e6]
_TIME_TICKS = [1e-4, 1e-3, 1e-2, 1e-1, 1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = _options(arguments)
    scale, say = (QUICK if options.quick else Scale()), Console().print
    start = time.perf_counter()
    found = _measure(options.seed, scale, say)
    _draw(found, scale, options.out, say)
    minutes = (time.perf_counter() - start) / 60
    found["compare"], times = compare.without_times(found["compare"])
    write_results(
        options,
        seeds=options.seed,
        setting={
            "mass": MASS, "concentration": 1.0, "n_rows": N_ROWS, **vars(scale),
            "labels": {name: sampler.label for name, sampler in SAMPLERS.items()},
        },
        numbers=found,
        timing={"minutes": minutes, "compare": times},
    )  # fmt: skip
    say(f"done in {minutes:.1f} minutes")


def _options(arguments: Sequence[str] | None) -> Namespace:
    known = parser("simulation")
    known.add_argument("--seed", type=int, default=1, help="whole number, not negative")
    options = known.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    return options


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


if __name__ == "__main__":
    main()
