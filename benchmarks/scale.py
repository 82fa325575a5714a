"""Many rows: seconds a sweep against rows, and memory against data.

A million rows of 100 columns and 50 features, 0.8 GB, are written to a temporary file; the fit
from it runs in a process of its own, from the search to the attributes, and its whole resident
memory counts. The memory of a fit from an array counts the array.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, process_output
from ribp.likelihoods import LinearGaussian
from ribp.mcmc import gibbs_rows
from ribp.model import Model, State
from ribp.scale.in_process import InProcess
from ribp.scale.source import npy_source
from ribp.threads import one_blas_thread

ROWS, DIMS, FEATURES = 1_000_000, 100, 50
NOISE = 0.5
LAW = "uniform(2, 6)"
_PART = 50_000
FIT = """
import json, os, resource, sys, time, warnings
import numpy as np
import ribp
from ribp.mcmc import sampled_start
from ribp.mcmc.start import Schedule, best_start
warnings.simplefilter("ignore")
quick = Schedule(steps=5, steps_alone=10, growing_sweeps=3)
sampled_start.best_start = lambda *given, **named: best_start(
    *given[:3], 1, **(named | {{"schedule": quick}})
)
X = np.load({path!r}, mmap_mode=None if {memory} else "r")
model = ribp.RestrictedIBP("gibbs-rows", max_features={features}, counts={law!r}, n_chains=2,
    n_warmup=2, n_draws=6, random_state=0, progress=False)
began = time.perf_counter()
model.fit(X)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([peak, X.nbytes, time.perf_counter() - began]))
"""


def truth() -> tuple[np.ndarray, np.ndarray]:
    """Return log-odds and features."""
    rng = np.random.default_rng(0)
    return rng.normal(-1, 1, FEATURES), rng.normal(size=(FEATURES, DIMS))


def parts(n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows and data, some at a time."""
    log_odds, features = truth()
    law = ribp.RestrictedBernoulli(log_odds, ribp.counts.parse(LAW))
    for start in range(0, n_rows, _PART):
        rng = np.random.default_rng([1, start])
        rows = law.sample(rng, min(_PART, n_rows - start))
        yield rows, rows @ features + NOISE * rng.normal(size=(len(rows), DIMS))


def write(path: Path, n_rows: int) -> np.ndarray:
    """Write data to a file; return their rows, packed."""
    data = np.lib.format.open_memmap(path, "w+", np.float64, (n_rows, DIMS))
    packed, at = [], 0
    for rows, values in parts(n_rows):
        data[at : at + len(rows)] = values
        packed.append(ribp.draws.pack_rows(rows))
        at += len(rows)
    data.flush()
    return np.concatenate(packed)


def model_and_state(n_rows: int) -> tuple[Model, State]:
    """Return a model, and the state at the truth without its rows."""
    counts = ribp.counts.as_row_counts(ribp.counts.parse(LAW), n_rows)
    likelihood = LinearGaussian()
    model = Model(counts, FEATURES, likelihood, 5.0)
    log_odds, features = truth()
    given = likelihood.at_scales(FEATURES, DIMS, NOISE, 1.0)
    laws = counts.log_probs(FEATURES)
    nothing = np.zeros((0, FEATURES), np.int8)
    return model, State(nothing, log_odds, 5.0, 1.0, laws, given._replace(features=features))


def sweep_seconds(keeper: Any, packed: np.ndarray, n_rows: int, n_sweeps: int = 6) -> list[float]:
    """Return how long sweeps take, rows beginning at the truth."""
    model, state = model_and_state(n_rows)
    keeper.survey()
    keeper.begin(model)
    keeper.load(packed)
    rng, times = np.random.default_rng(0), []
    with one_blas_thread():
        for _ in range(n_sweeps):
            began = time.perf_counter()
            state, _, _ = gibbs_rows.update_elsewhere(rng, np.uint64(0), state, model, keeper)
            times.append(time.perf_counter() - began)
    return times


def linear(folder: Path, packed: np.ndarray) -> tuple[float, float]:
    """Return the best seconds of a sweep over a tenth of the rows, and over all."""
    few = write(folder / "few.npy", ROWS // 10)
    tenth = sweep_seconds(InProcess(npy_source(folder / "few.npy")), few, ROWS // 10, 6)
    whole = sweep_seconds(InProcess(npy_source(folder / "data.npy")), packed, ROWS, 3)
    return min(tenth[1:]), min(whole[1:])


def fit_memory(path: Path, *, memory: bool) -> tuple[float, float, float]:
    """Return peak bytes, bytes of the data, and seconds of a short fit in its own process."""
    text = FIT.format(path=str(path), memory=memory, features=FEATURES, law=LAW)
    peak, data, seconds = json.loads(process_output(text))
    return peak, data, seconds


def measures() -> Measures:
    """Yield the measures of many rows."""
    with tempfile.TemporaryDirectory(prefix="ribp-") as name:
        folder = Path(name)
        packed = write(folder / "data.npy", ROWS)
        tenth, whole = linear(folder, packed)
        yield Measure("gibbs-rows 10^6 rows / 10 times 10^5 rows", whole / tenth / 10.0, 1.3)
        peak, data, _ = fit_memory(folder / "data.npy", memory=False)
        yield Measure("  memory from a file / 1 GiB", peak / 2**30, 1.0)
        peak, data, _ = fit_memory(folder / "data.npy", memory=True)
        yield Measure("  memory from an array / data", peak / data, 2.0)
