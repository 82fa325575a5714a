"""One chain: where it is, what it has recorded, and the next sweep.

All of a chain's randomness is its generator and the key of its kernels. Both are written down with
its state, so that a chain that is read back goes on as if it had never stopped, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ribp.draws import ChainDraws, Recordable, record, record_features, record_warmup
from ribp.likelihoods.base import Data
from ribp.mcmc.start import Tick
from ribp.rng import kernel_seed
from ribp.running.samplers import Sampler

__all__ = ["Chain", "Plan", "new_chains"]


@dataclass(frozen=True)
class Plan:
    """How long chains are and what is kept of them.

    Parameters
    ----------
    n_chains, n_warmup, n_draws
        How many chains, and sweeps of each.
    thin
        Features and rows are kept of every `thin`-th draw.
    seed
        Entropy of all randomness.
    """

    n_chains: int = 4
    n_warmup: int = 500
    n_draws: int = 500
    thin: int = 1
    seed: tuple[int, ...] = (0,)

    @property
    def n_sweeps(self) -> int:
        """How many sweeps a chain makes."""
        return self.n_warmup + self.n_draws


@dataclass(eq=False)
class Chain:
    """A chain on its way; `state` is None before its search for a start."""

    number: int
    rng: np.random.Generator
    seed: np.uint64 | None = None
    state: Any = None
    log_joint: float = float("nan")
    draws: ChainDraws = field(default_factory=lambda: ChainDraws([], [], []))

    @property
    def n_sweeps(self) -> int:
        """How many sweeps were made."""
        return len(self.draws.warmup) + len(self.draws.posterior)

    @property
    def active_features(self) -> int:
        """How many features some row has, after the last sweep."""
        last = self.draws.posterior or self.draws.warmup
        return last[-1]["active_features"] if last else 0

    def stored(self) -> Any:
        """Return the state as a checkpoint keeps it."""
        return self.state

    def begin(self, sampler: Sampler, data: Data, tick: Tick) -> None:
        """Search for a first state."""
        self.state = sampler.begin(self.rng, data, tick)
        self.seed = kernel_seed(self.rng)

    def reported(self, sampler: Sampler, log_joint: float) -> tuple[Recordable, float]:
        """Return what is shown of the state, and its log joint, in the units of the user."""
        likelihood = sampler.model.likelihood
        shown: Any = sampler.shown(self.state)  # a NamedTuple
        shown = shown._replace(parameters=likelihood.reported(shown.parameters))
        return shown, log_joint - likelihood.log_volume

    def sweep(self, sampler: Sampler, data: Data, plan: Plan) -> None:
        """Make a sweep and record it."""
        assert self.seed is not None
        self.state, log_joint = sampler.sweep(self.rng, self.seed, self.state, data)
        shown, self.log_joint = self.reported(sampler, log_joint)
        if len(self.draws.warmup) < plan.n_warmup:
            self.draws.warmup.append(record_warmup(shown, self.log_joint))
            return
        number = len(self.draws.posterior)
        shared = getattr(sampler.model.likelihood, "shared", False)
        self.draws.posterior.append(record(shown, self.log_joint, shared, sampler.learns_counts))
        if number % plan.thin == 0:
            self.draws.features.append(record_features(shown, number))


def new_chains(plan: Plan) -> list[Chain]:
    """Return chains that have not begun, each with randomness of its own."""
    children = np.random.SeedSequence(plan.seed).spawn(plan.n_chains)
    return [Chain(number, np.random.default_rng(child)) for number, child in enumerate(children)]
