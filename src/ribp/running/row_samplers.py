"""Samplers whose rows may be anywhere: in memory, in a file, on a cluster.

Their states have no rows: what these have is a table in a row store. Variational methods draw from
q in every sweep; the log joint of such a draw is the bound. Where weights are drawn now and then, q
follows them; where they are points q comes to rest, and further draws come from where it rests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ribp.likelihoods import GaussianParameters
from ribp.mcmc import gibbs_rows, rows_given_features
from ribp.model import Model, State, SweepInfo, Tally
from ribp.recording import pack_rows
from ribp.rows.store import ChainRows, Layout, Packed, RowStore
from ribp.running.restore import Arrays, restored
from ribp.search import pool
from ribp.search.following import followed, searched_state
from ribp.search.pool import Start
from ribp.variational import hybrid, hybrid_rows, stochastic, structured, structured_rows
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.state import StochasticState, VariationalState, draw


@dataclass(frozen=True)
class ByRows(ABC):
    """What these samplers have in common."""

    model: Model

    def check(self, store: RowStore) -> None:
        """Raise an `InputError` if these data cannot be."""
        self.model.check(store)

    def rows(self, store: RowStore) -> ChainRows:
        """Return the rows of a chain."""
        return store.rows(self._layout(), self.model.counts.law_of_row)

    @abstractmethod
    def _layout(self) -> Layout:
        """Return the table of what rows have."""

    def packed(self, state: Any, rows: ChainRows) -> Packed:
        """Return Z of all rows."""
        return rows.packed()

    def _guess(self, rng: np.random.Generator, rows: ChainRows) -> State:
        """Return a draw of the prior without rows, its parameters of the size of the data."""
        one = np.arange(1)
        drawn = self.model.on_rows(one).draw_prior(rng, rows.shape[1])
        few = rows.take(np.arange(min(rows.shape[0], pool.SEARCH_ROWS)))
        guess = self.model.likelihood.first_guess(few, self.model.n_features)
        return self.model.without_rows(drawn)._replace(parameters=guess)


class GibbsRows(ByRows):
    """`gibbs-rows`: features kept."""

    update = staticmethod(gibbs_rows.update)

    def _layout(self) -> Layout:
        return rows_given_features.layout(self.model.n_features, self.model.likelihood.entries)

    def begin(self, rng: np.random.Generator, rows: ChainRows, start: Start) -> State:
        """Return a state at a start; rows that were not searched follow."""
        found = searched_state(rng, self.model, start, rows)
        if start.some.size == rows.shape[0]:
            binary = found.rows.dtype == np.int8
            rows.load(pack_rows(found.rows) if binary else found.rows)
            return self.model.without_rows(found)
        state, sweep = followed(rng, self.model, found)
        state, _ = gibbs_rows.finish(rng, state, self.model, rows.do(sweep), rows)
        return state._replace(number=0)

    def trial(self, rng: np.random.Generator, rows: ChainRows) -> State:
        """Return a draw of the prior, rows having what suits them."""
        state, sweep = followed(rng, self.model, self._guess(rng, rows))
        rows.do(replace(sweep, steps=sweep.steps[:1]))
        return state._replace(number=0)

    def shown(self, state: State) -> State:
        """Return the state itself."""
        return state

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down."""
        kind = self.model.likelihood.parameters_type
        state: State = restored(State, arrays, {"parameters": kind})
        self.model.check_state(state)
        return state


class Drawn(NamedTuple):
    """q, and a draw of it without its rows."""

    q: Any
    shown: State


class ByPasses(ByRows):
    """What variational methods have in common."""

    state_type: ClassVar[type]

    def shown(self, state: Drawn) -> State:
        """Return the draw of q."""
        return state.shown

    def restored(self, arrays: Arrays) -> Drawn:
        """Return the state that was written down."""
        kinds = {
            "q": self.state_type,
            "q.features": FeatureFactor,
            "q.parameters": GaussianParameters,
            "q.sums": RowSums,
            "shown": State,
            "shown.parameters": GaussianParameters,
        }
        drawn: Drawn = restored(Drawn, arrays, kinds)
        return drawn


