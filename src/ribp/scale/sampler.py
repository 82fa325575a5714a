"""`gibbs-rows` with rows elsewhere, as a run sees it: the same draws as with rows in memory.

The state of such a chain has no rows: whoever keeps them has those of the chain that is running.
A state that was read from a checkpoint has them, packed, until they are handed back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.counts import Learned
from ribp.draws import pack_rows, record, record_features, record_warmup
from ribp.likelihoods import GaussianParameters, LinearGaussian, PoissonParameters
from ribp.mcmc import gibbs_rows, sampled_start
from ribp.mcmc.start import Tick, best_start
from ribp.model import Model, State, Tally
from ribp.running.chain import Chain, Plan
from ribp.running.restore import Arrays, restored
from ribp.scale.in_process import Keeper

__all__ = ["Elsewhere", "ElsewhereChain"]


@dataclass(frozen=True)
class Elsewhere:
    """`gibbs-rows` for a restricted model, its rows with a `Keeper`."""

    model: Model
    n_starts: int = 6

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        return any(isinstance(law, Learned) for law in self.model.counts.laws)

    def check(self, data: Any) -> None:
        """Do nothing: data were checked when they were looked at."""

    def begin(self, rng: np.random.Generator, data: Any, tick: Tick) -> State:
        """Return a first state."""
        keeper: Keeper = data
        n_rows = keeper.shape[0]
        if n_rows > sampled_start.SAMPLE:
            return sampled_start.start(rng, self.model, keeper, self.n_starts, tick)
        everything = keeper.take(np.arange(n_rows))
        state = best_start(rng, self.model, everything, self.n_starts, tick=tick)
        keeper.load(pack_rows(state.rows))
        return state._replace(rows=state.rows[:0])

    def trial(self, rng: np.random.Generator, data: Any) -> State:
        """Not asked for: nobody estimates how long such a run takes."""
        raise NotImplementedError

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: State, data: Any
    ) -> tuple[tuple[State, Tally], float]:
        """Return the next state with the tally of its rows, and its log joint."""
        state, tally, info = gibbs_rows.update_elsewhere(rng, seed, state, self.model, data)
        return (state, tally), info.log_joint

    def shown(self, state: State) -> State:
        """Return the state itself."""
        return state

    def restored(self, arrays: Arrays) -> State:
        """Return the state that was written down, with packed rows."""
        gaussian = isinstance(self.model.likelihood, LinearGaussian)
        kind = GaussianParameters if gaussian else PoissonParameters
        state: State = restored(State, arrays, {"parameters": kind})
        return state


@dataclass(eq=False)
class ElsewhereChain(Chain):
    """A chain whose rows are with a `Keeper`."""

    keeper: Any = field(default=None)

    def stored(self) -> State:
        """Return the state with its rows, packed."""
        state: State = self.state
        return state if len(state.rows) else state._replace(rows=self.keeper.rows())

    def sweep(self, sampler: Any, data: Any, plan: Plan) -> None:
        """Make a sweep and record it."""
        assert self.seed is not None
        if len(self.state.rows):
            self.keeper.load(self.state.rows)
            self.state = self.state._replace(rows=np.zeros((0, self.state.log_odds.size), np.int8))
        found, self.log_joint = sampler.sweep(self.rng, self.seed, self.state, self.keeper)
        self.state, tally = found
        self._record(sampler, tally, plan)

    def _record(self, sampler: Any, tally: Tally, plan: Plan) -> None:
        state = self.state
        used = {"active_features": int(np.count_nonzero(tally.sizes))}
        if len(self.draws.warmup) < plan.n_warmup:
            self.draws.warmup.append(record_warmup(state, self.log_joint) | used)
            return
        number = len(self.draws.posterior)
        shared = getattr(sampler.model.likelihood, "shared", False)
        histogram: NDArray[np.int64] = tally.histograms.sum(axis=0)
        self.draws.posterior.append(
            record(state, self.log_joint, shared, sampler.learns_counts)
            | used
            | {"count_histogram": histogram}
        )
        if number % plan.thin == 0:
            rows = {"rows": self.keeper.rows()}
            self.draws.features.append(record_features(state, number) | rows)
