"""Methods with rows elsewhere, as a run sees them: the same draws as with rows in memory.

The state of such a chain has no rows: whoever keeps them has those of the chain that is running.
What the rows of a chain have that was read from a checkpoint is in a file until its next sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.draws import Recordable, pack_rows, record, record_features, record_warmup
from ribp.mcmc import gibbs_rows, sampled_start
from ribp.mcmc.start import Tick, best_start
from ribp.model import Model, State, Tally
from ribp.running.chain import Chain, Plan
from ribp.running.restore import Arrays
from ribp.running.samplers import Restricted
from ribp.running.variational_samplers import Variational, VariationalChain
from ribp.scale.in_process import Keeper
from ribp.scale.tables import Stored
from ribp.variational import structured, structured_elsewhere

__all__ = ["ElsewhereChain", "GibbsElsewhere", "StructuredElsewhere", "elsewhere"]


@dataclass(frozen=True)
class GibbsElsewhere:
    """`gibbs-rows` for a restricted model, its rows with a `Keeper`."""

    model: Model
    n_starts: int = 6

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        return self._here.learns_counts

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
        """Return the state that was written down."""
        return self._here.restored(arrays)

    @property
    def _here(self) -> Restricted:
        return Restricted(self.model, "gibbs-rows")


@dataclass(frozen=True)
class StructuredElsewhere:
    """`structured` for a restricted model, its rows with a `Keeper`."""

    model: Model
    n_starts: int = 5

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        return self._here.learns_counts

    def check(self, data: Any) -> None:
        """Do nothing: data were checked when they were looked at."""

    def begin(self, rng: np.random.Generator, data: Any, tick: Tick) -> VariationalChain:
        """Return a first state, and a draw of it."""
        keeper: Keeper = data
        n_rows = keeper.shape[0]
        if n_rows > sampled_start.SAMPLE:
            q = structured_elsewhere.start(rng, self.model, keeper, tick, self.n_starts)
        else:
            everything = keeper.take(np.arange(n_rows))
            q = structured.start(rng, self.model, everything, tick, self.n_starts)
            keeper.load(structured_elsewhere.table_of(q))
            q = structured_elsewhere.without_rows(q, self.model)
        order = structured_elsewhere.drawing(_seed(rng), q, self.model)
        tally = keeper.sweep(order).tally
        return VariationalChain(q, structured_elsewhere.draw(rng, q, self.model, tally))

    def sweep(
        self, rng: np.random.Generator, seed: np.uint64, state: VariationalChain, data: Any
    ) -> tuple[tuple[VariationalChain, Tally], float]:
        """Return the next state with the tally of its rows, and its bound."""
        q, tally = structured_elsewhere.update(_seed(rng), state.q, self.model, data)
        shown = structured_elsewhere.draw(rng, q, self.model, tally)
        return (VariationalChain(q, shown), tally), float(q.bound)

    def shown(self, state: VariationalChain) -> State:
        """Return the draw of q."""
        return state.shown

    def restored(self, arrays: Arrays) -> VariationalChain:
        """Return the state that was written down."""
        return self._here.restored(arrays)

    @property
    def _here(self) -> Variational:
        return Variational(self.model, "structured")


def _seed(rng: np.random.Generator) -> np.uint64:
    """Return the key of a draw of Z, as `Variational` makes it."""
    return np.uint64(rng.integers(2**63))


def elsewhere(method: str, model: Model) -> Any:
    """Return the sampler of one of `ribp.scale.row_methods.METHODS`.

    It is a `ribp.running.samplers.Sampler` but for `trial`: nobody times its sweeps beforehand.
    """
    return StructuredElsewhere(model) if method == "structured" else GibbsElsewhere(model)


@dataclass(eq=False)
class ElsewhereChain(Chain):
    """A chain whose rows are with a `Keeper`."""

    keeper: Any = field(default=None)
    waiting: Path | None = None
    """The file with what its rows have, until the keeper is given it."""

    def sweep(self, sampler: Any, data: Any, plan: Plan) -> None:
        """Make a sweep and record it."""
        assert self.seed is not None
        if self.waiting is not None:
            size = self.keeper.shape[0], self.keeper.width
            self.keeper.load(Stored(self.waiting, size))
            self.waiting = None
        found, log_joint = sampler.sweep(self.rng, self.seed, self.state, self.keeper)
        self.state, tally = found
        shown, self.log_joint = self.reported(sampler, log_joint)
        self._record(sampler, shown, tally, plan)

    def _record(self, sampler: Any, state: Recordable, tally: Tally, plan: Plan) -> None:
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