class Structured(ByPasses):
    """`structured`: q obeys the count laws."""

    state_type = VariationalState

    def _layout(self) -> Layout:
        return structured_rows.layout(self.model)

    def begin(self, rng: np.random.Generator, rows: ChainRows, start: Start) -> Drawn:
        """Return q at a start."""
        return self.drawn(rng, structured.start(rng, self.model, rows, start), rows)

    def trial(self, rng: np.random.Generator, rows: ChainRows) -> Drawn:
        """Return a state at the prior."""
        return self.drawn(rng, structured.at_prior(self.model, rows, self._guess(rng, rows)), rows)

    def drawn(self, rng: np.random.Generator, q: VariationalState, rows: ChainRows) -> Drawn:
        """Return q with a draw of it."""
        tally = structured.drawn_rows(_seed(rng), q, self.model, rows)
        return Drawn(q, draw(rng, q, self.model, tally))

    @staticmethod
    def update(
        rng: np.random.Generator, seed: np.uint64, state: Drawn, model: Model, rows: ChainRows
    ) -> tuple[Drawn, SweepInfo]:
        """Make one pass over everything, and draw from q."""
        q, tally = structured.update(_seed(rng), state.q, model, rows)
        return Drawn(q, draw(rng, q, model, tally)), SweepInfo(float(q.bound), tally)


class Hybrid(ByPasses):
    """`hybrid`: the paper's variational method."""

    state_type = VariationalState

    def _layout(self) -> Layout:
        return hybrid_rows.layout(self.model.n_features)

    def begin(self, rng: np.random.Generator, rows: ChainRows, start: Start) -> Drawn:
        """Return q at a start."""
        return self.drawn(rng, hybrid.start(rng, self.model, rows, start), rows)

    def trial(self, rng: np.random.Generator, rows: ChainRows) -> Drawn:
        """Return a state whose rows have what suits them."""
        guess = self._guess(rng, rows)
        return self.drawn(rng, hybrid.from_features(rng, self.model, rows, guess), rows)

    def drawn(self, rng: np.random.Generator, q: VariationalState, rows: ChainRows) -> Drawn:
        """Return q with a draw of it."""
        hybrid.drawn_rows(hybrid.draw_seed(rng), self.model, rows)
        return Drawn(q, hybrid.draw(rng, q, self.model))

    @staticmethod
    def update(
        rng: np.random.Generator, seed: np.uint64, state: Drawn, model: Model, rows: ChainRows
    ) -> tuple[Drawn, SweepInfo]:
        """Make one iteration, and draw from q."""
        q, tally, _ = hybrid.update(rng, seed, state.q, model, rows)
        return Drawn(q, hybrid.draw(rng, q, model)), SweepInfo(float(q.bound), tally)


class Stochastic(ByPasses):
    """`stochastic`: the structured method in batches.

    An iteration is a pass over the data until q is at rest, and only a draw from then on.
    """

    state_type = StochasticState

    def _layout(self) -> Layout:
        return structured_rows.layout(self.model)

    def begin(self, rng: np.random.Generator, rows: ChainRows, start: Start) -> Drawn:
        """Return q at a start."""
        q = stochastic.start(rng, self.model, rows, start)
        return self.drawn(rng, q, self.model, rows)[0]

    def trial(self, rng: np.random.Generator, rows: ChainRows) -> Drawn:
        """Return a state at rest at the prior: most iterations are draws."""
        return self.drawn(rng, stochastic.resting(rng, self.model, rows), self.model, rows)[0]

    @staticmethod
    def drawn(
        rng: np.random.Generator, q: StochasticState, model: Model, rows: ChainRows
    ) -> tuple[Drawn, Tally]:
        """Return q with a draw of it, and the tally of its rows."""
        q, tally = stochastic.drawn_rows(rng, _seed(rng), q, model, rows)
        return Drawn(q, draw(rng, q, model, tally)), tally

    @classmethod
    def update(
        cls,
        rng: np.random.Generator,
        seed: np.uint64,
        state: Drawn,
        model: Model,
        rows: ChainRows,
    ) -> tuple[Drawn, SweepInfo]:
        """Make one iteration, and draw from q."""
        q, _ = stochastic.update(rng, seed, state.q, model, rows)
        drawn, tally = cls.drawn(rng, q, model, rows)
        return drawn, SweepInfo(float(q.bound), tally)

    def packed(self, state: Drawn, rows: ChainRows) -> Packed:
        """Return Z of all rows."""
        packed: Packed = rows.packed() if state.q.at_rest else state.q.z
        return packed


def _seed(rng: np.random.Generator) -> np.uint64:
    """Return the key of a draw of Z."""
    return np.uint64(rng.integers(2**63))
