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

import numpy as np

import ribp
from experiments.presentations.cases import KINDS, Table, presentations, table
from experiments.shared import table as markdown
from experiments.shared import write_text
from experiments.study import Study, parse, parser
from ribp.checks import FloatArray
from ribp.errors import FitWarning
from ribp.testing.recovery import f1

SEEDS = range(5)
_QUICK = {"n_chains": 1, "n_warmup": 20, "n_draws": 20}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what has not been run yet and write it to a folder."""
    given = parse(parser("presentations", data=False), arguments)
    names = list(KINDS)[: 1 if given.quick else None]
    study, settings = Study(given, {"tables": names}), _QUICK if given.quick else {}
    for seed in SEEDS[: 1 if given.quick else None]:
        for name in names:
            made = table(name, seed)
            for form, values in presentations(made.data, seed).items():
                if study.wants(name, form, seed):
                    began = time.process_time()
                    numbers = _run(made, values, seed, settings)
                    study.add(
                        name, form, seed, numbers=numbers, seconds=time.process_time() - began
                    )
    for file, lines in tables(study.numbers).items():
        write_text(given.out / file, lines)


def _run(made: Table, values: FloatArray, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what default settings find in a presentation of a table."""
    model = ribp.RestrictedIBP(
        max_features=made.max_features, random_state=seed, progress=False, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model.fit(values, counts=made.counts)
    choice = model.background_choice_
    return {
        "f1": f1(model.row_probs_ > 0.5, made.rows),
        "features": len(model.components_),
        "background": choice.on,
        "gain": choice.gain,
    }


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """Return a table as Markdown, by the name of a file: a row a presentation.

    In each cell the median and the least F1 over seeds, and how many fits had a background.
    """
    runs = {tuple(key.split(" | ")): value for key, value in numbers.items()}
    forms = list(dict.fromkeys(form for _, form, _ in runs))
    names = list(dict.fromkeys(name for name, _, _ in runs))
    rows = []
    for form in forms:
        cells = [form]
        for name in names:
            here = [run for (n, f, _), run in runs.items() if (n, f) == (name, form)]
            on = sum(run["background"] for run in here)
            if found := [run["f1"] for run in here]:
                cells.append(f"{np.median(found):.3f}, {min(found):.3f}; {on} of {len(here)}")
            else:
                cells.append("")
        rows.append(cells)
    return {"table.md": markdown(("presentation", *names), rows)}


if __name__ == "__main__":
    main()
