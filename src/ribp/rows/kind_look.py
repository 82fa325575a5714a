"""A first look at the columns of a table of kinds, wherever its rows are.

Number, mean and variance of what each kind wants to know of its entries (of positive numbers their
logarithms, of counts the rates at exposure one), and how many have each level; added up block by
block, so that the answer is the same in memory, in a file and on a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ribp.blocks import Nodes, Tree
from ribp.checks import FloatArray, cell_place
from ribp.errors import InputError
from ribp.kinds.kind import ColumnLook, Kind
from ribp.likelihoods.data import Data, shown
from ribp.likelihoods.kind_columns import Column
from ribp.rows.store import Layout, Order, RowGroup, RowStore, Work

_IMPOSSIBLE, _NUMBER, _SUM, _LEVELS = 0, 1, 2, 3  # places of sums; frequencies from the last on
_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class ColumnSums(Order):
    """The order to add up what entries say: sums, or squares around means if these are known."""

    kinds: tuple[Kind, ...]
    means: FloatArray | None = None

    @property
    def changes(self) -> bool:
        """It changes nothing."""
        return False

    def prepared(self) -> Work:
        """Return what is done to a group of rows."""

        def work(group: RowGroup, n_threads: int) -> Nodes:
            data = group.data()
            stop = group.first + len(data.values)
            return Tree.of_blocks(
                group.first, stop, lambda at: self.sums(data.rows(at)), n_threads
            ).nodes

        return work

    def sums(self, data: Data) -> FloatArray:
        """Return sums over a block of rows, shape (columns, 3 + most levels)."""
        most = max(len(kind.levels) for kind in self.kinds)
        found, seen = np.zeros((len(self.kinds), _LEVELS + most)), shown(data)
        for d, kind in enumerate(self.kinds):
            values = data.values[seen[:, d], d]
            right = values[kind.possible(values)]
            found[d, _IMPOSSIBLE], found[d, _NUMBER] = values.size - right.size, right.size
            looked = kind.looked_at(right)
            if kind.has_rate and data.exposures.size:
                looked = looked / data.exposures[seen[:, d]][kind.possible(values)]
            if self.means is not None:
                found[d, _SUM] = ((looked - self.means[d]) ** 2).sum()
                continue
            found[d, _SUM] = looked.sum()
            if kind.levels:
                levels = np.bincount(right.astype(np.int64), minlength=len(kind.levels))
                found[d, _LEVELS : _LEVELS + levels.size] = levels
        return found


def looked_columns(
    store: RowStore,
    kinds: Sequence[Kind],
    dim_names: Sequence[Any] | None = None,
    row_names: Sequence[str] | None = None,
) -> tuple[Column, ...]:
    """Return each column with its prior, or raise an `InputError` if an entry cannot be."""
    if len(kinds) != store.shape[1]:
        raise InputError(
            "likelihood",
            f"must give the {store.shape[1]} columns of X a kind",
            f"{len(kinds)} kinds",
            "Name every column, or leave some to auto.",
        )
    store.look()
    rows = store.rows(Layout(1, "uint8", 1), np.zeros(store.shape[0], np.int64))
    first = rows.do(ColumnSums(tuple(kinds)))
    wrong = np.flatnonzero(first[:, _IMPOSSIBLE])
    if wrong.size:
        raise _impossible(store, int(wrong[0]), kinds[int(wrong[0])], dim_names, row_names)
    number = first[:, _NUMBER]
    means = first[:, _SUM] / np.maximum(number, 1.0)
    squares = rows.do(ColumnSums(tuple(kinds), means))[:, _SUM] / np.maximum(number, 1.0)
    return tuple(
        Column.of(
            kind,
            ColumnLook(
                float(number[d]),
                float(means[d]),
                float(squares[d]),
                first[d, _LEVELS : _LEVELS + len(kind.levels)],
            ),
        )
        for d, kind in enumerate(kinds)
    )


def _impossible(
    store: RowStore,
    column: int,
    kind: Kind,
    dim_names: Sequence[Any] | None,
    row_names: Sequence[str] | None,
) -> InputError:
    """Return the error for the first entry of a column that cannot be of its kind."""
    found = ""
    for start in range(0, store.shape[0], _ROWS):
        data = store.take(np.arange(start, min(start + _ROWS, store.shape[0])))
        values, seen = data.values[:, column], shown(data)[:, column]
        wrong = np.flatnonzero(seen & ~kind.possible(values))
        if wrong.size and not found:
            names = None if dim_names is None else [str(name) for name in dim_names]
            place = cell_place(start + int(wrong[0]), column, row_names, names)
            found = f"{values[wrong[0]]:g} in {place}"
    return InputError(
        "X",
        f"must hold {kind.rule} where a column is {kind.name}",
        found,
        "Correct the entry, leave it empty, or choose another kind.",
    )
