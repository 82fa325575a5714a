"""Samplers as a run sees them: where a chain begins, one sweep, what is shown of a state.

A run knows nothing of models and moves. A state is a NamedTuple of arrays, numbers and further such
tuples, so that it can be written down and read back (`ribp.running.checkpoint`); `shown` gives what
is recorded of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ribp.baselines import ibp_gibbs
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.counts import Learned
from ribp.draws import Recordable
from ribp.errors import InputError
from ribp.likelihoods import GaussianParameters, LinearGaussian, PoissonCounts, PoissonParameters
from ribp.likelihoods.base import Data
from ribp.mcmc import gibbs, gibbs_rows, sampled_start
from ribp.mcmc.start import Tick, best_start
from ribp.model import Model, State
from ribp.running.augmented_sampler import Augmented
from ribp.running.restore import Arrays, restored
from ribp.running.variational_samplers import METHODS, Variational

__all__ = ["Buffet", "Restricted", "Sampler", "sampler"]


class Sampler(Protocol):
    """What a run asks of a sampler."""

    @property
    def model(self) -> Any:
        """The model it samples from."""

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""

    def check(self, data: Data) -> None:
        """Raise an `InputError` if these data cannot be."""

    def begin(self, rng: np.random.Generator, data: Data, tick: Tick) -> Any:
        """Return a first state; `tick` is called now and then with what is done, of how much."""

    def trial(self, rng: np.random.Generator, data: Data) -> Any:
        """Return a state of the usual size, to time a sweep."""

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: Any, data: Data
    ) -> tuple[Any, float]:
        """Return the next state and its log joint."""

    def shown(self, state: Any) -> Recordable:
        """Return what is recorded of a state."""

    def restored(self, arrays: Arrays) -> Any:
        """Return the state that was written down as `arrays`."""


@dataclass(frozen=True)
class Restricted:
    """`gibbs` and `gibbs-rows` for a restricted model."""

    model: Model
    method: str
    n_threads: int = 1
    n_starts: int = 6

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        return any(isinstance(law, Learned) for law in self.model.counts.laws)

    def check(self, data: Data) -> None:
        """Raise an `InputError` if these data cannot be."""
        self.model.check(data)

    def begin(self, rng: np.random.Generator, data: Data, tick: Tick) -> State:
        """Return the best of several starts; with many rows, one found on some of them."""
        if self.method == "gibbs-rows" and data.shape[0] > sampled_start.SAMPLE:
            return sampled_start.start_in_memory(
                rng, self.model, data, self.n_starts, tick, self.n_threads
            )
        return best_start(rng, self.model, data, self.n_starts, tick=tick)

    def trial(self, rng: np.random.Generator, data: Data) -> State:
        """Return a draw of the prior."""
        state = self.model.draw_prior(rng, data.shape[1])
        return state._replace(
            parameters=self.model.likelihood.first_guess(data, self.model.n_features)
        )

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: State, data: Data
    ) -> tuple[State, float]:
        """Return the next state and its log joint."""
        if self.method == "gibbs":
            state, info = gibbs.update(rng, seed, state, self.model, data)
        else:
            state, info = gibbs_rows.update(rng, seed, state, self.model, data, self.n_threads)
        return state, info.log_joint

    def shown(self, state: State) -> State:
        """Return the state itself."""
        return state

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down."""
        gaussian = isinstance(self.model.likelihood, LinearGaussian)
        kind = GaussianParameters if gaussian else PoissonParameters
        state: State = restored(State, arrays, {"parameters": kind})
        self.model.check_state(state)
        return state


@dataclass(frozen=True)
class Buffet:
    """The Gibbs sampler of the unrestricted buffet."""

    model: BuffetModel
    learns_counts: bool = False

    def check(self, data: Data) -> None:
        """Any finite data will do."""

    def begin(self, rng: np.random.Generator, data: Data, tick: Tick) -> State:
        """Return the best of several starts from no features at all."""
        return ibp_gibbs.best_start(rng, self.model, data, tick=tick)

    def trial(self, rng: np.random.Generator, data: Data) -> State:
        """Return the end of a short chain."""
        return ibp_gibbs.start(rng, self.model, data)

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: State, data: Data
    ) -> tuple[State, float]:
        """Return the next state and its log joint."""
        state = ibp_gibbs.update(rng, seed, state, self.model, data)
        return state, self.model.log_joint(state, data)

    def shown(self, state: State) -> State:
        """Return the state itself."""
        return state

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down."""
        state: State = restored(State, arrays, {"parameters": GaussianParameters})
        return state


def sampler(method: str, model: Any, n_threads: int = 1, n_starts: int = 6) -> Sampler:
    """Return the sampler of a method."""
    makers: dict[str, Callable[[], Sampler]] = {
        "gibbs": lambda: Restricted(model, "gibbs", n_starts=n_starts),
        "gibbs-rows": lambda: Restricted(model, "gibbs-rows", n_threads, n_starts),
        "augmented": lambda: Augmented(model),
        "buffet": lambda: Buffet(model),
        **{name: partial(Variational, model, name, n_threads) for name in METHODS},
    }
    if method not in makers:
        raise InputError("method", f"must be one of {', '.join(makers)}", method, "Choose one.")
    if method != "gibbs-rows" and isinstance(model.likelihood, PoissonCounts):
        raise InputError(
            "method",
            'must be "gibbs-rows" with the Poisson likelihood',
            method,
            'Set method="gibbs-rows", or likelihood="gaussian".',
        )
    if method != "gibbs-rows" and model.likelihood.known:
        raise InputError(
            "method",
            'must be "gibbs-rows" where features are known',
            method,
            'Set method="gibbs-rows", or leave out fixed_components.',
        )
    return makers[method]()
