"""Processor time and memory of fits, here and on another source, in turns: what a redesign costs.

``python -m benchmarks.paired OTHER/src`` runs every fit by its public face on both sources, each
time in a process of its own, in turns, five times. A line has the medians of both and their ratio;
"slower" where they differ by more than 3% and their ranges do not overlap.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import PEAK_MEMORY

HERE = Path(__file__).parents[1]
TURNS = 5
_PLAN = {"n_chains": 1, "random_state": 0, "progress": False, "background": False}


def made(n_rows: int, dims: int, features: int, counts: bool = False) -> Any:
    """Return data of clear features, one to three in each row."""
    rng = np.random.default_rng(1)
    rows = rng.permuted(np.arange(features) < rng.integers(1, 4, (n_rows, 1)), axis=1)
    mean = rows @ rng.gamma(2.0, 1.5, (features, dims))
    return rng.poisson(mean).astype(float) if counts else mean + rng.normal(0, 0.5, mean.shape)


def fit(
    method: str, shape: tuple[int, int, int], sweeps: int, file: bool = False, **options: Any
) -> Callable[[], None]:
    """Return a fit of `RestrictedIBP`, features fixed in number."""

    def run() -> None:
        import ribp

        X = made(*shape, counts=options.get("likelihood") == "poisson")
        given = {"max_features": shape[2] + 4, "n_warmup": 0, "n_draws": sweeps, **_PLAN, **options}
        model = ribp.RestrictedIBP(method, counts="uniform(1, 3)", n_jobs=1, **given)
        with tempfile.TemporaryDirectory() as folder:
            if file:
                np.save(Path(folder) / "data.npy", X)
                X = np.load(Path(folder) / "data.npy", mmap_mode="r")
            model.fit(X)

    return run


def _import() -> None:
    import ribp

    ribp.log_esp([0.0, 1.0])


CASES = {
    "import, and a first answer": _import,
    "gibbs, 232 x 100 x 24": fit("gibbs", (232, 100, 20), 1500),
    "gibbs-rows, 5000 x 50 x 24": fit("gibbs-rows", (5000, 50, 20), 300),
    "gibbs-rows, counts, 1000 x 30 x 14": fit(
        "gibbs-rows", (1000, 30, 10), 150, likelihood="poisson"
    ),
    "gibbs-rows, a file, 20000 x 30 x 14": fit("gibbs-rows", (20000, 30, 10), 150, file=True),
    "structured, 1000 x 50 x 24": fit("structured", (1000, 50, 20), 60),
    "hybrid, 1000 x 50 x 24": fit("hybrid", (1000, 50, 20), 300),
}


def measured(name: str, source: str) -> tuple[float, float]:
    """Return seconds of processor time and MiB of memory of a case, in a process of its own."""
    code = (
        f"{PEAK_MEMORY}\nimport json, time\nfrom benchmarks.paired import CASES\n"
        f"with PeakMemory() as memory:\n    CASES[{name!r}]()\n"
        "print(json.dumps([time.process_time(), memory.bytes]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(HERE)])}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, n_bytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, n_bytes / 2**20


def main(other: str) -> None:
    """Print a line for each case."""
    sources = {"other": other, "here": str(HERE / "src")}
    for name in CASES:
        found: dict[str, list[tuple[float, float]]] = {key: [] for key in sources}
        for source in sources.values():  # compiled code is written
            measured(name, source)
        for _ in range(TURNS):
            for key, source in sources.items():
                found[key].append(measured(name, source))
        before, now = ([one[0] for one in found[key]] for key in sources)
        old, new = statistics.median(before), statistics.median(now)
        memory = [statistics.median(one[1] for one in found[key]) for key in sources]
        mark = "  <-- slower" if new > 1.03 * old and min(now) > max(before) else ""
        print(
            f"{name:36s} {old:7.2f} s ({min(before):.2f} to {max(before):.2f})  {new:7.2f} s "
            f"({min(now):.2f} to {max(now):.2f})  ratio {new / old:.3f}; "
            f"MiB {memory[0]:.0f} {memory[1]:.0f}{mark}",
            flush=True,
        )
    print(time.strftime("%Y-%m-%d"))


if __name__ == "__main__":
    main(sys.argv[1])
