"""The structured method with rows elsewhere: in other files, processes or machines.

A pass over rows is an `Order` to whoever has them. They have q(z_n) of their rows as a table,

    row n = (lambda_n, g_n),     features + counts numbers,

change it, draw Z from it, and send back the sums that the others need. So an update here has the
bits of `ribp.variational.structured.update`: it sees the same groups of rows, and adds their totals
by the same tree.

**Many rows.** The search is made on 2000 of them, as if there were no others. Given its features
all rows find their q from the prior, with powers of the likelihood that rise to one: that is far
quicker than to search with all rows, and it is the same in memory and elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts.tables import tallied_log_probs
from ribp.kernels import rows_structured as kernel
from ribp.likelihoods.base import Data, Rows
from ribp.mcmc import sampled_start
from ribp.mcmc.rows_collapsed import gaussian
from ribp.mcmc.start import Tick, no_tick
from ribp.model import Model, State, Tally
from ribp.variational import stochastic, structured
from ribp.variational.features import draw_features
from ribp.variational.structured import StructuredState
from ribp.variational.structured_rows import Given, Totals, count_width, sum_groups, sweep_rows

__all__ = [
    "Order",
    "RowKeeper",
    "Swept",
    "draw",
    "drawing",
    "start",
    "start_in_memory",
    "table_of",
    "update",
    "without_rows",
    "work",
]


class Order(NamedTuple):
    """All that rows are told."""

    given: Given
    powers: tuple[float, ...]
    """Of the likelihood in each pass; without any, q(z_n) stays as it is and Z is drawn."""
    fresh: bool
    """Whether rows begin at the prior, not where they are."""
    seed: np.uint64
    """Of the draw of Z after the passes."""
    number: int
    """Of that draw."""


class Swept(NamedTuple):
    """All that rows tell."""

    totals: Totals | tuple[()]
    """() if q(z_n) stayed as it was."""
    tally: Tally
    """Of Z as it was drawn."""


class Moved(NamedTuple):
    """A group of rows after an order."""

    table: FloatArray
    """lambda and g, shape (rows, features + counts)."""
    means: FloatArray
    """E[z_n], shape (rows, features); without rows if q(z_n) stayed as it was."""
    rows: Rows
    """Z, drawn."""
    swept: Swept


class RowKeeper(Protocol):
    """Whoever has data and rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims of the data."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""

    def sweep(self, order: Order) -> Swept:
        """Do what the order says to all rows."""


# What is done to a group of rows


def work(
    order: Order, first: int, data: Data, which: IntArray, table: FloatArray, n_threads: int = 1
) -> Moved:
    """Return a group of rows after an order.

    Parameters
    ----------
    order
    first
        The number of the first row.
    data, which, table
        Data, law and q of each row; of the table only the shape matters for rows that are fresh.
    n_threads
        The result does not depend on it.
    """
    given, features = order.given, order.given.log_odds.size
    if order.fresh:
        lam = np.repeat(given.log_odds[None], len(which), axis=0)
        terms = given.tables[which, : table.shape[1] - features]
    else:
        lam, terms = table[:, :features], table[:, features:]
    lam, terms = np.ascontiguousarray(lam), np.ascontiguousarray(terms)
    totals: Totals | tuple[()] = ()
    means = np.zeros((0, features))
    if order.powers:
        lam, terms, means, totals = sweep_rows(
            given, data, which, lam, terms, powers=order.powers, n_threads=n_threads,
            names=first + np.arange(len(which)),
        )  # fmt: skip
    rows = np.zeros(lam.shape, np.int8)
    kernel.draw(order.seed, order.number, first, lam, terms, rows)
    tally = Tally.of(rows, which, len(given.tables))
    return Moved(np.hstack([lam, terms]), means, rows, Swept(totals, tally))


# What the driver does


