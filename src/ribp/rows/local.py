"""Rows of this process, on some threads: data in memory, or in a file that is read as it is used.

What rows of a file have beside Z goes to a file as well, which has no name and is gone with the
process, however that ends.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.blocks import GROUP, Nodes, Tree, in_order, shares
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.likelihoods.data import ALL_ALIKE, Data
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.moments import MANY, Moments, Totals
from ribp.rows.row_tables import FileTable, MemoryTable, Parts, Table
from ribp.rows.shard import RowStates, Shard, ShardLook, new_states, shared_out
from ribp.rows.source import FileSource, MemorySource, Source
from ribp.rows.store import FirstLook, Layout, Order, Packed, RowMap
from ribp.threads import memory, n_cores


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


def combined_look(
    shape: tuple[int, int],
    seen: Sequence[ShardLook],
    squares: Callable[[bool, FloatArray], list[Nodes]],
) -> FirstLook:
    """Return what shards have seen, together; `squares` asks them for squares around means."""
    all_of_it = ShardLook.together(seen)
    sums: Totals = Tree(all_of_it.totals).total(None)
    nodes = squares(all_of_it.complete, sums.means)
    around = Tree(node for part in nodes for node in part).total(None)
    digest = hashlib.sha256(repr(shape).encode())
    digest.update("".join(all_of_it.digests).encode())
    moments = Moments(sums.number, sums.means, around / np.maximum(sums.number, 1.0))
    return FirstLook(
        shape, all_of_it.complete, all_of_it.not_a_count, moments, all_of_it.low, all_of_it.high,
        digest.hexdigest(),
    )  # fmt: skip


def concatenated(parts: Sequence[Data]) -> Data:
    """Return data of several shards as those of one."""
    if len(parts) == 1:
        return parts[0]
    observed = parts[0].observed
    if not parts[0].complete:
        observed = np.concatenate([part.observed for part in parts])
    own = np.concatenate([part.exposures for part in parts])
    return Data(np.concatenate([part.values for part in parts]), observed, own)


class LocalStore:
    """Data of this process, or of a file that it reads.

    Parameters
    ----------
    source
        The data.
    n_threads
        Of each chain; None for one a core.
    edges
        Where shards begin, if not one has it all: multiples of `GROUP`, beginning with 0.
    scratch
        The folder for what rows of a file have; None for that of temporary files.
    """

    def __init__(
        self,
        source: Source,
        n_threads: int | None = None,
        edges: Sequence[int] = (0,),
        scratch: Path | None = None,
    ) -> None:
        self.shape, self.is_memory = source.shape, not isinstance(source, FileSource)
        self.source, self.scratch = source, scratch
        self._look: FirstLook | None = None
        self._all: Data | None = None
        self.exposures = ALL_ALIKE
        ends = [*edges[1:], source.shape[0]]
        threads = n_cores() if n_threads is None else n_threads
        known = isinstance(source, MemorySource) and source.data.complete
        self.shards = [
            Shard(source, start, stop, known, n_threads=threads)
            for start, stop in zip(edges, ends, strict=True)
        ]
        if isinstance(source, MemorySource):
            self.use_exposures(source.data.exposures)

    def look(self) -> FirstLook:
        """Look at all data, once."""

        def squares(complete: bool, means: FloatArray) -> list[Nodes]:
            self._change(complete=complete)
            return [shard.squares(means) for shard in self.shards]

        if self._look is None:
            self._look = combined_look(self.shape, [shard.look() for shard in self.shards], squares)
        return self._look

    def use_exposures(self, exposures: FloatArray) -> None:
        """Give data with the exposures of their rows from now on."""
        self.exposures, self._all = exposures, None
        self.shards = [
            replace(shard, exposures=exposures[shard.start : shard.stop]) for shard in self.shards
        ]

    def use_units(self, likelihood: Likelihood[Any]) -> None:
        """Give data in the standard units of a likelihood from now on.

        Data in memory are brought to them once, unless rows are so many that nobody makes a second
        array of doubles.
        """
        self._all = None
        if isinstance(self.source, MemorySource) and self.shape[0] <= MANY:
            self._change(source=MemorySource(likelihood.standard(self.source.data)))
        else:
            self._change(standard=likelihood.standard)

    def share(self, n_jobs: int, n_chains: int) -> int:
        """Return how many chains may run at once: one, if rows are read from a file."""
        at_once = min(n_jobs, n_chains) if self.is_memory else 1
        self._change(n_threads=max(1, n_jobs // at_once))
        return at_once

    @property
    def n_threads(self) -> int:
        """Of each chain."""
        return self.shards[0].n_threads

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        return concatenated([shard.take(at) for shard in self.shards])

    def mapped(self, work: RowMap, law_of_row: IntArray) -> Iterator[NDArray[Any]]:
        """Yield what `work` makes of the data and laws of some rows at a time, on all threads."""

        def group(shard: Shard, start: int, stop: int) -> NDArray[Any]:
            return work(shard.data(start, stop), law_of_row[start:stop])

        spans = [
            (s, *span) for s in self.shards for span in shares(s.start, s.stop, self.n_threads)
        ]
        return in_order(group, self.n_threads, *zip(*spans, strict=True))

    def in_memory(self, method: str) -> Data:
        """Return all data, unless they are in a file and too large."""
        size, most = self.shape[0] * self.shape[1] * 8, memory()
        if not self.is_memory and 2 * size > most:
            raise InputError(
                "X",
                f'must fit into memory twice with method="{method}"',
                f"{size / 1e9:.3g} GB, and this machine has {most / 1e9:.3g} GB",
                'Use method="gibbs-rows", "structured", "stochastic" or "hybrid".',
            )
        if self._all is None:
            self._all = concatenated([shard.data(shard.start, shard.stop) for shard in self.shards])
        return self._all

    def rows(self, layout: Layout, law_of_row: IntArray) -> LocalRows:
        """Return the rows of a chain, which have nothing yet."""
        return LocalRows(self, layout, law_of_row)

    def close(self) -> None:
        """Do nothing: tables go with their chains."""

    def _change(self, **fields: Any) -> None:
        self.shards = [replace(shard, **fields) for shard in self.shards]


def in_memory(data: Data, n_threads: int = 1) -> LocalStore:
    """Return the store of data in memory."""
    return LocalStore(MemorySource(data), n_threads)


class LocalRows:
    """What the rows of one chain have, in this process or in a file."""

    def __init__(self, store: LocalStore, layout: Layout, law_of_row: IntArray) -> None:
        self.store, self.layout, self.shape = store, layout, store.shape
        self._laws = [law_of_row[shard.start : shard.stop] for shard in store.shards]
        self._states = [self._new_states(self._table(s.stop - s.start)) for s in store.shards]
        self.begun = False

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows, in standard units."""
        return self.store.take(at)

    def do(self, order: Order) -> Any:
        """Do a piece of work to every row, and return the sum over all of them."""
        self.begun, tree = self.begun or order.changes, Tree()
        after = [states.following(order.changes) for states in self._states]
        parts = zip(self.store.shards, self._laws, self._states, after, strict=True)
        groups = [one for shard, laws, old, new in parts for one in shard.groups(laws, old, new)]
        across, within = shared_out(self.store.n_threads, len(groups))
        for nodes in in_order(order.prepared(), across, groups, [within] * len(groups)):
            for node in nodes:
                tree.add(*node)
        self._states = after
        return tree.total(None)

    def load(self, table: Parts) -> None:
        """Put back what rows have."""
        self.begun = True
        for number, shard in enumerate(self.store.shards):
            into = self._states[number].table.following()
            for start, stop in shard.spans():
                into.write(start - shard.start, table[start:stop])
            self._states[number] = self._new_states(into)

    def parts(self) -> Iterator[NDArray[Any]]:
        """Yield what all rows have, some of them at a time."""
        for shard, states in zip(self.store.shards, self._states, strict=True):
            for start, stop in shard.spans():
                yield states.table.read(start - shard.start, stop - shard.start)

    def packed(self) -> Packed:
        """Return Z of all rows."""
        return np.concatenate([states.packed for states in self._states])

    def _table(self, n_rows: int) -> Table:
        shape = n_rows, self.layout.width
        if self.layout.dtype == "float64" and not self.store.is_memory:
            return FileTable(self.store.scratch or Path(tempfile.gettempdir()), shape)
        return MemoryTable(np.zeros(shape, self.layout.dtype))

    def _new_states(self, table: Table) -> RowStates:
        return new_states(self.layout, table)
