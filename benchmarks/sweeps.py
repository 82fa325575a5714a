"""Rows given the features: sweeps against bare products and logarithms, on one thread each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import PEAK_MEMORY, Measure, Measures, best_times, process_output
from tests.helpers import row_sweep_cases

FEATURES, DIMS = 50, 100
NOISE = 0.5
ALONE = """
import os
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
from benchmarks import sweeps
"""
RATIOS = ALONE + "import json; print(json.dumps(sweeps.ratios()))"
MEMORY = f"""{ALONE}{PEAK_MEMORY}
sweep, data = sweeps.gaussian(200_000)
sweeps.gaussian(1000)[0]()
with PeakMemory() as peak:
    sweep()
print(peak.bytes / data.nbytes)
"""


def problem(n_rows: int) -> dict[str, Any]:
    """Draw rows from their prior, about five features each; return them with their law."""
    rng = np.random.default_rng(0)
    theta = rng.normal(-1, 1, FEATURES)
    law = ribp.counts.uniform(2, 8)
    return {
        "rows": ribp.RestrictedBernoulli(theta, law).sample(rng, n_rows),
        "theta": theta,
        "tables": law.log_probs(FEATURES)[None] - ribp.log_esp(theta),
        "which": np.zeros(n_rows, np.int64),
        "whole": np.zeros(1, bool),
        "observed": np.zeros((0, 0), bool),
    }


def gaussian(n_rows: int) -> tuple[Callable[..., object], np.ndarray]:
    """Return a sweep over Gaussian data, and the data."""
    rng, settings = np.random.default_rng(1), problem(n_rows)
    features = rng.normal(size=(FEATURES, DIMS))
    data = rng.normal(0, NOISE, (n_rows, DIMS))
    data += settings["rows"] @ features
    settings |= {"features": features, "offset": np.zeros(DIMS)}
    settings["noise_scale"] = np.full(DIMS, NOISE)

    def sweep(**options: object) -> object:
        return row_sweep_cases.sweep_gaussian(np.uint64(1), 0, data, **{**settings, **options})

    return sweep, data


def poisson(n_rows: int) -> tuple[Callable[..., object], np.ndarray]:
    """Return a sweep over Poisson data with counts of about three, and the data."""
    rng, settings = np.random.default_rng(1), problem(n_rows)
    features, offset = rng.gamma(0.5, 1.0, (FEATURES, DIMS)), np.full(DIMS, 0.1)
    data = rng.poisson(offset + settings["rows"] @ features).astype(float)
    settings |= {"features": features, "offset": offset}

    def sweep(**options: object) -> object:
        return row_sweep_cases.sweep_poisson(np.uint64(1), 0, data, **{**settings, **options})

    return sweep, data


def ratios() -> dict[str, float]:
    """Return the ratios that need one thread: for a process of its own."""
    sweep, data = gaussian(5000)
    large, _ = gaussian(100_000)
    other = np.random.default_rng(2).normal(size=(FEATURES, DIMS))
    product, flips, both, whole = best_times(
        lambda: data @ other.T,
        lambda: sweep(relocations=False),
        sweep,
        lambda: sweep(flips=False, relocations=False, whole=np.ones(1, bool)),
        repeat=60,
    )
    few, many = best_times(sweep, large, repeat=15)
    count_sweep, counts = poisson(1000)
    logs = np.random.default_rng(3).random(counts.size * FEATURES)
    logarithms, count_both = best_times(lambda: np.log(logs), count_sweep, repeat=10)
    return {
        "flips": flips / product,
        "both": both / product,
        "whole": whole / product,
        "linear": many / few / 20,
        "poisson": count_both / logarithms,
    }


def measures() -> Measures:
    """Yield the measures of row sweeps."""
    found = json.loads(process_output(RATIOS))
    yield Measure("Gaussian flips N=5000 I=50 D=100 / X A'", found["flips"], 6.0)
    yield Measure("  flips and relocations / X A'", found["both"], 12.0)
    yield Measure("  whole rows alone / X A'", found["whole"], 40.0)
    yield Measure("  20x rows / 20x time", found["linear"], 1.3)
    yield Measure("memory for 2*10^5 rows / data", float(process_output(MEMORY)), 1.0)
    yield Measure("Poisson sweep and splits / N I D logs", found["poisson"], 12.0)
