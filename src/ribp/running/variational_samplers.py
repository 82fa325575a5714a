"""Variational methods as a run sees them: an iteration is a sweep, a draw of q is a draw.

The log joint of a draw is the bound. Where weights are drawn now and then, q follows them; where
they are points q comes to rest, and further draws come from where it rests. An iteration of the
stochastic method is a pass over the data until it is at rest, and only a draw from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ribp.baselines import ibp_variational, ibp_variational_start
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.counts import Learned
from ribp.likelihoods import GaussianParameters
from ribp.likelihoods.base import Data
from ribp.mcmc.start import Tick
from ribp.model import Model, State
from ribp.running.restore import Arrays, restored
from ribp.variational import hybrid, stochastic, structured, structured_elsewhere
from ribp.variational.features import FeatureFactor, RowSums

__all__ = ["METHODS", "Variational", "VariationalChain"]

_SHARE = 0.1


class VariationalChain(NamedTuple):
    """q, and a draw of it."""

    q: Any
    shown: State


class _Method(NamedTuple):
    """What a variational method is made of."""

    kind: type
    start: Callable[..., Any]
    update: Callable[..., Any]
    draw: Callable[..., State]
    trial: Callable[..., Any]
    """A state whose iteration takes as long as most do, found without a search."""


def _trial(from_rows: Callable[..., Any]) -> Callable[..., Any]:
    """Return how to begin a method of the restricted buffet at rows of the prior."""

    def trial(rng: np.random.Generator, model: Model, data: Data) -> Any:
        drawn = model.draw_prior(rng, data.shape[1])
        guess = model.likelihood.first_guess(data, model.n_features)
        return from_rows(model, data, drawn.rows, drawn._replace(parameters=guess))

    return trial


def _buffet_trial(weights: ibp_variational.Weights) -> Callable[..., Any]:
    """Return how to begin a method of the buffet, each entry of its rows one in ten times."""

    def trial(rng: np.random.Generator, model: FiniteBuffetModel, data: Data) -> Any:
        size = model.n_features
        rows = (rng.random((data.shape[0], size)) < _SHARE).astype(np.int8)
        guess = model.likelihood.first_guess(data, size)
        nothing = np.zeros((0, size + 1))
        state = State(rows, np.zeros(size), _SHARE * size, 1.0, nothing, guess)
        return ibp_variational.from_rows(model, data, rows, state, weights)

    return trial


METHODS = {
    "hybrid": _Method(
        hybrid.HybridState, hybrid.start, hybrid.update, hybrid.draw, _trial(hybrid.from_rows)
    ),
    "structured": _Method(
        structured.StructuredState,
        structured_elsewhere.start_in_memory,
        structured.update,
        structured.draw,
        _trial(structured.from_rows),
    ),
    "stochastic": _Method(
        stochastic.StochasticState,
        stochastic.start,
        stochastic.update,
        stochastic.draw,
        stochastic.resting,
    ),
    "buffet-variational": _Method(
        ibp_variational.BuffetState,
        ibp_variational_start.start,
        ibp_variational.update,
        ibp_variational.draw,
        _buffet_trial("beta"),
    ),
    "buffet-hybrid": _Method(
        ibp_variational.BuffetState,
        partial(ibp_variational_start.start, weights="sample"),
        ibp_variational.update,
        ibp_variational.draw,
        _buffet_trial("sample"),
    ),
}


@dataclass(frozen=True)
class Variational:
    """A variational method for a model."""

    model: Any
    method: str
    n_threads: int = 1

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        counts = getattr(self.model, "counts", None)
        return counts is not None and any(isinstance(law, Learned) for law in counts.laws)

    def check(self, data: Data) -> None:
        """Raise an `InputError` if these data cannot be."""
        check = getattr(self.model, "check", None)
        if check is not None:
            check(data)

    def begin(self, rng: np.random.Generator, data: Data, tick: Tick) -> VariationalChain:
        """Return the best of several starts."""
        q = METHODS[self.method].start(rng, self.model, data, tick)
        return VariationalChain(q, self._draw(rng, q, data))

    def trial(self, rng: np.random.Generator, data: Data) -> VariationalChain:
        """Return a state whose iteration takes as long as most do."""
        q = METHODS[self.method].trial(rng, self.model, data)
        return VariationalChain(q, self._draw(rng, q, data))

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: VariationalChain, data: Data
    ) -> tuple[VariationalChain, float]:
        """Make one iteration, and draw from q."""
        q, info = METHODS[self.method].update(
            rng, seed, state.q, self.model, data, n_threads=self.n_threads
        )
        return VariationalChain(q, self._draw(rng, q, data)), float(info.bound)

    def _draw(self, rng: np.random.Generator, q: Any, data: Data) -> State:
        seed = np.uint64(rng.integers(2**63))
        return METHODS[self.method].draw(rng, seed, q, self.model, data)

    def shown(self, state: VariationalChain) -> State:
        """Return the draw of q."""
        return state.shown

    def restored(self, arrays: Arrays) -> VariationalChain:
        """Return the state that was written down."""
        kinds = {
            "q": METHODS[self.method].kind,
            "q.features": FeatureFactor,
            "q.parameters": GaussianParameters,
            "q.sums": RowSums,
            "shown": State,
            "shown.parameters": GaussianParameters,
        }
        chain: VariationalChain = restored(VariationalChain, arrays, kinds)
        return chain
