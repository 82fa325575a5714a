"""Shards on a Dask cluster: many machines, or many processes of one.

Every shard is a chain of tasks, each a pure function of the one before:

    data -> rows_0 -> rows_1 -> rows_2 -> ...        rows_k = sweep(data, rows_{k-1}, order_k),

and next to it the sums of each sweep, which the driver adds up. All random numbers belong to
(seed, sweep, row), so a task that is run again gives the same bits. That is what happens when a
worker dies: Dask knows the tasks that led to what was lost, and runs them on another worker. Every
so many sweeps the driver takes in what rows have (Z, or q of each row) and hands it out again, so
that these chains of tasks stay short.

A worker has one shard, and works on it with all of its threads. The driver sends a sweep's order to
every shard, or, if there are many, to one of them, and workers pass it on among themselves; every
shard sends back a handful of sums. Data never move, unless a worker dies.

A message that follows another within ten milliseconds is held back by Dask until then. So what a
sweep needs is asked for first, and what is no longer needed is let go of after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.likelihoods.base import Data
from ribp.likelihoods.blocks import Tree
from ribp.mcmc.gibbs_rows import Order
from ribp.model import Model
from ribp.scale.cluster import PATIENCE, connect, distributed, n_workers, ready, versions
from ribp.scale.in_process import Survey, spans, surveyed
from ribp.scale.row_methods import Held, RowMethod, row_method
from ribp.scale.shard import Found, Nodes, Packed, Shard, as_block, as_they_are
from ribp.scale.source import ArraySource, Source
from ribp.scale.tables import MemoryTable, Parts

__all__ = ["DaskKeeper"]

_FEW = 8  # shards, to each of which the driver sends its order
_RENEW = 50  # sweeps after which rows are taken in and handed out again


# What workers do


def _shard(data: Any, span: tuple[int, int], whole: bool = False, likelihood: Any = None) -> Shard:
    """Return a shard of a source, or of an array that holds just its rows."""
    options = {
        "whole": whole,
        "standard": as_they_are if likelihood is None else likelihood.standard,
        "n_threads": distributed().get_worker().state.nthreads,
    }
    if isinstance(data, np.ndarray):
        return Shard(ArraySource(data), *span, at=span[0], **options)
    return Shard(data, *span, **options)


def _look(expected: dict[str, str], data: Any, span: tuple[int, int]) -> Found:
    ready(expected)
    return _shard(data, span).look()


def _squares(data: Any, span: tuple[int, int], whole: bool, means: FloatArray) -> Nodes:
    return _shard(data, span, whole).squares(means)


def _take(data: Any, span: tuple[int, int], at: IntArray) -> Any:
    return _shard(data, span).take(at)


def _fill(
    expected: dict[str, str],
    data: Any,
    span: tuple[int, int],
    whole: bool,
    likelihood: Any,
    which: IntArray,
    order: Order,
) -> tuple[Held, Nodes]:
    ready(expected)
    packed = _shard(data, span, whole, likelihood).fill(order, which)
    return Held(MemoryTable(packed), packed), []


def _sweep(
    expected: dict[str, str],
    data: Any,
    span: tuple[int, int],
    whole: bool,
    likelihood: Any,
    which: IntArray,
    method: RowMethod,
    before: tuple[Held, Nodes],
    order: Any,
) -> tuple[Held, Nodes]:
    ready(expected)
    return method.sweep(_shard(data, span, whole, likelihood), order, which, before[0])


def _log_terms(
    data: Any,
    span: tuple[int, int],
    whole: bool,
    likelihood: Any,
    rows: tuple[Held, Nodes],
    parameters: Any,
) -> Nodes:
    shard = _shard(data, span, whole, likelihood)
    return shard.log_terms(parameters, likelihood, rows[0].packed)


def _nodes(rows: tuple[Held, Nodes]) -> Nodes:
    return rows[1]


def _packed(rows: tuple[Held, Nodes]) -> Packed:
    return rows[0].packed


def _table(rows: tuple[Held, Nodes], n_rows: int) -> NDArray[Any]:
    return rows[0].table.read(0, n_rows)


def _same(value: Any) -> Any:
    return value


def _empty(method: RowMethod, n_rows: int) -> tuple[Held, Nodes]:
    return _loaded(method, np.zeros((n_rows, method.width), method.dtype))


def _loaded(method: RowMethod, table: NDArray[Any]) -> tuple[Held, Nodes]:
    return method.holding(MemoryTable(table), len(table)), []


# What the driver does


def _large_graphs() -> Any:
    """Return a context in which rows may be handed out: Dask warns of more than 10 MB."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


