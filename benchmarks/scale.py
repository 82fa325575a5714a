"""Many rows: seconds a sweep against rows, and memory against data.

A million rows of 100 columns and 50 features, 0.8 GB, are written to a temporary file; the fit
from it runs in a process of its own, from the search to the attributes, and its whole resident
memory counts. The memory of a fit from an array counts the array.

A sweep of one Dask worker is compared with the same sweep in this process, 10^5 rows, taking turns.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import ribp
from benchmarks.measure import Measure, Measures, process_output
from ribp.likelihoods import LinearGaussian
from ribp.mcmc import gibbs_rows
from ribp.mcmc.rows_given_features import layout
from ribp.model import Model, State
from ribp.rows.dask_store import DaskStore
from ribp.rows.local import LocalStore
from ribp.rows.source import npy_source
from ribp.threads import one_blas_thread

ROWS, DIMS, FEATURES = 1_000_000, 100, 50
NOISE = 0.5
LAW = "uniform(2, 6)"
_PART = 50_000
FIT = """
import json, time, warnings
import numpy as np
import ribp
from ribp.search import growth, pool, repairs, starts
warnings.simplefilter("ignore")
growth._STEPS, starts._GROWING_SWEEPS, repairs.MOST_TRIALS, pool._LEAST, pool._MORE = 10, 3, 2, 2, 0
X = np.load({path!r}, mmap_mode=None if {memory} else "r")
model = ribp.RestrictedIBP("gibbs-rows", max_features={features}, counts={law!r}, n_chains=2,
    n_warmup=2, n_draws=6, random_state=0, progress=False)
began = time.perf_counter()
model.fit(X)
status = dict(line.split(":") for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) * 1024  # ru_maxrss would know of the parent's memory too
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
        packed.append(ribp.recording.pack_rows(rows))
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


def sweep_times(store: Any, packed: np.ndarray) -> Iterator[float]:
    """Yield how long each sweep takes, rows beginning at the truth."""
    model, state = model_and_state(len(packed))
    store.look()
    rows = store.rows(layout(FEATURES), model.counts.law_of_row)
    rows.load(packed)
    rng = np.random.default_rng(0)
    with one_blas_thread():
        while True:
            began = time.perf_counter()
            state, _ = gibbs_rows.update(rng, np.uint64(0), state, model, rows)
            yield time.perf_counter() - began


def linear(folder: Path, packed: np.ndarray) -> tuple[float, float]:
    """Return the best seconds of a sweep over a tenth of the rows, and over all."""
    few = write(folder / "few.npy", ROWS // 10)
    tenth = sweep_times(LocalStore(npy_source(folder / "few.npy")), few)
    whole = sweep_times(LocalStore(npy_source(folder / "data.npy")), packed)
    return min(islice(tenth, 1, 6)), min(islice(whole, 1, 3))


def dask_seconds(path: Path, packed: np.ndarray, n_rounds: int = 8) -> tuple[float, float]:
    """Return seconds of a sweep here, and of one on a Dask worker, one thread each.

    Every fifth sweep is longer, since it proposes whole rows: the mean of five, each the best of
    several.
    """
    source = npy_source(path)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        here = sweep_times(LocalStore(source, 1), packed)
        there = sweep_times(DaskStore.of_source(source, client), packed)
        times = np.array(list(islice(zip(here, there, strict=True), 5 * n_rounds)))
    ours, theirs = times.reshape(n_rounds, 5, 2).min(axis=0).mean(axis=0)
    return ours, theirs


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
        here, there = dask_seconds(folder / "few.npy", packed[: ROWS // 10])
        yield Measure("  on a Dask worker / here, 10^5 rows", there / here, 1.15)
        peak, data, _ = fit_memory(folder / "data.npy", memory=False)
        yield Measure("  memory from a file / 1 GiB", peak / 2**30, 1.0)
        peak, data, _ = fit_memory(folder / "data.npy", memory=True)
        yield Measure("  memory from an array / data", peak / data, 2.0)
