"""The sampler with features kept: rows are independent given them, and run in parallel.

One sweep: every row given features and weights, then all that `gibbs.finish` updates, features and
scales from the sums over rows that the sweep has made. Any likelihood; mixes less well than
`gibbs`, and costs less where there are many rows.

Every fifth sweep rows are also proposed as a whole: where two features are nearly opposite, a row
that has neither gets both by no other move.
"""

from __future__ import annotations

import numpy as np

from ribp.likelihoods.base import Data
from ribp.mcmc import gibbs
from ribp.model import Model, State

__all__ = ["update"]

_WHOLE_EVERY = 5  # sweeps


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: State,
    model: Model,
    data: Data,
    n_threads: int = 1,
) -> tuple[State, gibbs.SweepInfo]:
    """Make one sweep over everything."""
    laws = model.row_laws(state)
    if state.number % _WHOLE_EVERY == 0:
        laws = laws._replace(whole=np.ones_like(laws.whole))
    rows, swept = model.likelihood.sweep_rows(
        seed, state.number, data, state.rows, state.parameters, laws, n_threads
    )
    return gibbs.finish(rng, state._replace(rows=rows), model, data, swept)