class DaskKeeper:
    """Data and rows on a Dask cluster, as a driver sees them.

    Parameters
    ----------
    client
        Of the cluster.
    shape
        Rows and dims.
    place
        Makes the data of each of some ranges of rows: futures, or sources that workers can read.
    n_shards
        None for one a worker, on all of its threads.
    own
        Whether to close the client in the end.
    """

    def __init__(
        self,
        client: Any,
        shape: tuple[int, int],
        place: Callable[[list[tuple[int, int]]], Sequence[Any]],
        *,
        n_shards: int | None = None,
        own: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        self.client, self.shape, self._own = client, shape, own
        found = n_workers(client, patience)
        self._versions = versions()
        self._spans = spans(shape[0], n_shards or found)
        self._data = list(place(self._spans))
        self._whole, self.width = False, 0
        self._standard: Callable[[Data], Data] = as_they_are
        self._likelihood: Any = None
        self._rows: list[Any] = []
        self._asked: list[Any] = []
        self._since = 0

    @classmethod
    def of_array(cls, X: Any, client: Any = None, **options: Any) -> DaskKeeper:
        """Return the keeper of a Dask array: on a client given, the current one, or our own."""
        own = client is None
        if client is None:
            try:
                client, own = distributed().get_client(), False
            except ValueError:
                client = connect()
        if X.ndim != 2 or any(not isinstance(n, int) or n == 0 for n in X.shape):
            raise InputError(
                "X",
                "must be a matrix with at least one row and one column, of known size",
                f"shape {X.shape}",
                "Call X.compute_chunk_sizes() where Dask does not know it.",
            )
        if X.dtype.kind not in "biuf":
            raise InputError("X", "must hold real numbers", X.dtype, "Convert it first.")

        def place(ranges: list[tuple[int, int]]) -> Sequence[Any]:
            sizes = tuple(stop - start for start, stop in ranges)
            parts = X.astype(np.float64).rechunk({0: sizes, 1: X.shape[1]}).to_delayed()
            placed: Sequence[Any] = client.compute([part[0] for part in parts])
            return placed

        return cls(client, X.shape, place, own=own, **options)

    @classmethod
    def of_source(cls, source: Source, client: Any, **options: Any) -> DaskKeeper:
        """Return the keeper of a source that all workers can read, such as a shared file."""
        return cls(client, source.shape, lambda ranges: [source] * len(ranges), **options)

    def close(self) -> None:
        """Let go of data and rows, and of a cluster that is ours."""
        self._data, self._rows, self._asked = [], [], []
        if self._own:
            cluster = self.client.cluster
            self.client.close()
            if cluster is not None:
                cluster.close()

    # A first look

    def survey(self) -> Survey:
        """Look at all data once."""
        found = self._ask(_look, lambda at: (self._versions, self._data[at], self._spans[at]))

        def squares(whole: bool, means: FloatArray) -> list[Nodes]:
            self._whole = whole
            return self._ask(_squares, lambda at: (self._data[at], self._spans[at], whole, means))

        return surveyed(self.shape, found, squares)

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        parts = self._ask(_take, lambda n: (self._data[n], self._spans[n], at))
        return self._standard(as_block(np.concatenate(parts), self._whole))

    def use_units(self, likelihood: Any) -> None:
        """Give data in the standard units of a likelihood from now on."""
        self._standard, self._likelihood = likelihood.standard, self._everywhere(likelihood)

    # Rows

    def begin(self, model: Model, method: str = "gibbs-rows") -> None:
        """Get ready for a model."""
        self.use_units(model.likelihood)
        index, chosen = model.counts.index, row_method(method, model)
        self._method, self.width = self._everywhere(chosen), chosen.width
        self._which = [self._everywhere(index[start:stop]) for start, stop in self._spans]
        self._rows = [
            self._submit(_empty, self._method, stop - start) for start, stop in self._spans
        ]
        self._since = 0

    def load(self, table: Parts) -> None:
        """Put back what rows have."""
        with _large_graphs():
            self._rows = [
                self._submit(_loaded, self._method, table[start:stop])
                for start, stop in self._spans
            ]
        self._since = 0

    def held(self) -> Iterator[NDArray[Any]]:
        """Give what all rows have, a shard at a time."""
        for rows, (start, stop) in zip(self._rows, self._spans, strict=True):
            found: NDArray[Any] = self._submit(_table, rows, stop - start).result()
            yield found

    def rows(self) -> Packed:
        """Return all rows, packed."""
        parts = self._ask(_packed, lambda at: (self._rows[at],))
        packed: Packed = np.concatenate(parts)
        return packed

    def _renew(self) -> None:
        """Take in what rows have, and hand it out again."""
        with _large_graphs():
            for at, part in enumerate(self.held()):
                self._rows[at] = self._submit(_loaded, self._method, part)
        self._since = 0

    def fill(self, order: Order) -> None:
        """Give every row features that suit it, to begin with."""
        sent = self._sent(order)
        self._rows = [
            self._submit(_fill, *self._given(at), self._which[at], sent)
            for at in range(len(self._spans))
        ]
        self._since = 0

    def sweep(self, order: Any) -> Any:
        """Do what an order says to every row, and return their sums."""
        if self._since >= _RENEW:
            self._renew()
        sent = self._sent(order)
        self._rows = [
            self._submit(_sweep, *self._given(at), self._which[at], self._method, rows, sent)
            for at, rows in enumerate(self._rows)
        ]
        self._since += 1
        tree = Tree()
        for nodes in self._ask(_nodes, lambda at: (self._rows[at],)):
            for node in nodes:
                tree.add(*node)
        return tree.total(None)

    def log_terms(self, parameters: Any) -> float:
        """Return the sum of `Likelihood.log_terms` over all rows."""
        sent = self._sent(parameters)
        nodes = self._ask(
            _log_terms,
            lambda at: (*self._given(at)[1:], self._rows[at], sent),
        )
        return float(Tree(node for part in nodes for node in part).total(0.0))

    # Parts

    def _given(self, at: int) -> tuple[Any, ...]:
        return self._versions, self._data[at], self._spans[at], self._whole, self._likelihood

    def _submit(self, work: Callable[..., Any], *given: Any) -> Any:
        return self.client.submit(work, *given, pure=False)

    def _everywhere(self, value: Any) -> Any:
        """Return something that workers fetch from one another; Dask can make it again."""
        return self._submit(_same, value)

    def _sent(self, value: Any) -> Any:
        """Return something for all shards: itself, or from worker to worker if there are many."""
        return value if len(self._spans) <= _FEW else self._everywhere(value)

    def _ask(self, work: Callable[..., Any], given: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Return what all shards answer."""
        self._asked = [self._submit(work, *given(at)) for at in range(len(self._spans))]
        answers: list[Any] = self.client.gather(self._asked)
        return answers
