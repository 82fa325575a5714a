"""A shard: some blocks of rows, and all that is done to them. It knows nothing of who calls it.

Data are read a group of blocks at a time, used and dropped; shards begin with a group. What stays
is Z, eight entries to a byte, and what a method needs beside it (`ribp.scale.row_methods`).
Answers are nodes of the tree of `ribp.likelihoods.blocks`, so that it does not matter which shard
has which blocks. A block is dealt with by one thread, in the same way wherever it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import (
    LARGEST,
    TOO_LARGE,
    FloatArray,
    IntArray,
    cell_place,
    first_too_large,
)
from ribp.draws import pack_rows, unpack_rows
from ribp.errors import InputError, StorageError
from ribp.likelihoods.base import Data, Likelihood, complete
from ribp.likelihoods.blocks import BLOCK, Tree, in_order
from ribp.likelihoods.first_rows import first_rows
from ribp.likelihoods.moments import squares, totals
from ribp.likelihoods.poisson import MOST_COUNT
from ribp.mcmc.gibbs_rows import Order, Swept
from ribp.model import Tally
from ribp.scale.source import Source
from ribp.variational.structured_rows import GROUP

__all__ = ["GROUP", "Found", "Nodes", "Packed", "Shard", "as_block", "as_they_are"]

Nodes = list[tuple[int, int, Any]]
Packed = NDArray[np.uint8]


class Found(NamedTuple):
    """What a first look at data finds."""

    complete: bool
    """Whether nothing is missing."""
    counts: bool
    """Whether all that was seen are whole numbers from 0 to 2**53."""
    digests: list[str]
    """Fingerprints of groups of rows."""
    totals: Nodes
    """Number and sum of the entries seen in each column."""


def as_block(values: FloatArray, whole: bool) -> Data:
    """Return data of a block; `whole` if nothing is missing in any block of the run."""
    if whole:
        return complete(values)
    observed = ~np.isnan(values)
    return Data(np.where(observed, values, 0.0), observed)


def as_they_are(data: Data) -> Data:
    """Return data in the units of the user."""
    return data


class Shard:
    """Rows start .. stop - 1 of a source.

    Parameters
    ----------
    source
        Where data come from; its row 0 is row `at` of the run.
    start, stop
        Rows of the run; `start` is a multiple of `GROUP`.
    whole
        Whether nothing is missing in any row of the run.
    at
        The row of the run with which the source begins.
    standard
        Brings data to standard units.
    n_threads
        The answers do not depend on it.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        stop: int,
        *,
        whole: bool = False,
        at: int = 0,
        standard: Callable[[Data], Data] = as_they_are,
        n_threads: int = 1,
    ) -> None:
        self.source, self.start, self.stop, self.at = source, start, stop, at
        self.whole, self.standard, self.n_threads = whole, standard, n_threads

    # A first look

    def look(self) -> Found:
        """Read everything once: what is missing, what cannot be, what it adds up to."""
        parts = self.groups(self._look)
        tree = Tree(node for part in parts for node in part.totals)
        return Found(
            all(part.complete for part in parts),
            all(part.counts for part in parts),
            [digest for part in parts for digest in part.digests],
            tree.nodes,
        )

    def _look(self, start: int, stop: int) -> Found:
        values = self._read(start, stop)
        wrong = first_too_large(values)
        if wrong:
            place = f"{values[wrong]} in {cell_place(start + wrong[0], wrong[1])}"
            rule = f"finite, and at most {LARGEST:g} in size, where it is observed"
            if self.source.name == "X":
                raise InputError("X", f"must be {rule}", place, TOO_LARGE)
            raise StorageError(self.source.name, f"has {place}, but must be {rule}", TOO_LARGE)
        seen = ~np.isnan(values)
        whole = (values >= 0) & (values <= MOST_COUNT) & (values == np.floor(values))
        counts = bool((whole | ~seen).all())
        data = as_block(values, bool(seen.all()))
        digest = hashlib.sha256(values.data).hexdigest()
        nodes = [
            (0, (start + at) // BLOCK, totals(data.rows(slice(at, at + BLOCK))))
            for at in range(0, stop - start, BLOCK)
        ]
        return Found(bool(seen.all()), counts, [digest], Tree(nodes).nodes)

    def squares(self, means: FloatArray) -> Nodes:
        """Return sums of squares around the means of the columns."""
        return self._summed(lambda first, data: squares(data, means))

    def take(self, at: IntArray) -> FloatArray:
        """Return the data of those of these rows that are here, NaN where missing."""
        here = at[(at >= self.start) & (at < self.stop)]
        return self.source.take(here - self.at)

    # Rows

    def empty(self, n_features: int) -> Packed:
        """Return rows without features, packed."""
        return np.zeros((self.stop - self.start, -(-n_features // 8)), np.uint8)

    def fill(self, order: Order, which: IntArray) -> Packed:
        """Return rows that suit the data, to begin with."""
        packed = self.empty(order.prior.log_odds.size)

        def work(first: int, data: Data) -> None:
            at = self._at(first, data)
            packed[at] = pack_rows(first_rows(data, order.parameters, order.prior, which[at]))

        self._blocks(work)
        return packed

    def sweep(
        self, order: Order, likelihood: Likelihood[Any], which: IntArray, packed: Packed
    ) -> tuple[Packed, Nodes]:
        """Return new rows and their sums."""
        block_work = likelihood.row_work(*order)
        n_laws, size = order.prior.tables.shape
        new = packed.copy()

        def work(first: int, data: Data) -> Swept:
            at = self._at(first, data)
            rows = unpack_rows(packed[at], size - 1)
            sums = block_work(first, *data, which[at], rows)
            new[at] = pack_rows(rows)
            return Swept(Tally.of(rows, which[at], n_laws), sums)

        nodes = self._summed(work)
        return new, nodes

    def log_terms(self, parameters: Any, likelihood: Likelihood[Any], packed: Packed) -> Nodes:
        """Return sums of `Likelihood.log_terms`."""
        size = len(parameters.features)

        def work(first: int, data: Data) -> float:
            rows = unpack_rows(packed[self._at(first, data)], size)
            return likelihood.log_terms(data, rows, parameters)

        return self._summed(work)

    # Parts

    def data(self, start: int, stop: int) -> Data:
        """Return the data of some rows in standard units, once those are known.

        They last until this thread reads again.
        """
        return self.standard(as_block(self._read(start, stop), self.whole))

    def _read(self, start: int, stop: int) -> FloatArray:
        return self.source.read(start - self.at, stop - self.at)

    def _at(self, first: int, data: Data) -> slice:
        """Return the place of a block in the arrays of this shard."""
        return slice(first - self.start, first - self.start + len(data.values))

    def spans(self) -> list[tuple[int, int]]:
        """Return where groups begin and end."""
        return [(at, min(at + GROUP, self.stop)) for at in range(self.start, self.stop, GROUP)]

    def groups(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Return what is made of each group of blocks."""
        return list(in_order(lambda span: work(*span), self.spans(), self.n_threads))

    def _blocks(self, work: Callable[[int, Data], Any]) -> list[Nodes]:
        """Return what is made of the blocks of each group, added up there."""

        def group(start: int, stop: int) -> Nodes:
            data, tree = self.data(start, stop), Tree()
            for at in range(start, stop, BLOCK):
                made = work(at, data.rows(slice(at - start, at - start + BLOCK)))
                if made is not None:
                    tree.add(0, at // BLOCK, made)
            return tree.nodes

        return self.groups(group)

    def _summed(self, work: Callable[[int, Data], Any]) -> Nodes:
        tree = Tree()
        for nodes in self._blocks(work):
            for node in nodes:
                tree.add(*node)
        return tree.nodes
