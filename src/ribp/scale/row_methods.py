"""What shards do to their rows, for each method whose rows may be elsewhere.

What rows have is a table (`ribp.scale.tables`), with Z beside it, packed: for `gibbs-rows` both are
the same, for `structured` the table is q(z_n) and Z was drawn from it in the last pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ribp.checks import IntArray
from ribp.draws import pack_rows
from ribp.likelihoods.base import Likelihood, complete
from ribp.likelihoods.blocks import Tree
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.scale.shard import Nodes, Packed, Shard
from ribp.scale.tables import MemoryTable, Table
from ribp.variational import structured_elsewhere
from ribp.variational.structured_rows import GROUP, LEVEL, count_width

__all__ = ["METHODS", "GibbsRows", "Held", "RowMethod", "StructuredRows", "row_method"]


class Held(NamedTuple):
    """What rows of a shard have."""

    table: Table
    packed: Packed
    """Z."""


class RowMethod(Protocol):
    """What a method does to the rows of a shard."""

    @property
    def width(self) -> int:
        """Of the table."""

    @property
    def dtype(self) -> Any:
        """Of the table."""

    def holding(self, table: Table, n_rows: int) -> Held:
        """Return what rows have whose table is known, but not yet their Z."""

    def sweep(self, shard: Shard, order: Any, which: IntArray, held: Held) -> tuple[Held, Nodes]:
        """Return what rows have after an order, and their sums."""


@dataclass(frozen=True)
class GibbsRows:
    """`gibbs-rows`: the table is Z."""

    likelihood: Likelihood[Any]
    n_features: int
    dtype: Any = np.uint8

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return -(-self.n_features // 8)

    def holding(self, table: Table, n_rows: int) -> Held:
        """Return rows with this Z."""
        return Held(table, table.read(0, n_rows))

    def sweep(
        self, shard: Shard, order: gibbs_rows.Order, which: IntArray, held: Held
    ) -> tuple[Held, Nodes]:
        """Return new rows, and their sums."""
        packed, nodes = shard.sweep(order, self.likelihood, which, held.packed)
        return Held(MemoryTable(packed), packed), nodes


@dataclass(frozen=True)
class StructuredRows:
    """`structured`: the table is q(z_n)."""

    n_features: int
    n_counts: int
    dtype: Any = np.float64

    @property
    def width(self) -> int:
        """Numbers of a row: its log-odds and its count terms."""
        return self.n_features + self.n_counts

    def holding(self, table: Table, n_rows: int) -> Held:
        """Return rows with this q; Z is all zero until it is drawn."""
        return Held(table, np.zeros((n_rows, -(-self.n_features // 8)), np.uint8))

    def sweep(
        self, shard: Shard, order: structured_elsewhere.Order, which: IntArray, held: Held
    ) -> tuple[Held, Nodes]:
        """Return q after some passes and a draw of it, and their sums."""
        old, new, packed = held.table, held.table.following(), np.empty_like(held.packed)

        def group(start: int, stop: int) -> structured_elsewhere.Swept:
            at = slice(start - shard.start, stop - shard.start)
            data = shard.data(start, stop) if order.powers else _NOTHING
            moved = structured_elsewhere.work(
                order, start, data, which[at], old.read(at.start, at.stop)
            )
            new.write(at.start, moved.table)
            packed[at] = pack_rows(moved.rows)
            return moved.swept

        first, sums = shard.start // GROUP, shard.groups(group)
        tree = Tree((LEVEL, first + number, swept) for number, swept in enumerate(sums))
        return Held(new, packed), tree.nodes


_NOTHING = complete(np.zeros((0, 0)))
METHODS = ("gibbs-rows", "structured")
"""Methods whose rows may be elsewhere."""


def row_method(method: str, model: Model) -> RowMethod:
    """Return what a method does to the rows of a shard."""
    if method == "structured":
        return StructuredRows(model.n_features, count_width(model))
    return GibbsRows(model.likelihood, model.n_features)
