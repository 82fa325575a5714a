"""Run it: `python -m experiments.strengths.run`; `--quick` for a look.

Two questions.

- **Loud and soft**: are the notes of chords found if each is struck with a strength of its own? F1
  of rows after matching features one to one (Hungarian method), how many features rows use, and how
  many of the 12 notes have a feature whose correlation with their spectrum is above .95.
- **On or off**: what do strengths cost where there are none? Both kinds of entries are fitted to
  binary data with one entry in a hundred hidden: F1 of rows, tau, the log density of a hidden entry
  under binary entries, what strengths gain, and the standard errors of both.

Seeds 200 to 204 are fresh: the search was developed on seeds 1 to 8.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.chains import largest
from experiments.shared import table, write_text
from experiments.strengths.data import BINARY_DATA, SPREADS, WHICH, binary, loud
from experiments.strengths.methods import BINARY, METHODS, STRENGTHS, Length, fitted, spread
from experiments.study import Study, median, parse, parser
from ribp.checks import FloatArray
from ribp.testing.recovery import f1


class Scale(NamedTuple):
    """How much is run."""

    seeds: tuple[int, ...] = tuple(range(200, 205))
    spreads: tuple[float, ...] = SPREADS
    allowed: int = 24
    sweeps: int = 100
    which: tuple[str, ...] = WHICH
    binary: tuple[str, ...] = tuple(BINARY_DATA)


QUICK = Scale((1,), (0.4,), 24, 5, WHICH[:1], ("chords",))
ON_OFF = "binary data"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("strengths", data=False), arguments)
    scale = QUICK if given.quick else Scale()
    study, length = Study(given, scale._asdict()), Length(scale.allowed, scale.sweeps)
    for seed in scale.seeds:
        for which in scale.which:
            for log_spread in scale.spreads:
                made = loud(seed, log_spread, which)
                for name, method in METHODS.items():
                    if study.wants(which, log_spread, name, seed):
                        began = time.perf_counter()
                        numbers = method(made, seed, length)
                        seconds = time.perf_counter() - began
                        study.add(which, log_spread, name, seed, numbers=numbers, seconds=seconds)
        for name in scale.binary:
            if study.wants(ON_OFF, name, seed):
                began = time.perf_counter()
                numbers = on_or_off(name, seed, length)
                seconds = time.perf_counter() - began
                study.add(ON_OFF, name, seed, numbers=numbers, seconds=seconds)
    _write(given.out, study, scale)


def on_or_off(name: str, seed: int, length: Length) -> dict[str, float]:
    """Return what strengths cost on binary data."""
    made, found, densities = binary(name, seed), {}, {}
    for entries in (STRENGTHS, BINARY):
        model = fitted(made.values, made.counts, seed, entries, length)
        found[f"F1, {entries}"] = f1(largest(model.row_probs_, made.counts), made.rows)
        densities[entries] = model.result_.held_out_log_density(made.truth, made.hidden)
        if entries == STRENGTHS:
            found["tau"] = spread(model)
    gains = densities[STRENGTHS] - densities[BINARY]
    return found | {
        "score": float(densities[BINARY].mean()),
        "its error": _error(densities[BINARY]),
        "gain": float(gains.mean()),
        "error of the gain": _error(gains),
    }


def _error(values: FloatArray) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def _write(folder: Any, study: Study, scale: Scale) -> None:
    lines = []
    for which in scale.which:
        rows = [
            [name, *(_cell(study, which, one, name) for one in scale.spreads)] for name in METHODS
        ]
        rows = [row for row in rows if any(row[1:])]
        lines += table([which, *(f"sd {one:g}" for one in scale.spreads)], rows)
    write_text(folder / "loud.md", lines)
    of = (
        f"F1, {STRENGTHS}", f"F1, {BINARY}", "tau", "score", "its error", "gain",
        "error of the gain", "seconds",
    )  # fmt: skip
    rows = []
    for name in scale.binary:
        cells = {one: study.values(ON_OFF, name, of=one) for one in of}
        within = cells["gain"] >= -cells["its error"]
        rows.append([name, *map(median, cells.values()), f"{int(within.sum())} of {within.size}"])
    columns = ["data", *of[:3], "score, binary", "its error", "gain of strengths", *of[6:]]
    write_text(folder / "binary.md", table([*columns, "within the error of the score"], rows))


def _cell(study: Study, which: str, log_spread: float, name: str) -> str:
    f1_, features, notes = (
        study.values(which, log_spread, name, of=one) for one in ("F1", "features", "notes found")
    )
    if not f1_.size:
        return ""
    middle = f"{np.median(f1_):.3f}, {f1_.min():.3f}"
    return f"{middle}; {np.median(features):g}, {np.median(notes):g}"


if __name__ == "__main__":
    main()
