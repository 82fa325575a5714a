"""Rows in blocks of a fixed size, and sums over them that are the same wherever the rows are.

Block j holds the rows j B .. (j+1) B - 1. What blocks say is added by a fixed binary tree: node
(level, index) covers the blocks index 2^level .. (index + 1) 2^level - 1 and is its left half plus
its right half. The nodes that no other one covers are added from left to right,

    total = ((node_1 + node_2) + node_3) + ...,

largest first. Whoever has a range of blocks adds up the nodes that lie in it, O(log blocks) of
them, and somebody else goes on from there: since floating point sees the same additions, the total
is the same, bit for bit, for any number of threads, shards and machines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

BLOCK = 512
"""Rows of a block: what it needs fits the cache of one core."""
LEVEL = 3
GROUP = BLOCK << LEVEL
"""Rows of a group: so many are read at once. Its sum is a node of level 3."""
Nodes = list[tuple[int, int, Any]]
"""Of the tree: level, index, sum."""
_AHEAD = 4  # pieces of work that wait, for each thread: results do not pile up


def blocks(start: int, stop: int) -> list[slice]:
    """Return the blocks of a range of rows that begins with one."""
    return [slice(at, min(at + BLOCK, stop)) for at in range(start, stop, BLOCK)]


def shares(start: int, stop: int, n_threads: int) -> list[tuple[int, int]]:
    """Return ranges of rows for work without sums: groups, or less where rows are few."""
    few = -(-(stop - start) // (_AHEAD * n_threads)) if n_threads > 1 else GROUP
    size = max(1, min(GROUP, few))
    return [(at, min(at + size, stop)) for at in range(start, stop, size)]


def plus(one: Any, other: Any) -> Any:
    """Return the sum of two arrays or numbers, or of NamedTuples of such, by fields."""
    if isinstance(one, tuple):
        return type(one)(*(plus(a, b) for a, b in zip(one, other, strict=True)))
    return one + other


class Tree:
    """A sum on its way: the nodes known so far, none of them the neighbour of another."""

    def __init__(self, nodes: Iterable[tuple[int, int, Any]] = ()) -> None:
        self._nodes: dict[tuple[int, int], Any] = {}
        for level, index, value in nodes:
            self.add(level, index, value)

    @classmethod
    def of_blocks(
        cls, start: int, stop: int, work: Callable[[slice], Any], n_threads: int = 1
    ) -> Tree:
        """Return the sum of what `work` makes of the blocks of rows start .. stop - 1.

        Blocks are given as slices of these rows: the first begins at 0.
        """
        tree, first = cls(), start // BLOCK
        for number, part in enumerate(in_order(work, n_threads, blocks(0, stop - start))):
            tree.add(0, first + number, part)
        return tree

    def add(self, level: int, index: int, value: Any) -> None:
        """Add a node; level 0 for a block."""
        while (level, index ^ 1) in self._nodes:
            other = self._nodes.pop((level, index ^ 1))
            value = plus(other, value) if index & 1 else plus(value, other)
            level, index = level + 1, index >> 1
        self._nodes[level, index] = value

    @property
    def nodes(self) -> Nodes:
        """What is known, from left to right: (level, index, sum)."""
        found = [(level, index, value) for (level, index), value in self._nodes.items()]
        return sorted(found, key=lambda node: node[1] << node[0])

    def total(self, empty: Any) -> Any:
        """Return the sum of everything; `empty` if there is nothing."""
        values = [value for _, _, value in self.nodes]
        if not values:
            return empty
        result = values[0]
        for value in values[1:]:
            result = plus(result, value)
        return result


def in_order(work: Callable[..., T], n_threads: int, *arguments: Iterable[Any]) -> Iterator[T]:
    """Return ``map(work, *arguments)``, computed on one thread or several."""
    if n_threads == 1:
        return map(work, *arguments)
    return _on_threads(work, n_threads, zip(*arguments, strict=True))


def _on_threads(
    work: Callable[..., T], n_threads: int, left: Iterator[tuple[Any, ...]]
) -> Iterator[T]:
    with ThreadPoolExecutor(n_threads, "ribp-rows") as pool:
        waiting: deque[Future[T]] = deque(
            pool.submit(work, *piece) for piece in islice(left, _AHEAD * n_threads)
        )
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(work, *piece) for piece in islice(left, 1))
            yield result


def sum_blocks(work: Callable[[slice], T], n_rows: int, n_threads: int, empty: T) -> T:
    """Return the sum of what `work` makes of each block of rows; `empty` if there are none."""
    total: T = Tree.of_blocks(0, n_rows, work, n_threads).total(empty)
    return total


def sum_nodes(parts: Iterable[Nodes]) -> Nodes:
    """Return the nodes of several ranges of blocks together."""
    return Tree(node for nodes in parts for node in nodes).nodes
