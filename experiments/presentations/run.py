"""Run it: `python -m experiments.presentations.run`; `--quick` for a look.

Each of five tables in ten presentations, fitted with default settings: F1 of the rows that have a
feature in more than half of the draws, how many features are in use, and whether a background was
switched on, with its gain in prices of a feature.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

from rich.console import Console

import ribp
from experiments.presentations.cases import KINDS, presentations, table
from experiments.shared import parse, write_results, write_text
from experiments.shared import table as markdown
from ribp.errors import FitWarning
from ribp.testing.recovery import f1

SEEDS = (0, 1)
_QUICK = {"n_chains": 1, "n_warmup": 20, "n_draws": 20}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write it to a folder."""
    options = parse("presentations", arguments)
    seeds = SEEDS[:1] if options.quick else SEEDS
    names = list(KINDS)[: 1 if options.quick else None]
    began, console = time.perf_counter(), Console()
    numbers: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        for name in names:
            for form, run in _runs(name, seed, _QUICK if options.quick else {}).items():
                numbers[f"{name} | {form} | {seed}"] = run
                console.print(f"{name}, {form}, seed {seed}: {run}", highlight=False)
            numbers = write_results(
                options,
                seeds=seeds,
                setting={"tables": names},
                numbers=numbers,
                timing={"minutes": (time.perf_counter() - began) / 60},
            )
    for file, lines in tables(numbers).items():
        write_text(options.out / file, lines)


def _runs(name: str, seed: int, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what default settings find in each presentation of a table."""
    given, found = table(name, seed), {}
    for form, values in presentations(given.data, seed).items():
        model = ribp.RestrictedIBP(
            max_features=given.max_features, random_state=seed, progress=False, **settings
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.fit(values, counts=given.counts)
        choice = model.background_choice_
        found[form] = {
            "f1": f1(model.row_probs_ > 0.5, given.rows),
            "features": len(model.components_),
            "background": choice.on,
            "gain": choice.gain,
        }
    return found


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return a table as Markdown, by the name of a file: a row a presentation."""
    runs = {tuple(key.split(" | ")): value for key, value in numbers.items()}
    forms = list(dict.fromkeys(form for _, form, _ in runs))
    names = list(dict.fromkeys(name for name, _, _ in runs))
    rows = []
    for form in forms:
        cells = [form]
        for name in names:
            here = [run for (n, f, _), run in runs.items() if (n, f) == (name, form)]
            on = "".join("+" if run["background"] else "-" for run in here)
            cells.append(" ".join(f"{run['f1']:.3f}" for run in here) + f" ({on})")
        rows.append(cells)
    return {"table.md": markdown(("presentation", *names), rows)}


if __name__ == "__main__":
    main()
