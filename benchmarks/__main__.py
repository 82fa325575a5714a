"""Print one line `name ratio limit` per measure and write `benchmarks/results.json`."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numba
import numpy as np

from benchmarks import (
    commands,
    entries,
    kinds,
    other_models,
    prior,
    rows,
    running,
    samplers,
    scale,
    search,
    sweeps,
    variational,
)

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    """Run all measures."""
    found = []
    modules = (
        rows, prior, sweeps, entries, kinds, samplers, running, search, variational, scale,
        commands, other_models,
    )  # fmt: skip
    for module in modules:
        for measure in module.measures():
            mark = "" if measure.ratio <= measure.limit else "  <-- above the limit"
            print(f"{measure.name:45s} {measure.ratio:8.3f} {measure.limit:8.2f}{mark}", flush=True)
            found.append(measure._asdict())
    versions = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
    text = json.dumps({"versions": versions, "measures": found}, indent=1)
    temporary = RESULTS.with_suffix(".tmp")
    temporary.write_text(text + "\n")
    temporary.replace(RESULTS)


if __name__ == "__main__":  # processes of a cluster read this file too
    main()
