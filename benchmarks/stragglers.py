"""A thousand workers that must all answer before a sweep ends: a simulation from measured times.

Seconds of sweeps are measured here, on one shard, again and again; their ratio to the median is how
much a worker lags. A sweep on W workers takes the longest of W such draws, plus what the driver
does. Besides the measured lags: the same with one worker in a thousand that is, for a sweep, five
times as slow, as on shared machines. Run with ``python -m benchmarks.stragglers``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.scale import sweep_times, write
from ribp.rows.local import LocalStore
from ribp.rows.source import npy_source

ROWS, SWEEPS = 20_000, 200
WORKERS = (1, 10, 100, 1000)
RARE, SLOW = 1e-3, 5.0


def measured(n_rows: int = ROWS, n_sweeps: int = SWEEPS) -> np.ndarray:
    """Return seconds of sweeps on one thread, but for every fifth, which is longer for all."""
    with tempfile.TemporaryDirectory(prefix="ribp-") as name:
        path = Path(name) / "data.npy"
        packed = write(path, n_rows)
        times = list(islice(sweep_times(LocalStore(npy_source(path), 1), packed), n_sweeps + 1))
    return np.array([seconds for number, seconds in enumerate(times) if number % 5])


def efficiency(
    rng: np.random.Generator, lags: np.ndarray, n_workers: int, rare: float, n_sweeps: int = 2000
) -> float:
    """Return the mean lag of one worker over the mean of the longest of all."""
    total = 0.0
    for _ in range(n_sweeps):
        drawn = rng.choice(lags, n_workers)
        drawn = np.where(rng.random(n_workers) < rare, SLOW * drawn, drawn)
        total += drawn.max()
    return float(lags.mean() / (total / n_sweeps))


def table(times: np.ndarray) -> dict[str, dict[int, float]]:
    """Return the efficiency for each number of workers, without and with rare slow ones."""
    rng, lags = np.random.default_rng(0), times / np.median(times)
    return {
        name: {w: efficiency(rng, lags, w, rare) for w in WORKERS}
        for name, rare in (("measured", 0.0), ("one in 1000 slow", RARE))
    }


def main() -> None:
    """Print what a thousand workers would lose."""
    times = measured()
    quantiles = np.quantile(times / np.median(times), [0.05, 0.5, 0.95, 0.99, 1.0])
    found = {"median seconds": float(np.median(times)), "lags": quantiles.round(3).tolist()}
    json.dump(found | {"efficiency": table(times)}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
