"""Entries with a size: sweeps over rows beside binary ones and the bare product X A', one thread.

(I, k) are how many features there are and about how many a row has; counts are k - 1, k or k + 1.
Times are those of a block of rows with its sums, everything given.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times, process_output
from ribp.likelihoods import (
    GaussianStrengths,
    Likelihood,
    LinearGaussian,
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
)
from ribp.likelihoods.data import complete
from ribp.model import Model

SHAPES = {"24, 3": (24, 3), "100, 10": (100, 10)}
ROWS, DIMS, NOISE = 2000, 100, 0.5
KINDS: dict[str, tuple[Likelihood[Any], str]] = {
    "binary": (LinearGaussian(), "weak-limit"),
    "strengths": (GaussianStrengths(), "weak-limit"),
    "positive": (GaussianStrengths(strength_law="positive"), "weak-limit"),
    "sums": (PoissonMultiplicities(restrict="sum"), "gamma-odds"),
    "negative binomial sums": (NegativeBinomialMultiplicities(restrict="sum"), "weak-limit"),
    "non-zeros": (PoissonMultiplicities(), "gamma-odds"),
}
ALONE = """
import os
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
import json
from benchmarks import entries
print(json.dumps(entries.times()))
"""


def sweep(kind: str, n_features: int, count: int) -> tuple[Callable[[], object], Any]:
    """Return a sweep over rows that have about `count` features each, and their data."""
    likelihood, weights = KINDS[kind]
    laws = ribp.counts.as_row_counts(ribp.counts.uniform(count - 1, count + 1), ROWS)
    model = Model(laws, n_features, likelihood, 2.0, 1.0, weights)
    rng = np.random.default_rng(0)
    state = model.draw_prior(rng, DIMS)
    even = state.log_odds * 0.0 - 2.0
    features = rng.normal(size=(n_features, DIMS))
    given = state.parameters._replace(
        features=features, noise_scale=np.full(DIMS, NOISE), background=np.zeros(DIMS)
    )
    z = model.draw_rows(rng, even, state.count_log_probs)
    rows: Any = likelihood.draw_sizes(rng, z, given)
    values = rows @ features + NOISE * rng.normal(size=(ROWS, DIMS))
    work = likelihood.row_work(
        np.uint64(1), 1, given, model.row_prior(state._replace(log_odds=even))
    )
    data, which = complete(values), model.counts.law_of_row
    return lambda: work(0, data, which, rows), values


def times() -> dict[str, dict[str, float]]:
    """Return times of sweeps in units of the bare product: for a process of its own."""
    found = {}
    for name, (n_features, count) in SHAPES.items():
        works = {kind: sweep(kind, n_features, count) for kind in KINDS}
        data = works["binary"][1]
        other = np.random.default_rng(2).normal(size=(n_features, DIMS))
        each = best_times(
            lambda data=data, other=other: data @ other.T,
            *(work for work, _ in works.values()),
            repeat=25,
        )
        found[name] = {kind: one / each[0] for kind, one in zip(KINDS, each[1:], strict=True)}
    return found


def measures() -> Measures:
    """Yield the measures of entries with a size."""
    found = json.loads(process_output(ALONE))
    for name, each in found.items():
        binary = each["binary"]
        yield Measure(f"(I, k) = ({name}): binary sweep / X A'", binary, 40.0)
        yield Measure("  strengths / binary", each["strengths"] / binary, 2.5)
        if name == "24, 3":
            yield Measure("  positive strengths / binary", each["positive"] / binary, 4.0)
        for kind in ("sums", "negative binomial sums", "non-zeros"):
            yield Measure(f"  {kind} / binary", each[kind] / binary, 1.0)
