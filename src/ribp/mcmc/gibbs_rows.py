"""The sampler with features kept: rows are independent given them, and run in parallel.

One sweep: every row given features and weights, then all that `gibbs.finish` updates, features and
scales from the sums over rows that the sweep has made. Any likelihood; mixes less well than
`gibbs`, and costs less where there are many rows.
"""

from __future__ import annotations

import numpy as np

from ribp.likelihoods.base import Data
from ribp.mcmc import gibbs
from ribp.mcmc.weights import WeightInfo
from ribp.model import Model, State

__all__ = ["update"]


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: State,
    model: Model,
    data: Data,
    n_threads: int = 1,
) -> tuple[State, WeightInfo]:
    """Make one sweep over everything."""
    rows, sums = model.likelihood.sweep_rows(
        seed, state.number, data, state.rows, state.parameters, model.row_laws(state), n_threads
    )
    return gibbs.finish(rng, state._replace(rows=rows), model, data, sums)
