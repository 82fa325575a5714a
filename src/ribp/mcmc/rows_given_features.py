"""Rows given the features, wherever they are: pieces of work for a row store, whose table is Z.

Given features and weights rows are independent. `Sweep` updates every row by the moves of its
likelihood (`Likelihood.row_work`) and adds up what features and weights need to know of rows;
`Asking` adds up what a question makes of them, for all that no such sums can tell;
`DrawnExposures` draws what is recorded of exposures that are learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.blocks import BLOCK, Nodes, Tree, blocks, in_order
from ribp.checks import IntArray
from ribp.likelihoods import exposures
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.first_rows import first_rows
from ribp.likelihoods.likelihood import Likelihood, Question
from ribp.likelihoods.row_sweeps import RowPrior
from ribp.model import Tally
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.local import LocalRows, in_memory
from ribp.rows.store import ChainRows, Layout, Order, RowGroup, Work

_RECORDED = 2**30  # keys of exposures of recorded draws, apart from those of sweeps


def layout(n_features: int, entries: str = "binary") -> Layout:
    """Return the table of what rows have: Z, or entries with their sizes."""
    if entries == "binary":
        return Layout(-(-n_features // 8), "uint8", n_features)
    return Layout(n_features, "float64", n_features)


def read_rows(table: NDArray[Any], n_features: int) -> Any:
    """Return some rows of a table, shape (rows, features): a copy."""
    return unpack_rows(table, n_features) if table.dtype == np.uint8 else np.array(table)


def write_rows(group: RowGroup, rows: Any) -> None:
    """Replace the rows of a group."""
    packed = pack_rows(rows != 0)
    if rows.dtype == np.int8:
        group.write(packed)
    else:
        group.write(rows)
        group.write_z(packed)


class Step(NamedTuple):
    """One pass over the rows."""

    number: int
    """With the seed and the row the key of its random numbers."""
    prior: RowPrior


class Swept(NamedTuple):
    """All that rows tell after a sweep."""

    tally: Tally
    sums: Any
    """As the likelihood has them, after the last step."""


@dataclass(frozen=True, eq=False)
class Sweep(Order):
    """The order to update every row, some times; its table is Z."""

    likelihood: Likelihood[Any]
    seed: np.uint64
    parameters: Any
    """Features and scales, as the likelihood has them."""
    steps: tuple[Step, ...]
    fresh: bool = False
    """Whether rows begin with features that suit them, not with those that they have."""

    def prepared(self) -> Work:
        """Return what is done to a group of rows."""
        prior = self.steps[0].prior
        moves = [
            self.likelihood.row_work(self.seed, step.number, self.parameters, step.prior)
            for step in self.steps
        ]

        def work(group: RowGroup, n_threads: int) -> Nodes:
            data, law_of_row = group.data(), group.law_of_row
            if self.fresh:
                rows = first_rows(self.likelihood, data, self.parameters, prior, law_of_row)
                rows = rows if self.likelihood.entries == "binary" else rows.astype(np.float64)
            else:
                rows = read_rows(group.table(), prior.log_odds.size)
            at = blocks(0, len(rows))
            pieces = [(group.first + b.start, data.rows(b), law_of_row[b], rows[b]) for b in at]
            for move in moves:
                tree = Tree()
                for number, sums in enumerate(
                    in_order(move, n_threads, *zip(*pieces, strict=True))
                ):
                    tree.add(0, group.first // BLOCK + number, sums)
            write_rows(group, rows)
            law, (n_laws, n_counts) = self.likelihood.entry_law, prior.tables.shape
            tally = Tally.of(rows, law_of_row, n_laws, law, n_counts - 1)
            return [
                (level, index, Swept(tally if at == 0 else tally.zero(), sums))
                for at, (level, index, sums) in enumerate(tree.nodes)
            ]

        return work


@dataclass(frozen=True, eq=False)
class Asking(Order):
    """The order to add up what a question makes of blocks of data and rows."""

    question: Question
    n_features: int

    @property
    def changes(self) -> bool:
        """It changes nothing."""
        return False

    def prepared(self) -> Work:
        """Return what is done to a group of rows."""

        def work(group: RowGroup, n_threads: int) -> Nodes:
            data, rows = group.data(), read_rows(group.table(), self.n_features)

            def block(at: slice) -> Any:
                return self.question(data.rows(at), rows[at])

            return Tree.of_blocks(group.first, group.first + len(rows), block, n_threads).nodes

        return work


@dataclass(frozen=True, eq=False)
class DrawnExposures(Order):
    """The order to draw the exposures of rows: its sum is a list of those of blocks, in order."""

    seed: np.uint64
    number: int
    """With the seed and the row the key of its random numbers, apart from those of sweeps."""
    parameters: Any

    @property
    def changes(self) -> bool:
        """It changes nothing."""
        return False

    def prepared(self) -> Work:
        """Return what is done to a group of rows."""
        features, offset = self.parameters.features, self.parameters.background
        loadings, number = np.ascontiguousarray(features.T), self.number + _RECORDED

        def work(group: RowGroup, n_threads: int) -> Nodes:
            data, rows = group.data(), read_rows(group.table(), len(features))

            def block(at: slice) -> Any:
                first = group.first + at.start
                here = data.rows(at), rows[at], loadings, offset
                return [exposures.drawn(self.seed, number, first, *here)]

            return Tree.of_blocks(group.first, group.first + len(rows), block, n_threads).nodes

        return work


def sweep_rows(sweep: Sweep, data: Data, law_of_row: IntArray, rows: Rows) -> tuple[Rows, Swept]:
    """Return new rows of data in memory, and what they add up to."""
    table = rows_in_memory(data, law_of_row, rows)
    swept: Swept = table.do(sweep)
    return all_rows(table), swept


def rows_in_memory(data: Data, law_of_row: IntArray, rows: Rows) -> LocalRows:
    """Return a table of rows in memory."""
    binary = rows.dtype == np.int8
    shape = layout(rows.shape[1], "binary" if binary else "sizes")
    table = in_memory(data).rows(shape, law_of_row)
    table.load(pack_rows(rows) if binary else rows)
    return table


def all_rows(table: ChainRows) -> Any:
    """Return what all rows have, shape (rows, features)."""
    n_features = table.layout.n_features
    return np.concatenate([read_rows(part, n_features) for part in table.parts()])
