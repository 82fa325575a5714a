"""Shards on a Dask cluster: many machines, or many processes of one.

Every shard is a chain of tasks, each a pure function of the one before:

    data -> rows_0 -> rows_1 -> rows_2 -> ...        rows_k = work(data, rows_{k-1}, order_k),

and next to it the sums of each piece of work, which the driver adds up. All random numbers belong
to (seed, sweep, row), so a task that is run again gives the same bits. That is what happens when a
worker dies: Dask knows the tasks that led to what was lost, and runs them on another worker. Every
so many orders the driver takes in what rows have and hands it out again, so that these chains of
tasks stay short.

A worker has one shard, and works on it with all of its threads. The driver sends an order to every
shard, or, if there are many, to one of them, and workers pass it on among themselves; every shard
sends back a handful of sums. Data never move, unless a worker dies, or a method takes some rows.

A message that follows another within ten milliseconds is held back by Dask until then. So what a
sweep needs is asked for first, and what is no longer needed is let go of after that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.blocks import GROUP, Nodes, Tree, in_order, sum_nodes
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.likelihoods.data import ALL_ALIKE, Data
from ribp.rows.cluster import PATIENCE, connect, distributed, n_workers, ready, versions
from ribp.rows.local import combined_look, concatenated, spans
from ribp.rows.row_tables import MemoryTable, Parts
from ribp.rows.shard import RowStates, Shard, ShardLook, new_states, shared_out, user_units
from ribp.rows.source import ArraySource, Source
from ribp.rows.store import FirstLook, Layout, Order, Packed, RowMap
from ribp.threads import n_cores

_FEW = 8  # shards, to each of which the driver sends its order
_MOST_PARTS = 64  # of a shard, when its rows are mapped
_RENEW = 50  # orders after which rows are taken in and handed out again

Span = tuple[int, int]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "to_delayed")


# What workers do


def _shard(
    data: Any,
    span: Span,
    complete: bool = False,
    likelihood: Any = None,
    exposures: FloatArray = ALL_ALIKE,
) -> Shard:
    """Return a shard of a source, or of an array that holds just its rows."""
    standard = user_units if likelihood is None else likelihood.standard
    n_threads = distributed().get_worker().state.nthreads
    if isinstance(data, np.ndarray):
        return Shard(ArraySource(data), *span, complete, span[0], standard, n_threads, exposures)
    return Shard(data, *span, complete, 0, standard, n_threads, exposures)


def _missing(module: str) -> str | None:
    """Return why a module cannot be imported, None if it can: tasks that need it would hang."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        return str(error)
    return None


def _look(expected: dict[str, str], data: Any, span: Span) -> ShardLook:
    ready(expected)
    return _shard(data, span).look()


def _squares(data: Any, span: Span, complete: bool, means: FloatArray) -> Nodes:
    return _shard(data, span, complete).squares(means)


def _take(
    data: Any, span: Span, complete: bool, likelihood: Any, exposures: FloatArray, at: IntArray
) -> Data:
    return _shard(data, span, complete, likelihood, exposures).take(at)


def _map(
    data: Any,
    span: Span,
    complete: bool,
    exposures: FloatArray,
    rows: Span,
    work: RowMap,
    law_of_row: IntArray,
) -> NDArray[Any]:
    shard, (start, stop) = _shard(data, span, complete, None, exposures), rows
    parts = [slice(at, min(at + GROUP, stop)) for at in range(start, stop, GROUP)]
    return np.concatenate(
        [
            work(shard.data(at.start, at.stop), law_of_row[at.start - start : at.stop - start])
            for at in parts
        ]
    )


def _do(
    expected: dict[str, str],
    data: Any,
    span: Span,
    complete: bool,
    likelihood: Any,
    exposures: FloatArray,
    law_of_row: IntArray,
    before: tuple[RowStates, Nodes],
    order: Order,
) -> tuple[RowStates, Nodes]:
    ready(expected)
    shard = _shard(data, span, complete, likelihood, exposures)
    after = before[0].following(order.changes)
    groups = shard.groups(law_of_row, before[0], after)
    across, within = shared_out(shard.n_threads, len(groups))
    done = in_order(order.prepared(), across, groups, [within] * len(groups))
    return after, sum_nodes(done)


