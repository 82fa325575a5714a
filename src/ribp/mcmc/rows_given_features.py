"""Rows given the features, wherever they are: pieces of work for a row store, whose table is Z.

Given features and weights rows are independent. `Sweep` updates every row by the moves of its
likelihood (`Likelihood.row_work`) and adds up what features and weights need to know of rows;
`LogTerms` adds up what no such sums can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ribp.blocks import GROUP, Nodes, Tree
from ribp.checks import IntArray
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.first_rows import first_rows
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.row_sweeps import RowPrior
from ribp.model import Tally
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.store import Done, Layout, Order, RowGroup, Work

__all__ = ["LogTerms", "Step", "Sweep", "Swept", "layout", "sweep_rows"]


def layout(n_features: int) -> Layout:
    """Return the table of what rows have: Z."""
    return Layout(-(-n_features // 8), "uint8", n_features)


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
        to_rows = self.to_rows()
        prior = self.steps[0].prior

        def work(group: RowGroup, n_threads: int) -> Done:
            if self.fresh:
                rows = first_rows(group.data, self.parameters, prior, group.law_of_row)
            else:
                rows = unpack_rows(group.table, prior.log_odds.size)
            nodes = to_rows(group.first, group.data, group.law_of_row, rows, n_threads)
            return Done(pack_rows(rows), None, nodes)

        return work

    def to_rows(self) -> Callable[[int, Data, IntArray, Rows, int], Nodes]:
        """Return what is done to rows that are not packed, in place."""
        works = [
            self.likelihood.row_work(self.seed, step.number, self.parameters, step.prior)
            for step in self.steps
        ]
        n_laws = len(self.steps[0].prior.tables)

        def to_rows(
            first: int, data: Data, law_of_row: IntArray, rows: Rows, n_threads: int
        ) -> Nodes:
            def block(at: slice) -> Any:
                given = first + at.start, *data.rows(at), law_of_row[at], rows[at]
                return [work(*given) for work in works][-1]

            tree = Tree.of_blocks(first, first + len(rows), block, n_threads)
            tally = Tally.of(rows, law_of_row, n_laws)
            return [
                (level, index, Swept(tally if at == 0 else tally.zero(), sums))
                for at, (level, index, sums) in enumerate(tree.nodes)
            ]

        return to_rows


@dataclass(frozen=True, eq=False)
class LogTerms(Order):
    """The order to add up `Likelihood.log_terms`."""

    likelihood: Likelihood[Any]
    parameters: Any

    @property
    def changes(self) -> bool:
        """It changes nothing."""
        return False

    def prepared(self) -> Work:
        """Return what is done to a group of rows."""

        def work(group: RowGroup, n_threads: int) -> Done:
            rows = unpack_rows(group.table, len(self.parameters.features))

            def block(at: slice) -> float:
                return self.likelihood.log_terms(group.data.rows(at), rows[at], self.parameters)

            last = group.first + len(rows)
            return Done(None, None, Tree.of_blocks(group.first, last, block, n_threads).nodes)

        return work


def sweep_rows(sweep: Sweep, data: Data, law_of_row: IntArray, rows: Rows) -> tuple[Rows, Swept]:
    """Return new rows of data in memory, and what they add up to."""
    rows, to_rows, tree = rows.copy(), sweep.to_rows(), Tree()
    for first in range(0, len(rows), GROUP):
        at = slice(first, first + GROUP)
        for node in to_rows(first, data.rows(at), law_of_row[at], rows[at], 1):
            tree.add(*node)
    swept: Swept = tree.total(None)
    return rows, swept
