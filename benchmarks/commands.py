"""Commands as a person waits for them: processor seconds of a mistake and of a report.

The only measures in seconds: what is bare of a command is the start of an interpreter. Decoding is
measured beside ten sweeps of the same table, a fifth of its 500,000 rows.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures

SHORT = ["--chains", "2", "--warmup", "100", "--draws", "200", "--seed", "1", "--progress", "off"]


def processor_seconds(*words: str | Path, code: int = 0) -> float:
    """Return the processor seconds of a command that ends with a code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "ribp", *map(str, words)], capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulated(n_rows: int, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and data of rows with one to three of six features."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 4, n_rows)
    rows = np.argsort(rng.random((n_rows, 6)), axis=1) < counts[:, None]
    return counts, rows @ rng.normal(0, 2, (6, dims)) + 0.5 * rng.normal(size=(n_rows, dims))


def decoding(n_rows: int = 100_000) -> float:
    """Return the time of decoding beside that of ten sweeps."""
    counts, X = simulated(n_rows, 50)
    model = ribp.RestrictedIBP(
        "gibbs-rows", n_chains=1, n_warmup=0, n_draws=10, max_features=8, random_state=0,
        progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X, counts=counts)
        fitted = time.perf_counter()
        model.decode(X, counts=counts)
    return (time.perf_counter() - fitted) / (fitted - began)


def measures() -> Measures:
    """Yield the measures of commands."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / "data.csv", Path(folder) / "run"
        counts, X = simulated(300, 30)
        names = ",".join(["k", *(f"marker {j}" for j in range(30))])
        table = np.column_stack([counts, X])
        np.savetxt(data, table, "%.3f", delimiter=",", header=names, comments="")
        wrong = min(
            processor_seconds("fit", data, "--counts", "column:no", "--out", run, code=1)
            for _ in range(3)
        )
        yield Measure("a mistake in a file, processor seconds", wrong, 0.7)
        processor_seconds("fit", data, "--counts", "column:k", "--out", run, *SHORT)
        page = min(processor_seconds("report", run) for _ in range(2))
        yield Measure("report of 300 x 30, processor seconds", page, 4.0)
    yield Measure("decode 10^5 x 50 / fit of ten sweeps", decoding(), 2.0)
