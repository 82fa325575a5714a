"""Shards of this process, on some threads: data stay where they are and are read as they are used.

`Keeper` is what a driver sees of rows, wherever they are (`ribp.mcmc.gibbs_rows.RowKeeper`, with a
first look and with rows that come and go packed); `InProcess` is the keeper that has them here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.base import Data
from ribp.likelihoods.blocks import Tree
from ribp.likelihoods.moments import Moments, Total
from ribp.mcmc.gibbs_rows import Order, RowKeeper, Swept
from ribp.model import Model
from ribp.scale.shard import GROUP, Found, Nodes, Packed, Shard, as_block
from ribp.scale.source import Source
from ribp.threads import n_cores

__all__ = ["InProcess", "Keeper", "Survey", "spans", "surveyed"]


class Survey(NamedTuple):
    """What a first look at all data finds."""

    shape: tuple[int, int]
    complete: bool
    counts: bool
    """Whether all that was seen are whole numbers, zero or more."""
    moments: Moments
    digest: str


class Keeper(RowKeeper, Protocol):
    """Whoever has data and rows of a run."""

    def survey(self) -> Survey:
        """Look at all data once; every other method comes after it."""

    def begin(self, model: Model) -> None:
        """Get ready for a model."""

    def load(self, packed: Packed) -> None:
        """Put rows back."""

    def rows(self) -> Packed:
        """Return all rows, packed."""

    def close(self) -> None:
        """Let go of everything."""


def spans(n_rows: int, n_shards: int) -> list[tuple[int, int]]:
    """Return ranges of rows for about so many shards, of about equal size.

    Shards begin at multiples of a power of two of groups, a sixteenth of a shard or less: then what
    they send is a handful of nodes.
    """
    n_groups = -(-n_rows // GROUP)
    number = min(n_shards, n_groups)
    unit = 2 ** max((n_groups // (16 * number)).bit_length() - 1, 0)
    edges = np.rint(np.linspace(0, n_groups, number + 1) / unit).astype(int) * unit * GROUP
    edges[-1] = n_rows
    return [(int(start), int(stop)) for start, stop in pairwise(edges)]


def surveyed(shape: tuple[int, int], found: Sequence[Found], squares: Any) -> Survey:
    """Return what shards have found, together; `squares` asks them for squares around a mean."""
    whole = all(part.complete for part in found)
    sums = Tree(node for part in found for node in part.totals).total(Total(0, 0.0))
    number = max(sums.number, 1)
    mean = sums.value / number
    around = Tree(node for nodes in squares(whole, mean) for node in nodes).total(0.0)
    digest = hashlib.sha256(repr(shape).encode())
    for part in found:
        digest.update("".join(part.digests).encode())
    moments = Moments(mean, around / number)
    return Survey(shape, whole, all(p.counts for p in found), moments, digest.hexdigest())


class InProcess:
    """The keeper whose shards are in this process.

    Parameters
    ----------
    source
        The data.
    n_threads
        None for one a core.
    edges
        Where shards begin, if not one has it all: multiples of `GROUP`, beginning with 0.
    """

    def __init__(
        self, source: Source, n_threads: int | None = None, edges: Sequence[int] = (0,)
    ) -> None:
        self.source, self.shape = source, source.shape
        ends = [*edges[1:], source.shape[0]]
        threads = n_cores() if n_threads is None else n_threads
        self._shards = [
            Shard(source, start, stop, n_threads=threads)
            for start, stop in zip(edges, ends, strict=True)
        ]
        self._packed: list[Packed] = []

    def survey(self) -> Survey:
        """Look at all data once."""

        def squares(whole: bool, mean: float) -> list[Nodes]:
            for shard in self._shards:
                shard.whole = whole
            return [shard.squares(mean) for shard in self._shards]

        return surveyed(self.shape, [shard.look() for shard in self._shards], squares)

    def begin(self, model: Model) -> None:
        """Get ready for a model."""
        self._likelihood, index = model.likelihood, model.counts.index
        self._which: list[IntArray] = [index[s.start : s.stop] for s in self._shards]
        self._packed = [shard.empty(model.n_features) for shard in self._shards]

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        parts: list[FloatArray] = [shard.take(at) for shard in self._shards]
        return as_block(np.concatenate(parts), self._shards[0].whole)

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with."""
        each = zip(self._shards, self._which, strict=True)
        self._packed = [shard.fill(order, which) for shard, which in each]

    def sweep(self, order: Order) -> Swept:
        """Update every row, and return their sums."""
        tree = Tree()
        for at, shard in enumerate(self._shards):
            packed = self._packed[at]
            new, nodes = shard.sweep(order, self._likelihood, self._which[at], packed)
            self._packed[at] = new
            for node in nodes:
                tree.add(*node)
        swept: Swept = tree.total(None)
        return swept

    def log_terms(self, parameters: Any) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""
        each = zip(self._shards, self._packed, strict=True)
        tree = Tree(
            node
            for shard, packed in each
            for node in shard.log_terms(parameters, self._likelihood, packed)
        )
        return float(tree.total(0.0))

    def load(self, packed: Packed) -> None:
        """Put rows back."""
        self._packed = [packed[s.start : s.stop] for s in self._shards]

    def rows(self) -> Packed:
        """Return all rows, packed."""
        return np.concatenate(self._packed)

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
