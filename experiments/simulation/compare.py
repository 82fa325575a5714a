"""Figures 1 and 2 of the paper: rejections and CPU time for 100 rows.

For concentration 1 neither has an expectation, so only order statistics are reported: the three
quartiles, each a value that was observed. A draw that needs more than `max_proposals` is censored:
its rejections and its time are known to be larger than what was spent, so it counts as infinite in
the quartiles, and a quartile that falls on it is None.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from experiments.simulation.setting import N_ROWS, SAMPLERS, Sampler, Scale, generator
from ribp.errors import ProposalLimitError

_PLACE = 1
_REPEATS = 3
_LONG = 10_000  # rows: so many that setting up does not count


def compare(seed: int, scale: Scale, count: int) -> dict[str, Any]:
    """Return what every sampler spent on rows with exactly `count` features."""
    return {
        name: _repeat(seed, scale, count, which, sampler)
        for which, (name, sampler) in enumerate(SAMPLERS.items())
    }


def _repeat(seed: int, scale: Scale, count: int, which: int, sampler: Sampler) -> dict[str, Any]:
    for warm_up in range(3):
        _spend(sampler, count, 10**4, seed, 0, warm_up)
    spent = [
        _spend(sampler, count, scale.max_proposals, seed, _PLACE, count, which, at)
        for at in range(scale.n_draws)
    ]
    censored = [one["censored"] for one in spent]
    found: dict[str, Any] = {key: [one[key] for one in spent] for key in spent[0]}
    found["n_censored"] = sum(censored)
    for key in ("rejections", "seconds", "atoms", "used"):
        found[f"{key}_quartiles"] = quartiles(found[key], censored)
    if sampler.method in ("inclusion", "esscher"):
        found["seconds_per_100_of_many"] = _long_run(seed, scale, count, which, sampler)
    return found


def _spend(sampler: Sampler, count: int, max_proposals: int, *place: int) -> dict[str, Any]:
    """Draw once, and twice again for the time: the same draw, the best of three."""
    times = []
    for _ in range(_REPEATS):
        rng = generator(*place)
        start = time.process_time()
        try:
            draw = sampler.draw(rng, count, max_proposals)
            found = {
                "rejections": draw.n_rejected,
                "atoms": draw.n_atoms,
                "used": draw.rows.shape[1],
            }
        except ProposalLimitError as limit:
            rejections = limit.n_proposed - limit.n_accepted
            found = {"rejections": rejections, "atoms": None, "used": None}
        times.append(time.process_time() - start)
    return found | {"seconds": min(times), "censored": found["atoms"] is None}


def _long_run(seed: int, scale: Scale, count: int, which: int, sampler: Sampler) -> float:
    """Return the median CPU time of 100 rows among ten thousand."""
    times = []
    for at in range(scale.n_long):
        rng = generator(seed, _PLACE, count, which, scale.n_draws + at)
        start = time.process_time()
        sampler.draw(rng, count, 10**8, _LONG)
        times.append((time.process_time() - start) * N_ROWS / _LONG)
    return float(np.median(times))


def quartiles(values: list[float | None], censored: list[bool]) -> list[float | None]:
    """Return the three quartiles; None where one lies beyond the limit of proposals."""
    known = [
        math.inf if cut or value is None else value
        for value, cut in zip(values, censored, strict=True)
    ]
    found = np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf")
    return [float(value) if np.isfinite(value) else None for value in found]


def without_times(found: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `compare` found of every count apart: what a re-run gives again, and times."""

    def part(times: bool) -> dict[str, Any]:
        return {
            count: {
                name: {k: v for k, v in one.items() if k.startswith("seconds") == times}
                for name, one in samplers.items()
            }
            for count, samplers in found.items()
        }

    return part(times=False), part(times=True)


def joined(results: dict[str, Any]) -> dict[str, Any]:
    """Return both together again, from stored results."""
    numbers, times = results["numbers"]["compare"], results["timing"]["compare"]
    return {
        count: {name: one | times[count][name] for name, one in samplers.items()}
        for count, samplers in numbers.items()
    }
