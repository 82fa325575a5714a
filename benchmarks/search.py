"""What a default fit takes beside the sweeps over its rows: search, weights, scales, result.

Processor time of one thread (two that share a core are both slower, and rows are timed on one),
kernels compiled and imports done before. A fit is four chains of 500 + 500 sweeps.
It is compared with 4000 sweeps over rows (`rows_collapsed.update`), and the bare kernel among them,
at the last state of its first chain. The largest fit would take minutes: four chains of 100 + 100
sweeps are run, and the parts are added up as they would be: the search once (that of a default fit,
for four chains), sweeps five times, and what comes after the last draw five times, too, which is
too much rather than too little.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, process_output
from benchmarks.sweeps import ALONE
from ribp import fitting
from ribp.errors import FitWarning
from ribp.kernels import sweep_collapsed
from ribp.likelihoods.data import Data
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs, rows_collapsed
from ribp.model import Model, State
from ribp.recording import unpack_rows
from ribp.search.pool import from_rows
from ribp.threads import one_blas_thread

RATIOS = ALONE.replace("sweeps", "search") + "import json; print(json.dumps(search.found()))"
SWEEPS = 500
_CHAINS = 4
_NOISE = 0.3
_TIMED = 200  # sweeps, at most
_SECONDS = 4.0


class Problem(NamedTuple):
    """Data, their counts, how many features there are, and sweeps of a chain (half warm-up)."""

    data: np.ndarray
    counts: np.ndarray
    n_features: int
    n_sweeps: int = 2 * SWEEPS


class Parts(NamedTuple):
    """Processor seconds of a default fit, and of its sweeps over rows."""

    search: float
    sampling: float
    """All sweeps, and storing."""
    after: float
    """Summaries, verdict and attributes."""
    rows: float
    kernel: float
    sweeps: float

    @property
    def fit(self) -> float:
        """All of it."""
        return self.search + self.sampling + self.after


def chords() -> Problem:
    """Return 232 rows of 100 columns, room for 24 features."""
    known = ribp.datasets.load_chords()
    return Problem(ribp.datasets.scaled(known.spectra), known.counts, 24)


def simulated(n_rows: int, dims: int, n_features: int, n_sweeps: int = 2 * SWEEPS) -> Problem:
    """Return rows with three clear features each."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(np.arange(n_features) < 3) for _ in range(n_rows)], float)
    data = rows @ rng.normal(size=(n_features, dims)) + _NOISE * rng.normal(size=(n_rows, dims))
    return Problem(data, np.full(n_rows, 3), n_features, n_sweeps)


def parts(given: Problem) -> Parts:
    """Return what a default fit takes, scaled up if it was a short one."""
    half = given.n_sweeps // 2
    with _clocks() as clocks, warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        began = time.process_time()
        model = ribp.RestrictedIBP(
            max_features=given.n_features, n_warmup=half, n_draws=half, n_jobs=1, progress=False,
            random_state=0,
        ).fit(given.data, counts=given.counts)  # fmt: skip
        whole = time.process_time() - began
    times = 2 * SWEEPS / given.n_sweeps
    after = whole - sum(clocks.values())
    number = _CHAINS * 2 * SWEEPS
    rows, kernel, sweep = sweep_seconds(*last_state(model, given.data))
    return Parts(
        clocks["settle"], times * clocks["run_chains"], times * after, number * rows,
        number * kernel, number * sweep,
    )  # fmt: skip


@contextmanager
def _clocks() -> Iterator[dict[str, float]]:
    """Measure the search and the chains of a fit."""
    seconds = {"settle": 0.0, "run_chains": 0.0}

    def timed(name: str) -> Any:
        inner = getattr(fitting, name)

        def run(*given: Any, **options: Any) -> Any:
            began = time.process_time()
            found = inner(*given, **options)
            seconds[name] += time.process_time() - began
            return found

        return mock.patch.object(fitting, name, run)

    with timed("settle"), timed("run_chains"):
        yield seconds


def last_state(fitted: Any, values: np.ndarray) -> tuple[State, Model, Data]:
    """Return a state with the last rows of the first chain, its model, and data in its units."""
    model = fitted.result_.model
    data = model.likelihood.standard(as_data(values))
    packed = fitted.result_.tree["features"]["rows"].to_numpy()[0, -1]
    rows = np.ascontiguousarray(unpack_rows(packed, model.n_features))
    return from_rows(np.random.default_rng(0), model, data, rows), model, data


def sweep_seconds(state: State, model: Model, data: Data) -> tuple[float, float, float]:
    """Return mean seconds of a sweep over rows, of its kernel alone, and of a whole sweep."""
    rng, seed = np.random.default_rng(1), np.uint64(1)
    totals, number, began = np.zeros(3), 0, time.perf_counter()
    kernel, inner = 0.0, sweep_collapsed.sweep

    def timed(*given: Any) -> Any:
        nonlocal kernel
        before = time.process_time()
        found = inner(*given)
        kernel += time.process_time() - before
        return found

    with one_blas_thread():
        here, _ = gibbs.update(rng, seed, state, model, data)
        while number < _TIMED and time.perf_counter() - began < _SECONDS:
            clock = [time.process_time()]
            rows_collapsed.update(rng, seed, here, model, data)
            clock.append(time.process_time())
            here, _ = gibbs.update(rng, seed, here, model, data)
            clock.append(time.process_time())
            with mock.patch.object(sweep_collapsed, "sweep", timed):
                rows_collapsed.update(rng, seed, here, model, data)
            totals[:2] += np.diff(clock)
            number += 1
    rows, sweep = totals[:2] / number
    return rows, kernel / number, sweep


def found() -> dict[str, dict[str, float]]:
    """Return all figures: for a process of its own."""
    problems = {"232 x 100 x 24": chords()}
    problems["800 x 60 x 60"] = simulated(800, 60, 60)
    problems["5000 x 100 x 50"] = simulated(5000, 100, 50, 200)
    parts(problems["232 x 100 x 24"]._replace(n_sweeps=4))  # compiles, imports
    return {name: parts(one)._asdict() for name, one in problems.items()}


def measures() -> Measures:
    """Yield the measures of a fit."""
    figures = {name: Parts(**one) for name, one in json.loads(process_output(RATIOS)).items()}
    for name, one in figures.items():
        yield Measure(f"default fit {name} / its rows", one.fit / one.rows, 2.5)
        yield Measure("  and / the bare kernel", one.fit / one.kernel, 2.5)
    few = figures["232 x 100 x 24"]
    yield Measure("  a sweep beside rows / rows, chords", few.sweeps / few.rows - 1.0, 0.5)
