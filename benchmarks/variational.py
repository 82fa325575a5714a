"""Variational methods against the clock: chords on one core, newsgroups on two.

Newsgroups are 16242 documents of 100 words, from the file if it lies beside the project, and made
up with as many rows and columns otherwise. A document of n words has 1 + n/5 features, give or take
one.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, process_output
from benchmarks.sweeps import ALONE
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete
from ribp.model import Model
from ribp.rows.local import in_memory
from ribp.running.samplers import sampler
from ribp.variational import hybrid, structured

RATIOS = ALONE.replace("sweeps", "variational") + (
    "import json; print(json.dumps(variational.found()))"
)
LINEAR_ROWS = 4000
NEWS = Path(__file__).parents[2] / "shared" / "data" / "20news_w100.npz"


def found() -> dict[str, float]:
    """Return seconds for whole fits, from some iterations of each, and how cost grows with rows."""
    chords, news = _chords(), _news()
    holes = news[0], _with_holes(news[1])
    return {
        "hybrid": _seconds(hybrid, *chords, 300),
        "hybrid, news": _seconds(hybrid, *news, 300, n_threads=2),
        "structured": _seconds(structured, *chords, 60),
        "structured, news": _seconds(structured, *news, 60, n_threads=2),
        "hybrid, holes": _seconds(hybrid, *holes, 300, n_threads=2),
        "structured, holes": _seconds(structured, *holes, 60, n_threads=2),
        "hybrid, growth": _growth(hybrid),
        "structured, growth": _growth(structured),
    }


def _chords() -> tuple[Model, Data]:
    chords = ribp.datasets.load_chords()
    many = np.arange(1332) % 232
    data = complete(ribp.datasets.scaled(chords.spectra)[many])
    return Model(ribp.counts.as_row_counts(chords.counts[many], 1332), 24, LinearGaussian()), data


def _news() -> tuple[Model, Data]:
    rng = np.random.default_rng(0)
    words = rng.random((16242, 100)) < 0.04 * rng.gamma(1.0, 1.0, 100)
    if NEWS.exists():
        words = np.load(NEWS, allow_pickle=False)["X"]
    centre = 1 + np.minimum(words.sum(axis=1) // 5, 8)
    laws = ribp.counts.by_row([ribp.counts.window(int(k), 1) for k in centre])
    data = complete(np.ascontiguousarray(ribp.datasets.scaled(words.astype(np.float64))))
    return Model(laws, 50, LinearGaussian(background=True)), data


def _with_holes(data: Data) -> Data:
    """Return data of which a hundredth is missing: two of three rows miss something."""
    seen = np.random.default_rng(1).random(data.values.shape) >= 0.01
    return Data(np.where(seen, data.values, 0.0), seen)


def _simulated(n_rows: int) -> tuple[Model, Data]:
    """Return rows of which no two are alike."""
    rng = np.random.default_rng(0)
    law = ribp.counts.as_row_counts("uniform(1, 3)", n_rows)
    rows = ribp.RestrictedBernoulli(np.zeros(20), "uniform(1, 3)").sample(rng, n_rows)
    values = rows @ rng.normal(size=(20, 50)) + rng.normal(size=(n_rows, 50))
    return Model(law, 20, LinearGaussian()), complete(values)


def _seconds(method: Any, model: Model, data: Data, n_iterations: int, n_threads: int = 1) -> float:
    """Return the seconds of `n_iterations`, from the mean of four."""
    return n_iterations * float(np.mean(_times(method, model, data, n_threads)))


def _growth(method: Any) -> float:
    """Return the time of an iteration for each of eight times as many rows, relative to few."""
    few, many = (min(_times(method, *_simulated(n * LINEAR_ROWS))) for n in (1, 8))
    return many / (8 * few)


def _times(method: Any, model: Model, data: Data, n_threads: int = 1) -> list[float]:
    """Return the seconds of four iterations, after a first one, at rows of the prior."""
    rng = np.random.default_rng(0)
    state = model.draw_prior(rng, data.values.shape[1])
    state = state._replace(parameters=model.likelihood.first_guess(data, model.n_features))
    used: Any = sampler(method.__name__.rpartition(".")[2], model)
    rows = used.rows(in_memory(data, n_threads))
    drawn = used.drawn(rng, method.from_rows(model, rows, state.rows, state), rows)
    seed, times = np.uint64(1), []
    for _ in range(5):
        began = time.perf_counter()
        drawn, _ = used.update(rng, seed, drawn, model, rows)
        times.append(time.perf_counter() - began)
    return times[1:]


def measures() -> Measures:
    """Yield the measures of variational methods."""
    seconds = json.loads(process_output(RATIOS))
    yield Measure("hybrid, 300 iterations of 1332 chords / 10 s", seconds["hybrid"] / 10, 1.0)
    yield Measure("  of 16242 newsgroups, 2 cores / 120 s", seconds["hybrid, news"] / 120, 1.0)
    yield Measure("structured, 60 iterations of chords / 10 s", seconds["structured"] / 10, 1.0)
    yield Measure("  of 16242 newsgroups / 600 s", seconds["structured, news"] / 600, 1.0)
    name = "hybrid, news with 1% missing, 2 cores / 120 s"
    yield Measure(name, seconds["hybrid, holes"] / 120, 1.0)
    yield Measure("structured, the same / 600 s", seconds["structured, holes"] / 600, 1.0)
    name = f"hybrid, an iteration of {8 * LINEAR_ROWS} rows / 8 of {LINEAR_ROWS}"
    yield Measure(name, seconds["hybrid, growth"], 1.3)
    yield Measure("structured, the same", seconds["structured, growth"], 1.3)
