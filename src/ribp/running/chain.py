"""One chain: where it is, and what it has recorded.

All of a chain's randomness is its generator and the key of its kernels. Both are written down with
its state, so that a chain that is read back goes on as if it had never stopped, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ribp.mcmc.rows_given_features import DrawnExposures
from ribp.model import SweepInfo
from ribp.recording import ChainDraws, pack_sizes, record, record_features
from ribp.rng import kernel_seed
from ribp.rows.row_tables import SavedTable
from ribp.rows.store import RowStore
from ribp.running.samplers import Sampler
from ribp.search.pool import Start


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
    """A chain on its way; `state` is None before it begins."""

    number: int
    rng: np.random.Generator
    seed: np.uint64
    """The key of its kernels, once it has begun."""
    state: Any = None
    rows: Any = None
    """What it works on; None until it runs."""
    saved_rows: Path | None = None
    """The file with what its rows have, if it was read from a checkpoint and did not run yet."""
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

    def begin(self, sampler: Sampler, store: RowStore, start: Start | None) -> None:
        """Make a first state, or put rows back where they were."""
        self.rows = sampler.rows(store)
        if self.state is None:
            self.state = sampler.begin(self.rng, self.rows, start)
            self.seed = kernel_seed(self.rng)
        elif self.saved_rows is not None:
            self.rows.load(SavedTable(self.saved_rows, (store.shape[0], self.rows.layout.width)))
            self.saved_rows = None

    def record(self, sampler: Sampler, plan: Plan, info: SweepInfo) -> None:
        """Record where a sweep has ended."""
        likelihood, tally = sampler.model.likelihood, info.tally
        self.log_joint = float(info.log_joint - likelihood.log_volume)
        known = {
            "log_joint": self.log_joint,
            "active_features": int(np.count_nonzero(tally.sizes)),
        }
        if len(self.draws.warmup) < plan.n_warmup:
            self.draws.warmup.append(known)
            return
        shown: Any = sampler.shown(self.state)  # a NamedTuple
        shown = shown._replace(parameters=likelihood.reported(shown.parameters))
        scales = likelihood.recorded(shown.parameters)
        learned = getattr(sampler.model, "learns_counts", False)
        number, histogram = len(self.draws.posterior), tally.histograms.sum(axis=0)
        self.draws.posterior.append(known | record(shown, histogram, scales, learned))
        if number % plan.thin == 0:
            packed = sampler.packed(self.state, self.rows)
            own = self._sizes(sampler), self._exposures(sampler, number)
            self.draws.features.append(record_features(shown, number, packed, *own))

    def _sizes(self, sampler: Sampler) -> Any:
        """Return the sizes of entries, packed; None if they are binary."""
        likelihood = sampler.model.likelihood
        if likelihood.entries == "binary":
            return None
        signs = likelihood.signs(self.state.parameters)
        rows = np.concatenate([part * signs for part in self.rows.parts()])
        return pack_sizes(rows, sampler.model.sizes_type)

    def _exposures(self, sampler: Sampler, number: int) -> Any:
        """Draw the exposures of rows; None unless they are learned."""
        if sampler.model.likelihood.exposure != "learn":
            return None
        order = DrawnExposures(self.seed, number, self.state.parameters)
        return np.concatenate(self.rows.do(order))


def new_chains(plan: Plan) -> list[Chain]:
    """Return chains that have not begun, each with randomness of its own."""
    children = np.random.SeedSequence(plan.seed).spawn(plan.n_chains)
    return [
        Chain(number, np.random.default_rng(child), np.uint64(0))
        for number, child in enumerate(children)
    ]
