"""Entries with a size: sweeps over rows beside binary ones and the bare product X A', one thread.

(I, k) are how many features there are and about how many a row has; counts are k - 1, k or k + 1.
Times are those of a block of rows with its sums, everything given; many rows are swept in blocks,
as a run does. Counts (Poisson data) have a
background, and a table of fewer rows: a sweep over them takes logarithms for each row and column.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times, process_output
from ribp.blocks import blocks
from ribp.likelihoods import (
    GaussianStrengths,
    Likelihood,
    LinearGaussian,
    NegativeBinomialMultiplicities,
    PoissonCounts,
    PoissonMultiplicities,
    PoissonStrengths,
)
from ribp.likelihoods.data import complete
from ribp.model import Model

SHAPES = {"24, 3": (24, 3), "100, 10": (100, 10)}
ROWS, FEWER, DIMS, NOISE = 2000, 200, 100, 0.5
MANY, TIMES = 20_000, 5  # rows that do not fit into a cache, and so many times as many
KINDS: dict[str, tuple[Likelihood[Any], str]] = {
    "binary": (LinearGaussian(), "weak-limit"),
    "strengths": (GaussianStrengths(), "weak-limit"),
    "positive strengths": (GaussianStrengths(strength_law="positive"), "weak-limit"),
    "sums": (PoissonMultiplicities(restrict="sum"), "gamma-odds"),
    "negative binomial sums": (NegativeBinomialMultiplicities(restrict="sum"), "weak-limit"),
    "non-zeros": (PoissonMultiplicities(), "gamma-odds"),
}
COUNTS: dict[str, tuple[Likelihood[Any], str]] = {
    "binary": (PoissonCounts(background=True), "weak-limit"),
    "strengths": (PoissonStrengths(background=True), "weak-limit"),
}
LIMITS = {"strengths": 2.5, "positive strengths": 4.0}
ALONE = """
import os
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
import json
from benchmarks import entries
print(json.dumps([entries.times(), entries.count_times(), entries.growth()]))
"""


def sweep(
    kind: tuple[Likelihood[Any], str], n_features: int, count: int, n_rows: int
) -> tuple[Callable[[], object], Any]:
    """Return a sweep over rows that have about `count` features each, and their data."""
    likelihood, weights = kind
    laws = ribp.counts.as_row_counts(ribp.counts.uniform(count - 1, count + 1), n_rows)
    model = Model(laws, n_features, likelihood, 2.0, 1.0, weights)
    rng = np.random.default_rng(0)
    state = model.draw_prior(rng, DIMS)
    even = state.log_odds * 0.0 - 2.0
    z = model.draw_rows(rng, even, state.count_log_probs)
    given, values, rows = _data(rng, likelihood, state.parameters, z)
    work = likelihood.row_work(
        np.uint64(1), 1, given, model.row_prior(state._replace(log_odds=even))
    )
    data, which = complete(values), model.counts.law_of_row

    def one_sweep() -> None:
        for one in [slice(0, n_rows)] if n_rows <= ROWS else blocks(0, n_rows):
            work(one.start, data.rows(one), which[one], rows[one])

    return one_sweep, values


def _data(rng: Any, likelihood: Likelihood[Any], parameters: Any, z: Any) -> tuple[Any, Any, Any]:
    """Return parameters, data and rows of clear features, the spread of strengths left as it is."""
    shape = z.shape[1], DIMS
    if isinstance(likelihood, PoissonCounts):
        features, background = rng.gamma(0.5, 10.0, shape), np.full(DIMS, 0.1)
        given = parameters._replace(features=features, background=background)
        rows: Any = likelihood.draw_sizes(rng, z, given)
        return given, rng.poisson(background + rows @ features).astype(float), rows
    given = parameters._replace(
        features=rng.normal(size=shape), noise_scale=np.full(DIMS, NOISE), background=np.zeros(DIMS)
    )
    rows = likelihood.draw_sizes(rng, z, given)
    return given, rows @ given.features + NOISE * rng.normal(size=(len(z), DIMS)), rows


def times() -> dict[str, dict[str, float]]:
    """Return times of sweeps in units of the bare product: for a process of its own."""
    found = {}
    for name, (n_features, count) in SHAPES.items():
        works = {kind: sweep(KINDS[kind], n_features, count, ROWS) for kind in KINDS}
        data = works["binary"][1]
        other = np.random.default_rng(2).normal(size=(n_features, DIMS))
        each = best_times(
            partial(np.matmul, data, other.T),
            *(work for work, _ in works.values()),
            repeat=25,
        )
        found[name] = {kind: one / each[0] for kind, one in zip(KINDS, each[1:], strict=True)}
    return found


def count_times() -> dict[str, float]:
    """Return times of sweeps over counts with strengths in units of those over binary rows."""
    found = {}
    for name, shape in SHAPES.items():
        works = [sweep(kind, *shape, FEWER)[0] for kind in COUNTS.values()]
        binary, strengths = best_times(*works, repeat=8)
        found[name] = strengths / binary
    return found


def growth() -> dict[str, float]:
    """Return by how much more than in proportion the time of each kind grows with the rows."""
    found = {}
    for kind, given in KINDS.items():
        few, many = (sweep(given, *SHAPES["24, 3"], n)[0] for n in (MANY, TIMES * MANY))
        each = best_times(few, many, repeat=6)
        found[kind] = each[1] / each[0] / TIMES
    return found


def measures() -> Measures:
    """Yield the measures of entries with a size."""
    each_time, each_count, grown = json.loads(process_output(ALONE))
    for name, each in each_time.items():
        binary = each.pop("binary")
        yield Measure(f"(I, k) = ({name}): binary sweep / X A'", binary, 40.0)
        for kind, one in each.items():
            yield Measure(f"  {kind} / binary", one / binary, LIMITS.get(kind, 1.0))
        yield Measure("  Poisson data: strengths / binary", each_count[name], 6.0)
    dearest = max(grown, key=grown.__getitem__)
    yield Measure(f"{TIMES}x rows / {TIMES}x time, {dearest}", grown[dearest], 1.3)