def start(
    rng: np.random.Generator,
    model: Model,
    keeper: RowKeeper,
    tick: Tick = no_tick,
    n_starts: int = 5,
) -> StructuredState:
    """Return a first state of more rows than a search is made on; they are with their keeper."""
    some, n_rows = sampled_start.sample(rng, keeper.shape[0]), keeper.shape[0]
    found = stochastic.searched(rng, model.on_rows(some), keeper.take(some), tick, n_starts)
    law_counts = stochastic.law_counts_of(model, found, some) * (n_rows / some.size)
    state = without_rows(found, model)._replace(law_counts=law_counts, number=0)
    tick(n_starts, n_starts)
    given = structured.given(state, model)
    totals, _ = keeper.sweep(Order(given, stochastic.CAREFUL, True, np.uint64(0), 0))
    assert isinstance(totals, Totals)
    return structured.finish(state, model, totals)


def update(
    seed: np.uint64, state: StructuredState, model: Model, keeper: RowKeeper
) -> tuple[StructuredState, Tally]:
    """Make one pass over everything; Z is drawn with `seed`, and what rows have is tallied."""
    order = Order(structured.given(state, model), (1.0,), False, seed, state.number + 1)
    totals, tally = keeper.sweep(order)
    assert isinstance(totals, Totals)
    return structured.follow(state, model, totals), tally


def drawing(seed: np.uint64, state: StructuredState, model: Model) -> Order:
    """Return the order to draw Z from q as it is."""
    return Order(structured.given(state, model), (), False, seed, state.number)


def draw(rng: np.random.Generator, state: StructuredState, model: Model, tally: Tally) -> State:
    """Return a state without rows: A drawn from q, learned laws given Z, and the points."""
    parameters = draw_features(rng, gaussian(model), state.features, state.parameters)
    laws = tallied_log_probs(rng, model.counts, tally.histograms)
    rows = np.zeros((0, model.n_features), np.int8)
    return State(
        rows, state.log_odds, state.mass, state.concentration, laws, parameters, state.number
    )


def without_rows(state: StructuredState, model: Model) -> StructuredState:
    """Return a state whose rows are elsewhere."""
    none = np.zeros((0, model.n_features))
    return state._replace(
        row_log_odds=none, count_terms=np.zeros((0, count_width(model))), row_means=none
    )


def table_of(state: StructuredState) -> FloatArray:
    """Return q(z_n) of a state with rows, as a table."""
    return np.hstack([state.row_log_odds, state.count_terms])


# The same in memory


def start_in_memory(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    tick: Tick = no_tick,
    n_starts: int = 5,
    n_threads: int = 1,
) -> StructuredState:
    """Return a first state with its rows; the search is made on all of them if they are few."""
    if data.shape[0] <= sampled_start.SAMPLE:
        return structured.start(rng, model, data, tick, n_starts)
    keeper = _InMemory(model, data, n_threads)
    state = start(rng, model, keeper, tick, n_starts)
    lam, terms = np.split(keeper.table, [model.n_features], axis=1)
    return state._replace(row_log_odds=lam.copy(), count_terms=terms.copy(), row_means=keeper.means)


class _InMemory:
    """Data and rows of this process, as a `RowKeeper`."""

    def __init__(self, model: Model, data: Data, n_threads: int) -> None:
        self.data, self.which, self.n_threads = data, model.counts.index, n_threads
        self.shape = data.shape
        self.table = np.empty((self.shape[0], model.n_features + count_width(model)))
        self.means = np.empty((self.shape[0], model.n_features))

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        return self.data.rows(at)

    def sweep(self, order: Order) -> Swept:
        """Do what the order says to all rows."""

        def group(at: slice, n_threads: int) -> Swept:
            moved = work(
                order, at.start, self.data.rows(at), self.which[at], self.table[at], n_threads
            )
            self.table[at], self.means[at] = moved.table, moved.means
            return moved.swept

        return sum_groups(group, self.shape[0], self.n_threads)
