"""The sampler with features kept: rows are independent given them, and run in parallel.

One sweep: every row given features and weights, then all that `gibbs.finish` updates, features and
scales from the sums over rows that the sweep has made. Any likelihood; mixes less well than
`gibbs`, and costs less where there are many rows.

Every fifth sweep rows are also proposed as a whole: where two features are nearly opposite, a row
that has neither gets both by no other move.

Rows may be elsewhere, in other files, processes or machines: a sweep is an `Order` to whoever has
them, and the sums that come back. `update_elsewhere` then makes the same draws as `update`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ribp.checks import IntArray
from ribp.likelihoods.base import Data
from ribp.likelihoods.rows_kept import RowPrior, law_sizes, needs_whole_rows
from ribp.mcmc import gibbs
from ribp.model import Model, State, Tally

__all__ = ["Order", "RowKeeper", "Swept", "order", "update", "update_elsewhere"]

_WHOLE_EVERY = 5  # sweeps


class Order(NamedTuple):
    """All that rows are told for a sweep."""

    seed: np.uint64
    number: int
    parameters: Any
    """Features and scales, as the likelihood has them."""
    prior: RowPrior


class Swept(NamedTuple):
    """All that rows tell after a sweep."""

    tally: Tally
    sums: Any
    """As the likelihood has them."""


class RowKeeper(Protocol):
    """Whoever has data and rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims of the data."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with."""

    def sweep(self, order: Order) -> Swept:
        """Update every row, and return their sums."""

    def log_terms(self, parameters: Any) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""


def order(seed: np.uint64, state: State, model: Model) -> Order:
    """Return the order for the next sweep."""
    tables = model.tables(state)
    whole = needs_whole_rows(tables)
    if state.number % _WHOLE_EVERY == 0:
        whole = np.ones_like(whole)
    sizes = law_sizes(model.counts.index, len(tables))
    prior = RowPrior(state.log_odds, tables, whole, sizes)
    return Order(seed, state.number, state.parameters, prior)


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


def update_elsewhere(
    rng: np.random.Generator, seed: np.uint64, state: State, model: Model, keeper: RowKeeper
) -> tuple[State, Tally, gibbs.SweepInfo]:
    """Make one sweep over everything; rows are elsewhere, and what they have is tallied."""
    tally, sums = keeper.sweep(order(seed, state, model))
    state, info = gibbs.finish_elsewhere(rng, state, model, tally, sums, keeper.log_terms)
    return state, tally, info
