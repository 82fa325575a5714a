"""Commands as a person waits for them: processor seconds of a mistake and of a report.

The only measures in seconds: what is bare of a command is the start of an interpreter. Decoding
500,000 rows is measured in memory, all of the process, and beside a fit of ten sweeps.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Measure, Measures

PEAK = """
import sys
from ribp.cli.main import app
try:
    app(sys.argv[1:])
finally:
    status = dict(line.split(":") for line in open("/proc/self/status"))
    print(status["VmHWM"].split()[0])
"""
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


def peak_and_seconds(*words: str | Path) -> tuple[float, float]:
    """Return the largest memory of a command in GiB, and its seconds on the clock."""
    began = time.perf_counter()
    command = [sys.executable, "-c", PEAK, *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return int(done.stdout.split()[-1]) / 2**20, time.perf_counter() - began


def decoding(folder: Path, n_rows: int = 500_000) -> tuple[float, float]:
    """Return the memory of decoding a table in GiB, and its time beside that of ten sweeps."""
    counts, X = simulated(n_rows, 50)
    data, laws, run = folder / "rows.npy", f"file:{folder / 'counts.npy'}", folder / "large"
    np.save(data, X)
    np.save(folder / "counts.npy", counts)
    del X
    ten = ["--method", "gibbs-rows", "--max-features", "8", "--chains", "1", "--warmup", "0",
           "--draws", "10", "--seed", "1", "--progress", "off"]  # fmt: skip
    _, fitted = peak_and_seconds("fit", data, "--counts", laws, "--out", run, *ten)
    out = folder / "decoded.npy"
    peak, decoded = peak_and_seconds(
        "transform", run, data, "--counts", laws, "--decode", "--out", out, "--json"
    )
    return peak, decoded / fitted


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
    with tempfile.TemporaryDirectory(prefix="ribp-") as folder:
        peak, ratio = decoding(Path(folder))
        yield Measure("decode 500 000 x 50, GiB", peak, 1.5)
        yield Measure("  seconds / those of a fit of ten sweeps", ratio, 2.0)
