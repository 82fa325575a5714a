"""Where a chain with very many rows starts: a search on some of them, then all follow.

The search (`ribp.mcmc.start`) is made on 2000 rows, as if there were no others. Its features,
weights and scales are given to all rows: these take what suits them (`ribp.likelihoods.first_rows`)
and are swept a few times given the features. Then everything is updated once. Rows may be
elsewhere; what is drawn does not depend on where.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import IntArray
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.blocks import blocks, in_order, sum_blocks
from ribp.likelihoods.first_rows import first_rows
from ribp.mcmc import gibbs
from ribp.mcmc.gibbs_rows import Order, RowKeeper, Swept, order
from ribp.mcmc.start import Tick, best_start, no_tick
from ribp.model import Model, State, Tally
from ribp.rng import kernel_seed

__all__ = ["SAMPLE", "InMemory", "sample", "start", "start_in_memory"]

SAMPLE = 2000
"""Rows of a search; with no more of them a start is that of `best_start`."""
_SWEEPS = 5  # given the features that were found
_FIRST_NUMBER = 2**32 - 16  # keys of these sweeps, apart from those of all others


def sample(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return the rows of a search, in order."""
    return np.sort(rng.choice(n_rows, SAMPLE, replace=False))


def start(
    rng: np.random.Generator,
    model: Model,
    keeper: RowKeeper,
    n_starts: int = 6,
    tick: Tick = no_tick,
) -> State:
    """Return a first state whose rows are with their keeper."""
    some = sample(rng, keeper.shape[0])
    found = best_start(rng, model.on_rows(some), keeper.take(some), n_starts, tick=tick)
    state = found._replace(
        rows=np.zeros((0, model.n_features), np.int8),
        count_log_probs=mean_log_probs(model.counts, model.n_features),
        number=_FIRST_NUMBER,
    )
    seed = kernel_seed(rng)
    keeper.fill(order(seed, state, model))
    for step in range(_SWEEPS):
        tick(n_starts, n_starts)
        tally, sums = keeper.sweep(order(seed, state._replace(number=_FIRST_NUMBER + step), model))
    state, _ = gibbs.finish_elsewhere(rng, state, model, tally, sums, keeper.log_terms)
    return state._replace(number=0)


class InMemory:
    """Data and rows of this process, as a `RowKeeper`."""

    def __init__(self, model: Model, data: Data, n_threads: int = 1) -> None:
        self.model, self.data, self.n_threads = model, data, n_threads
        self.rows: Rows = np.zeros((data.shape[0], model.n_features), np.int8)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims of the data."""
        n_rows, n_dims = self.data.shape
        return n_rows, n_dims

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        return self.data.rows(at)

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with."""

        def work(at: slice) -> None:
            which = self.model.counts.index[at]
            self.rows[at] = first_rows(self.data.rows(at), order.parameters, order.prior, which)

        for _ in in_order(work, blocks(0, len(self.rows)), self.n_threads):
            pass

    def sweep(self, order: Order) -> Swept:
        """Update every row, and return their sums."""
        work = self.model.likelihood.row_work(*order)
        which, n_laws = self.model.counts.index, len(order.prior.tables)

        def block(at: slice) -> Swept:
            rows = self.rows[at]
            sums = work(at.start, *self.data.rows(at), which[at], rows)
            return Swept(Tally.of(rows, which[at], n_laws), sums)

        return sum_blocks(block, len(self.rows), self.n_threads, block(slice(0, 0)))

    def log_terms(self, parameters: object) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""

        def work(at: slice) -> float:
            return self.model.likelihood.log_terms(self.data.rows(at), self.rows[at], parameters)

        return sum_blocks(work, len(self.rows), self.n_threads, 0.0)


def start_in_memory(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    n_starts: int = 6,
    tick: Tick = no_tick,
    n_threads: int = 1,
) -> State:
    """Return a first state with its rows."""
    keeper = InMemory(model, data, n_threads)
    state = start(rng, model, keeper, n_starts, tick)
    return state._replace(rows=keeper.rows)
