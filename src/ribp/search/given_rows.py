"""States whose rows are given: everything else drawn, and a few sweeps to compare them by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import gibbs, gibbs_rows
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.count_limits import popularity
from ribp.search.repairs import Scored, price

_SETTLING = 10  # sweeps before states are compared


def drawn_given(rng: np.random.Generator, model: Model, data: Data, rows: Rows) -> State:
    """Return a state with these rows, all else drawn given them."""
    parameters = model.likelihood.first_guess(data, model.n_features)
    if model.likelihood.entries != "binary":
        rows = rows.astype(np.float64)
    for _ in range(5):
        parameters = model.likelihood.update(rng, data, rows, parameters)
    z = (rows != 0).astype(np.int8)
    mean = min(max(float(z.sum(axis=1).mean()), 0.1), 0.9 * model.n_features)
    state = State(
        rows,
        popularity(z),
        model.mass or mean,
        model.concentration or 1.0,
        mean_log_probs(model.counts, model.most),
        parameters,
    )
    return gibbs.finish_in_memory(rng, state, model, data)[0]._replace(number=0)


def settled(
    rng: np.random.Generator, model: Model, data: Data, state: State, tick: Callable[[], None]
) -> Scored:
    """Return a state after a few sweeps that keep the features."""
    seed = kernel_seed(rng)
    for _ in range(_SETTLING):
        tick()
        state, info = gibbs_rows.update_in_memory(rng, seed, state, model, data)
    used = np.count_nonzero(info.tally.sizes)
    return Scored(state, float(info.log_joint) - price(data) * used)
