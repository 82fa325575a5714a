"""Print one line `name ratio limit` per measure and write `benchmarks/results.json`.

`python -m benchmarks kinds rows` runs some of the modules, and writes nothing.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
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
MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        rows, prior, sweeps, entries, kinds, samplers, running, search, variational, scale,
        commands, other_models,
    )
}  # fmt: skip


def main(names: Sequence[str] = ()) -> None:
    """Run all measures, or those of some modules."""
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        raise SystemExit(f"no such benchmark: {unknown[0]}; there are {', '.join(MODULES)}")
    found = []
    for name in names or MODULES:
        for measure in MODULES[name].measures():
            mark = "" if measure.ratio <= measure.limit else "  <-- above the limit"
            print(f"{measure.name:45s} {measure.ratio:8.3f} {measure.limit:8.2f}{mark}", flush=True)
            found.append(measure._asdict())
    if not names:
        _write(found)


def _write(found: list[dict[str, object]]) -> None:
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
    main(sys.argv[1:])
