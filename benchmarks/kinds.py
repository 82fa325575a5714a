"""Rows and features of tables of kinds, on one thread.

Flips of rows are compared with bare multiplications and logarithms, which have neither exponentials
of eta (one an entry) nor random numbers (one a feature). Steps of features are compared with flips.
A categorical column of four levels has three times the multiplications of a binary one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ribp
from benchmarks.measure import Measure, Measures, best_times
from ribp.kernels.jit import jit
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds, KindsParameters
from ribp.likelihoods.data import complete
from ribp.likelihoods.kind_columns import Column
from ribp.likelihoods.row_sweeps import RowPrior

ROWS, FEATURES, DIMS = 400, 12, 60  # a millisecond: other programs seldom come between
KINDS = {
    "binary": ribp.kinds.binary(),
    "ordinal": ribp.kinds.ordinal(list("abcd")),
    "categorical": ribp.kinds.categorical(list("abcd")),
}


@jit
def floor(shares: Any, growth: Any, out: Any) -> None:
    """Do N I D multiply-adds, and a logarithm for eight of them."""
    product = np.empty(growth.shape[1])
    for n in range(shares.shape[0]):
        product[:] = 1.0
        for d in range(shares.shape[1]):
            p = shares[n, d]
            for i in range(growth.shape[1]):
                product[i] *= 1.0 - p + p * growth[d, i]
            if d % 8 == 7:
                for i in range(growth.shape[1]):
                    out[i] += math.log(product[i])
                    product[i] = 1.0


def flips(name: str, n_rows: int) -> Callable[[], object]:
    """Return a sweep of flips over a table of one kind, at rows that made it."""
    rng, kind = np.random.default_rng(0), KINDS[name]
    column = Column(kind, (0.0,) * kind.width, (0.0,) * kind.n_own)
    law = ColumnsOfKinds((column,) * DIMS)
    theta, counts = rng.normal(-1, 0.5, FEATURES), ribp.counts.uniform(1, 3)
    rows = ribp.RestrictedBernoulli(theta, counts).sample(rng, n_rows).astype(np.int8)
    features = 2.0 * rng.normal(size=(FEATURES, law.places.n_latent))
    given = KindsParameters(features, law.places.centre, 2.0, law.places.start)
    data = law.draw_data(rng, rows, given)
    tables = counts.log_probs(FEATURES)[None] - ribp.log_esp(theta)
    prior = RowPrior(theta, tables, np.zeros(1, bool), np.array([n_rows]))
    work = law.row_work(np.uint64(1), 0, given, prior, relocations=False)
    table, which = complete(data), np.zeros(n_rows, np.int64)
    return lambda: work(0, table, which, rows.copy())


def steps(n_rows: int) -> Callable[[], object]:
    """Return a step of all features of binary columns, at rows that made them."""
    rng = np.random.default_rng(0)
    kind = KINDS["binary"]
    law = ColumnsOfKinds((Column(kind, (0.0,)),) * DIMS)
    rows = (rng.random((n_rows, FEATURES)) < 2.0 / FEATURES).astype(np.int8)
    given = law.draw_prior(rng, FEATURES, DIMS)
    data = complete(law.draw_data(rng, rows, given))
    return lambda: law.update(np.random.default_rng(0), data, rows, given)


def measures() -> Measures:
    """Yield how flips compare: with the floor, with binary columns, and with fewer rows."""
    rng = np.random.default_rng(1)
    shares, growth = rng.random((ROWS, DIMS)), np.exp(rng.normal(size=(DIMS, FEATURES)))
    bare, binary, ordinal, categorical, stepped, many = best_times(
        lambda: floor(shares, growth, np.zeros(FEATURES)),
        *(flips(name, ROWS) for name in KINDS),
        steps(ROWS),
        flips("binary", 10 * ROWS),
        repeat=200,
    )
    yield Measure("binary flips / multiply-adds and logs", binary / bare, 3.0)
    yield Measure("ordinal flips / binary flips", ordinal / binary, 2.0)
    yield Measure("categorical flips / binary flips", categorical / binary, 2.0)
    yield Measure("steps of binary features / binary flips", stepped / binary, 15.0)
    yield Measure("binary flips of ten times the rows / 10", many / binary / 10.0, 1.2)
