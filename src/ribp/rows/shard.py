"""A shard: some groups of rows, and what is done to them. It knows nothing of who calls it.

Data are read a group at a time, used and dropped; shards begin with a group. Answers are nodes of
the tree of `ribp.blocks`, so that it does not matter which shard has which groups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ribp.blocks import GROUP, Nodes, Tree, in_order, sum_nodes
from ribp.checks import (
    LARGEST,
    TOO_LARGE,
    FloatArray,
    IntArray,
    cell_place,
    first_not_count,
    first_too_large,
)
from ribp.errors import InputError, StorageError
from ribp.likelihoods.data import ALL_ALIKE, Data, complete
from ribp.likelihoods.moments import squares, totals
from ribp.rows.row_tables import MemoryTable, Table
from ribp.rows.source import At, Source
from ribp.rows.store import Layout, NotACount, Packed

T = TypeVar("T")


class ShardLook(NamedTuple):
    """What a first look at a shard finds."""

    complete: bool
    not_a_count: NotACount | None
    digests: list[str]
    """Fingerprints of groups of rows."""
    totals: Nodes
    """Number and sum of the entries seen in each column."""
    low: FloatArray
    """The smallest entry seen in each column."""
    high: FloatArray

    @classmethod
    def together(cls, parts: Sequence[ShardLook]) -> ShardLook:
        """Return what was seen in several ranges of rows."""
        return cls(
            all(part.complete for part in parts),
            next((part.not_a_count for part in parts if part.not_a_count), None),
            [digest for part in parts for digest in part.digests],
            sum_nodes(part.totals for part in parts),
            np.minimum.reduce([part.low for part in parts]),
            np.maximum.reduce([part.high for part in parts]),
        )


class RowStates(NamedTuple):
    """What the rows of a shard have."""

    table: Table
    z: Packed | None
    """Z, drawn from what the table says; None where the table is Z."""

    @property
    def packed(self) -> Packed:
        """Z of all rows."""
        if self.z is not None:
            return self.z
        assert isinstance(self.table, MemoryTable)
        return self.table.array

    def following(self, changes: bool) -> RowStates:
        """Return where to write what rows have next; the same table if that does not change."""
        table = self.table.following() if changes else self.table
        return RowStates(table, None if self.z is None else self.z.copy())


def new_states(layout: Layout, table: Table) -> RowStates:
    """Return what rows have whose table is known; if that is not Z, Z is yet to be drawn."""
    if layout.dtype == "uint8":
        return RowStates(table, None)
    return RowStates(table, np.zeros((table.n_rows, -(-layout.n_features // 8)), np.uint8))


def user_units(data: Data) -> Data:
    """Return data in the units of the user."""
    return data


@dataclass(frozen=True)
class Shard:
    """Rows start .. stop - 1 of a run.

    Parameters
    ----------
    source
        Where data come from; its row 0 is row `at` of the run.
    start, stop
        Rows of the run; `start` is a multiple of `GROUP`.
    complete
        Whether nothing is missing in any row of the run.
    at
        The row of the run with which the source begins.
    standard
        Brings data to standard units.
    n_threads
        The answers do not depend on it.
    exposures
        Of these rows, shape (stop - start,); (0,) if they have none.
    """

    source: Source
    start: int
    stop: int
    complete: bool = False
    at: int = 0
    standard: Callable[[Data], Data] = user_units
    n_threads: int = 1
    exposures: FloatArray = field(default_factory=lambda: ALL_ALIKE)

    # A first look

    def look(self) -> ShardLook:
        """Read everything once: what is missing, what cannot be, what it adds up to."""
        return ShardLook.together(self._of_groups(self._look))

    def _look(self, start: int, stop: int) -> ShardLook:
        values, observed, _ = self.source.read(slice(start - self.at, stop - self.at), False)
        wrong = first_too_large(values)
        if wrong:
            place = f"{values[wrong]} in {cell_place(start + wrong[0], wrong[1])}"
            rule = f"finite, and at most {LARGEST:g} in size, where it is observed"
            if self.source.name == "X":
                raise InputError("X", f"must be {rule}", place, TOO_LARGE)
            raise StorageError(self.source.name, f"has {place}, but must be {rule}", TOO_LARGE)
        data = complete(values) if observed.all() else Data(values, observed)
        digest = hashlib.sha256(np.ascontiguousarray(values).data)
        digest.update(np.ascontiguousarray(data.observed).data)
        nodes = Tree.of_blocks(start, stop, lambda at: totals(data.rows(at))).nodes
        seen = True if data.complete else observed
        low, high = (
            end(values, axis=0, where=seen, initial=sign * np.inf)
            for end, sign in ((np.min, 1.0), (np.max, -1.0))
        )
        wrong_count = not_a_count(values, start)
        return ShardLook(data.complete, wrong_count, [digest.hexdigest()], nodes, low, high)

    def squares(self, means: FloatArray) -> Nodes:
        """Return sums of squares around the means of the columns."""

        def group(start: int, stop: int) -> Nodes:
            data = self.data(start, stop)
            return Tree.of_blocks(start, stop, lambda at: squares(data.rows(at), means)).nodes

        return sum_nodes(self._of_groups(group))

    def take(self, at: IntArray) -> Data:
        """Return the data of those of these rows that are here, in standard units."""
        here = at[(at >= self.start) & (at < self.stop)]
        return self._exposed(self.source.read(here - self.at, self.complete), here - self.start)

    # Work

    def data(self, start: int, stop: int) -> Data:
        """Return the data of some rows in standard units; they last until this thread reads again.

        Those of the user, as long as no others are known.
        """
        data = self.source.read(slice(start - self.at, stop - self.at), self.complete)
        return self._exposed(data, slice(start - self.start, stop - self.start))

    def _exposed(self, data: Data, at: At) -> Data:
        """Return data of the user in standard units, with the exposures of their rows."""
        data = self.standard(data)
        return data._replace(exposures=self.exposures[at]) if self.exposures.size else data

    def groups(self, law_of_row: IntArray, before: RowStates, after: RowStates) -> list[ShardGroup]:
        """Return the groups of this shard, for a piece of work between two states of its rows."""
        return [ShardGroup(self, law_of_row, before, after, *span) for span in self.spans()]

    def spans(self) -> list[tuple[int, int]]:
        """Return where groups begin and end."""
        return [(at, min(at + GROUP, self.stop)) for at in range(self.start, self.stop, GROUP)]

    def _of_groups(self, work: Callable[[int, int], T]) -> list[T]:
        """Return what is made of each group."""
        across, _ = shared_out(self.n_threads, len(self.spans()))
        return list(in_order(work, across, *zip(*self.spans(), strict=True)))


@dataclass(frozen=True, eq=False)
class ShardGroup:
    """Rows start .. stop - 1 of a shard, between two states of what its rows have."""

    shard: Shard
    shard_laws: IntArray
    before: RowStates
    after: RowStates
    start: int
    stop: int

    @property
    def first(self) -> int:
        """The number of the first row."""
        return self.start

    @property
    def law_of_row(self) -> IntArray:
        """Which count law each row has."""
        return self.shard_laws[self._at]

    def data(self) -> Data:
        """Read the data, in standard units."""
        return self.shard.data(self.start, self.stop)

    def table(self) -> NDArray[Any]:
        """Read the rows of the table."""
        return self.before.table.read(self._at.start, self._at.stop)

    def write(self, table: NDArray[Any]) -> None:
        """Replace these rows of the table."""
        self.after.table.write(self._at.start, table)

    def write_z(self, z: Packed) -> None:
        """Store Z."""
        assert self.after.z is not None
        self.after.z[self._at] = z

    @property
    def _at(self) -> slice:
        return slice(self.start - self.shard.start, self.stop - self.shard.start)


def shared_out(n_threads: int, n_groups: int) -> tuple[int, int]:
    """Return how many groups are worked on at once, and by how many threads each."""
    across = n_threads if n_groups >= 4 * n_threads else 1
    return across, n_threads // across


def not_a_count(values: FloatArray, first: int = 0) -> NotACount | None:
    """Return the first entry of some rows that is no count, `first` the number of the first row."""
    at = first_not_count(values)
    return None if at is None else NotACount(first + at[0], at[1], float(values[at]))
