"""Samplers that need all data in memory; their states have the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ribp.baselines import ibp_gibbs, ibp_variational
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import BuffetState, FiniteBuffetModel
from ribp.likelihoods import GaussianParameters
from ribp.likelihoods.data import Data
from ribp.mcmc import gibbs
from ribp.model import Model, State, SweepInfo, Tally
from ribp.recording import pack_rows
from ribp.rows.store import Packed, RowStore
from ribp.running.restore import Arrays, restored
from ribp.search.following import state_in_memory
from ribp.search.pool import Start, as_restricted, from_rows
from ribp.variational.features import FeatureFactor

_SHARE = 0.1  # of entries that are one, where a buffet is timed


class InMemory:
    """What these samplers have in common; `method` is how users call them."""

    method: str

    def check(self, store: RowStore) -> None:
        """Any finite data will do."""

    def rows(self, store: RowStore) -> Data:
        """Return all data: this method needs them in memory."""
        return store.in_memory(self.method)

    def shown(self, state: Any) -> Any:
        """Return the state itself."""
        return state

    def packed(self, state: Any, rows: Data) -> Packed:
        """Return Z of all rows."""
        return pack_rows(self.shown(state).rows)


def tally(rows: Any) -> Tally:
    """Return the tally of rows without laws, as if all had the same."""
    return Tally.of(rows, np.zeros(len(rows), np.int64), 1)


@dataclass(frozen=True)
class Gibbs(InMemory):
    """The default sampler of a restricted model, features integrated out."""

    model: Model
    method = "gibbs"
    update = staticmethod(gibbs.update)

    def check(self, store: RowStore) -> None:
        """Raise an `InputError` if these data cannot be."""
        self.model.check(store)

    def begin(self, rng: np.random.Generator, rows: Data, start: Start) -> State:
        """Return a state at a start; rows that were not searched follow."""
        return state_in_memory(rng, self.model, start, rows)

    def trial(self, rng: np.random.Generator, rows: Data) -> State:
        """Return a draw of the prior."""
        guess = self.model.likelihood.first_guess(rows, self.model.n_features)
        return self.model.draw_prior(rng, rows.shape[1])._replace(parameters=guess)

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down."""
        state: State = restored(State, arrays, {"parameters": GaussianParameters})
        self.model.check_state(state)
        return state


@dataclass(frozen=True)
class BuffetGibbs(InMemory):
    """The Gibbs sampler of the unrestricted buffet."""

    model: BuffetModel
    method = "gibbs"

    def begin(self, rng: np.random.Generator, rows: Data, start: Start) -> State:
        """Return a state at a start, with features that some row has."""
        return ibp_gibbs.from_state(rng, self.model, state_in_memory(rng, self.model, start, rows))

    def trial(self, rng: np.random.Generator, rows: Data) -> State:
        """Return a state whose rows have one entry in ten."""
        model = as_restricted(self.model, rows.shape[0])
        z = (rng.random((rows.shape[0], model.n_features)) < _SHARE).astype(np.int8)
        return ibp_gibbs.from_state(rng, self.model, from_rows(rng, model, rows, z))

    @staticmethod
    def update(
        rng: np.random.Generator, seed: np.uint64, state: State, model: BuffetModel, rows: Data
    ) -> tuple[State, SweepInfo]:
        """Return the next state, its log joint, and the tally of its rows."""
        state = ibp_gibbs.update(rng, seed, state, model, rows)
        return state, SweepInfo(model.log_joint(state, rows), tally(state.rows))

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down."""
        state: State = restored(State, arrays, {"parameters": GaussianParameters})
        return state


class DrawnBuffet(NamedTuple):
    """q, and a draw of it."""

    q: BuffetState
    shown: State


class OnThreads(NamedTuple):
    """All data, and how many threads may work on them."""

    data: Data
    n_threads: int


@dataclass(frozen=True)
class BuffetVariational(InMemory):
    """Mean field for the unrestricted buffet; its log joint is the bound."""

    model: FiniteBuffetModel
    weights: ibp_variational.WeightKind

    def rows(self, store: RowStore) -> Any:
        """Return all data: this method needs them in memory."""
        method = "variational" if self.weights == "beta" else "hybrid"
        return OnThreads(store.in_memory(method), store.n_threads)

    def begin(self, rng: np.random.Generator, rows: OnThreads, start: Start) -> DrawnBuffet:
        """Return q at a start."""
        state = state_in_memory(rng, self.model, start, rows.data)
        q = ibp_variational.from_rows(self.model, rows.data, state.rows, state, self.weights)
        return self.drawn(rng, q, self.model)

    def trial(self, rng: np.random.Generator, rows: OnThreads) -> DrawnBuffet:
        """Return a state that begins at rows with one entry in ten."""
        data, size = rows.data, self.model.n_features
        z = (rng.random((data.shape[0], size)) < _SHARE).astype(np.int8)
        guess = self.model.likelihood.first_guess(data, size)
        state = State(z, np.zeros(size), _SHARE * size, 1.0, np.zeros((0, size + 1)), guess)
        q = ibp_variational.from_rows(self.model, data, z, state, self.weights)
        return self.drawn(rng, q, self.model)

    @classmethod
    def update(
        cls,
        rng: np.random.Generator,
        seed: np.uint64,
        state: DrawnBuffet,
        model: FiniteBuffetModel,
        rows: OnThreads,
    ) -> tuple[DrawnBuffet, SweepInfo]:
        """Make one iteration, and draw from q."""
        data, n_threads = rows
        q, _ = ibp_variational.update(rng, seed, state.q, model, data, n_threads=n_threads)
        drawn = cls.drawn(rng, q, model)
        return drawn, SweepInfo(float(q.bound), tally(drawn.shown.rows))

    @staticmethod
    def drawn(rng: np.random.Generator, q: BuffetState, model: FiniteBuffetModel) -> DrawnBuffet:
        """Return q with a draw of it."""
        seed = np.uint64(rng.integers(2**63))
        return DrawnBuffet(q, ibp_variational.draw(rng, seed, q, model))

    def shown(self, state: DrawnBuffet) -> State:
        """Return the draw of q."""
        return state.shown

    def restored(self, arrays: Arrays) -> DrawnBuffet:
        """Return the state that was written down."""
        kinds = {
            "q": BuffetState,
            "q.features": FeatureFactor,
            "q.parameters": GaussianParameters,
            "shown": State,
            "shown.parameters": GaussianParameters,
        }
        drawn: DrawnBuffet = restored(DrawnBuffet, arrays, kinds)
        return drawn
