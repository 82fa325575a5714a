"""From a start to the first state of a chain: what was searched is drawn, other rows follow.

A start is rows (`ribp.search.pool`), found for at most 2000 rows of the data, as if there were no
others. Features, weights and scales are drawn given them. All other rows take what suits them
(`ribp.likelihoods.first_rows`), and all are swept a few times given the features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ribp.checks import IntArray
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Data
from ribp.mcmc import gibbs_rows
from ribp.mcmc.rows_given_features import Sweep, sweep_rows
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.pool import Start, Tick, as_restricted, best, from_rows, no_tick

_SWEEPS = 5  # given the features that were found
_FIRST_NUMBER = 2**32 - 16  # keys of these sweeps, apart from those of all others


class Taken(Protocol):
    """Gives the data of some rows, in standard units."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""


def searched_state(rng: np.random.Generator, model: Model, start: Start, rows: Taken) -> State:
    """Return a state of the rows that were searched, as if there were no others."""
    return from_rows(rng, model.on_rows(start.some), rows.take(start.some), start.rows)


def followed(rng: np.random.Generator, model: Model, state: State) -> tuple[State, Sweep]:
    """Return what a search on some rows has found, for all of them, and the order to follow."""
    state = model.without_rows(state)._replace(
        count_log_probs=mean_log_probs(model.counts, model.most),
        number=_FIRST_NUMBER,
    )
    steps = gibbs_rows.steps(state, model, _SWEEPS)
    return state, Sweep(model.likelihood, kernel_seed(rng), state.parameters, steps, fresh=True)


def state_in_memory(rng: np.random.Generator, model: Any, start: Start, data: Data) -> State:
    """Return the first state of a chain whose data are in memory; it has all rows.

    A buffet has the state of a model whose count law is learned, with the features of the start.
    """
    rows = start.rows
    model = replace(as_restricted(model, len(data.values)), n_features=rows.shape[1])
    if len(start.some) < len(data.values):
        here = model.on_rows(start.some)
        _, sweep = followed(rng, model, from_rows(rng, here, data.rows(start.some), rows))
        nothing = np.zeros((len(data.values), model.n_features), np.int8)
        rows, _ = sweep_rows(sweep, data, model.counts.law_of_row, nothing)
    return from_rows(rng, model, data, rows)


def best_start(
    rng: np.random.Generator, model: Any, data: Data, n_starts: int = 6, tick: Tick = no_tick
) -> State:
    """Return a state at the best of several starts, for data in memory and in standard units."""
    return state_in_memory(rng, model, best(rng, model, data, n_starts, tick), data)
