"""Shards of this process, on some threads: data stay where they are and are read as they are used.

`Keeper` is what a driver sees of rows, wherever they are: the `RowKeeper` of `ribp.mcmc.gibbs_rows`
and that of `ribp.variational.structured_elsewhere`, with a first look, and with tables of rows that
come and go. `InProcess` is the keeper that has them here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.base import Data, Likelihood
from ribp.likelihoods.blocks import Tree
from ribp.likelihoods.moments import Moments, Totals
from ribp.mcmc.gibbs_rows import Order
from ribp.model import Model
from ribp.scale.row_methods import Held, row_method
from ribp.scale.shard import GROUP, Found, Nodes, Packed, Shard, as_block
from ribp.scale.source import FileSource, Source
from ribp.scale.tables import FileTable, MemoryTable, Parts, Table
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


class Keeper(Protocol):
    """Whoever has data and rows of a run."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims of the data."""

    @property
    def width(self) -> int:
        """Of the table of what rows have, once a method has begun."""

    def survey(self) -> Survey:
        """Look at all data once; every other method comes after it."""

    def use_units(self, likelihood: Likelihood[Any]) -> None:
        """Give data in the standard units of a likelihood from now on."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""

    def begin(self, model: Model, method: str = "gibbs-rows") -> None:
        """Get ready for a model and one of `ribp.scale.row_methods.METHODS`."""

    def load(self, table: Parts) -> None:
        """Put back what rows have."""

    def held(self) -> Iterator[NDArray[Any]]:
        """Give what all rows have, some of them at a time; each lasts until the next."""

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with (`gibbs-rows`)."""

    def sweep(self, order: Any) -> Any:
        """Do what an order of the method says to every row, and return their sums."""

    def log_terms(self, parameters: Any) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""

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
    """Return what shards have found, together; `squares` asks them for squares around means."""
    whole = all(part.complete for part in found)
    sums: Totals = Tree(node for part in found for node in part.totals).total(None)
    around = Tree(node for nodes in squares(whole, sums.means) for node in nodes).total(None)
    digest = hashlib.sha256(repr(shape).encode())
    for part in found:
        digest.update("".join(part.digests).encode())
    moments = Moments(sums.number, sums.means, around / np.maximum(sums.number, 1.0))
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
    scratch
        The folder for what `structured` keeps of the rows of a file; None for that of temporary
        files.
    """

    def __init__(
        self,
        source: Source,
        n_threads: int | None = None,
        edges: Sequence[int] = (0,),
        scratch: Path | None = None,
    ) -> None:
        self.source, self.shape, self._scratch = source, source.shape, scratch
        ends = [*edges[1:], source.shape[0]]
        threads = n_cores() if n_threads is None else n_threads
        self._shards = [
            Shard(source, start, stop, n_threads=threads)
            for start, stop in zip(edges, ends, strict=True)
        ]
        self._held: list[Held] = []
        self.width = 0

    def survey(self) -> Survey:
        """Look at all data once."""

        def squares(whole: bool, means: FloatArray) -> list[Nodes]:
            for shard in self._shards:
                shard.whole = whole
            return [shard.squares(means) for shard in self._shards]

        return surveyed(self.shape, [shard.look() for shard in self._shards], squares)

    def begin(self, model: Model, method: str = "gibbs-rows") -> None:
        """Get ready for a model."""
        self.use_units(model.likelihood)
        self._likelihood, index = model.likelihood, model.counts.index
        self._which: list[IntArray] = [index[s.start : s.stop] for s in self._shards]
        self._method = row_method(method, model)
        self.width = self._method.width
        self._held = [
            self._method.holding(self._table(s.stop - s.start), s.stop - s.start)
            for s in self._shards
        ]

    def _table(self, n_rows: int) -> Table:
        shape, dtype = (n_rows, self._method.width), self._method.dtype
        if dtype == np.float64 and isinstance(self.source, FileSource):
            return FileTable(self._scratch, shape)
        return MemoryTable(np.zeros(shape, dtype))

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        parts: list[FloatArray] = [shard.take(at) for shard in self._shards]
        first = self._shards[0]
        return first.standard(as_block(np.concatenate(parts), first.whole))

    def use_units(self, likelihood: Likelihood[Any]) -> None:
        """Give data in the standard units of a likelihood from now on."""
        for shard in self._shards:
            shard.standard = likelihood.standard

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with."""
        filled = [
            shard.fill(order, which) for shard, which in zip(self._shards, self._which, strict=True)
        ]
        self._held = [Held(MemoryTable(packed), packed) for packed in filled]

    def sweep(self, order: Any) -> Any:
        """Do what an order says to every row, and return their sums."""
        tree = Tree()
        for at, shard in enumerate(self._shards):
            self._held[at], nodes = self._method.sweep(
                shard, order, self._which[at], self._held[at]
            )
            for node in nodes:
                tree.add(*node)
        return tree.total(None)

    def log_terms(self, parameters: Any) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""
        tree = Tree(
            node
            for shard, held in zip(self._shards, self._held, strict=True)
            for node in shard.log_terms(parameters, self._likelihood, held.packed)
        )
        return float(tree.total(0.0))

    def load(self, table: Parts) -> None:
        """Put back what rows have."""
        for number, shard in enumerate(self._shards):
            into = self._held[number].table.following()
            for start, stop in shard.spans():
                into.write(start - shard.start, table[start:stop])
            self._held[number] = self._method.holding(into, shard.stop - shard.start)

    def held(self) -> Iterator[NDArray[Any]]:
        """Give what all rows have, some of them at a time."""
        for shard, held in zip(self._shards, self._held, strict=True):
            for start, stop in shard.spans():
                yield held.table.read(start - shard.start, stop - shard.start)

    def rows(self) -> Packed:
        """Return all rows, packed."""
        return np.concatenate([held.packed for held in self._held])

    def close(self) -> None:
        """Let go of what rows have."""
        self._held = []
