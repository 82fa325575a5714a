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
from ribp.counts import Learned
from ribp.likelihoods import GaussianParameters
from ribp.likelihoods.base import Data
from ribp.mcmc.start import Tick, no_tick
from ribp.model import State
from ribp.running.restore import Arrays, restored
from ribp.variational import hybrid, stochastic, structured
from ribp.variational.features import FeatureFactor, RowSums

__all__ = ["METHODS", "Variational", "VariationalChain"]


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
    trial: Callable[..., Any] | None = None
    """A state whose iteration takes as long as most do; None for a start."""


METHODS = {
    "hybrid": _Method(hybrid.HybridState, hybrid.start, hybrid.update, hybrid.draw),
    "structured": _Method(
        structured.StructuredState, structured.start, structured.update, structured.draw
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
    ),
    "buffet-hybrid": _Method(
        ibp_variational.BuffetState,
        partial(ibp_variational_start.start, weights="sample"),
        ibp_variational.update,
        ibp_variational.draw,
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
        """Return a start, or a state whose iteration takes as long as most do."""
        trial = METHODS[self.method].trial
        if trial is None:
            return self.begin(rng, data, no_tick)
        q = trial(rng, self.model, data)
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