def _nodes(rows: tuple[RowStates, Nodes]) -> Nodes:
    return rows[1]


def _packed(rows: tuple[RowStates, Nodes]) -> Packed:
    return rows[0].packed


def _table(rows: tuple[RowStates, Nodes]) -> NDArray[Any]:
    table = rows[0].table
    return table.read(0, table.n_rows)


def _same(value: Any) -> Any:
    return value


def _empty(layout: Layout, n_rows: int) -> tuple[RowStates, Nodes]:
    return _loaded(layout, np.zeros((n_rows, layout.width), layout.dtype))


def _loaded(layout: Layout, table: NDArray[Any]) -> tuple[RowStates, Nodes]:
    return new_states(layout, MemoryTable(table)), []


# What the driver does


def _parts(span: Span) -> list[Span]:
    """Return the parts of a shard that are asked for one by one, whole groups each."""
    start, stop = span
    size = GROUP * max(1, -(-(stop - start) // (GROUP * _MOST_PARTS)))
    return [(at, min(at + size, stop)) for at in range(start, stop, size)]


def _large_graphs() -> Any:
    """Return a context in which rows may be handed out: Dask warns of more than 10 MB."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


class DaskStore:
    """Data on a Dask cluster, as a driver sees them.

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
        self.spans = spans(shape[0], n_shards or found)
        self._data = list(place(self.spans))
        self._complete = False
        self._likelihood: Any = None
        self._look: FirstLook | None = None
        self._asked: list[Any] = []
        self.exposures = ALL_ALIKE
        self._exposures: list[Any] = [ALL_ALIKE] * len(self.spans)

    is_memory = False

    @classmethod
    def of_array(cls, X: Any, client: Any = None, **options: Any) -> DaskStore:
        """Return the store of a Dask array: on a client given, the current one, or our own."""
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
    def of_source(cls, source: Source, client: Any, **options: Any) -> DaskStore:
        """Return the store of a source that all workers can read, such as a shared file."""
        return cls(client, source.shape, lambda ranges: [source] * len(ranges), **options)

    def close(self) -> None:
        """Let go of the data, and of a cluster that is ours."""
        self._data, self._asked, self._exposures = [], [], []
        if self._own:
            cluster = self.client.cluster
            self.client.close()
            if cluster is not None:
                cluster.close()

    def look(self) -> FirstLook:
        """Look at all data, once."""
        if self._look is None:
            seen = self.ask(_look, lambda at: (self._versions, self._data[at], self.spans[at]))

            def squares(complete: bool, means: FloatArray) -> list[Nodes]:
                self._complete = complete
                return self.ask(
                    _squares, lambda at: (self._data[at], self.spans[at], complete, means)
                )

            self._look = combined_look(self.shape, seen, squares)
        return self._look

    def use_units(self, likelihood: Any) -> None:
        """Give data in the standard units of a likelihood from now on; workers must have it."""
        for worker, problem in self.client.run(_missing, type(likelihood).__module__).items():
            if problem is not None:
                raise InputError(
                    "scheduler",
                    f"must have workers with {type(likelihood).__name__} installed",
                    f"{worker}: {problem}",
                    "Install its package there.",
                )
        self._likelihood = self.everywhere(likelihood)

    def use_exposures(self, exposures: FloatArray) -> None:
        """Give data with the exposures of their rows from now on."""
        self.exposures = exposures
        with _large_graphs():
            self._exposures = [self.everywhere(exposures[start:stop]) for start, stop in self.spans]

    def share(self, n_jobs: int, n_chains: int) -> int:
        """Return how many chains may run at once: one, with all workers."""
        return 1

    @property
    def n_threads(self) -> int:
        """Of this process: workers have their own."""
        return n_cores()

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows."""
        return concatenated(self.ask(_take, lambda n: (*self.given(n)[1:], at)))

    def mapped(self, work: RowMap, law_of_row: IntArray) -> Iterator[NDArray[Any]]:
        """Yield what workers make of parts of their shards; all of them work at once."""
        sent, tasks = self.everywhere(work), {}
        with _large_graphs():
            for turn in zip_longest(*(_parts(span) for span in self.spans)):
                for at, part in enumerate(turn):
                    if part is not None:
                        given = self._data[at], self.spans[at], self._complete, self._exposures[at]
                        tasks[part] = self.submit(
                            _map, *given, part, sent, law_of_row[slice(*part)]
                        )
        for part in sorted(tasks):
            made: NDArray[Any] = tasks.pop(part).result()
            yield made

    def in_memory(self, method: str) -> Data:
        """Raise an `InputError`."""
        raise InputError(
            "X",
            f'must be in memory with method="{method}"',
            "a Dask array",
            'Use method="gibbs-rows", "structured", "stochastic" or "hybrid".',
        )

    def rows(self, layout: Layout, law_of_row: IntArray) -> DaskRows:
        """Return the rows of a chain, which have nothing yet."""
        return DaskRows(self, layout, law_of_row)

    # For rows

    def given(self, at: int) -> tuple[Any, ...]:
        """Return what work on shard `at` is given of the data."""
        return (
            self._versions, self._data[at], self.spans[at], self._complete, self._likelihood,
            self._exposures[at],
        )  # fmt: skip

    def submit(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return the future of some work."""
        return self.client.submit(work, *given, pure=False)

    def everywhere(self, value: Any) -> Any:
        """Return something that workers fetch from one another; Dask can make it again."""
        return self.submit(_same, value)

    def sent(self, value: Any) -> Any:
        """Return something for all shards: itself, or from worker to worker if there are many."""
        return value if len(self.spans) <= _FEW else self.everywhere(value)

    def ask(self, work: Callable[..., Any], given: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Return what all shards answer."""
        self._asked = [self.submit(work, *given(at)) for at in range(len(self.spans))]
        answers: list[Any] = self.client.gather(self._asked)
        return answers


class DaskRows:
    """What the rows of one chain have, on workers."""

    def __init__(self, store: DaskStore, layout: Layout, law_of_row: IntArray) -> None:
        self.store, self.layout, self.shape = store, layout, store.shape
        self._layout = store.everywhere(layout)
        self._laws = [store.everywhere(law_of_row[start:stop]) for start, stop in store.spans]
        self._states = [
            store.submit(_empty, self._layout, stop - start) for start, stop in store.spans
        ]
        self._since, self.begun = 0, False

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows, in standard units."""
        return self.store.take(at)

    def do(self, order: Order) -> Any:
        """Do a piece of work to every row, and return the sum over all of them."""
        if self._since >= _RENEW:
            self._renew()
        self.begun = self.begun or order.changes
        sent, store = self.store.sent(order), self.store
        done = [
            store.submit(_do, *store.given(at), self._laws[at], states, sent)
            for at, states in enumerate(self._states)
        ]
        tree = Tree()
        for nodes in store.ask(_nodes, lambda at: (done[at],)):
            for node in nodes:
                tree.add(*node)
        if order.changes or self.layout.dtype != "uint8":  # or Z may have been drawn
            self._states, self._since = done, self._since + 1
        return tree.total(None)

    def load(self, table: Parts) -> None:
        """Put back what rows have."""
        self.begun = True
        with _large_graphs():
            self._states = [
                self.store.submit(_loaded, self._layout, table[start:stop])
                for start, stop in self.store.spans
            ]
        self._since = 0

    def parts(self) -> Iterator[NDArray[Any]]:
        """Yield what all rows have, a shard at a time."""
        for states in self._states:
            found: NDArray[Any] = self.store.submit(_table, states).result()
            yield found

    def packed(self) -> Packed:
        """Return Z of all rows."""
        packed: Packed = np.concatenate(self.store.ask(_packed, lambda at: (self._states[at],)))
        return packed

    def _renew(self) -> None:
        """Take in what rows have, and hand it out again."""
        with _large_graphs():
            for at, part in enumerate(self.parts()):
                self._states[at] = self.store.submit(_loaded, self._layout, part)
        self._since = 0
