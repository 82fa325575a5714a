"""The row store: one protocol for rows in memory, in a file, and on a Dask cluster.

A method that treats rows alike, given everything else, is written once, against this protocol:

- a `RowStore` has the data, and looks at them once (`look`); it gives some rows (`take`), or all of
  them to methods that cannot do without (`in_memory`);
- `RowStore.rows` makes a `ChainRows`: what the rows of one chain have, such as Z or q(z_n), a table
  with a fixed number of numbers for each row;
- `ChainRows.do` does a piece of work, an `Order`, to every row, and returns a sum over all rows.
  Rows are taken a group at a time, in any order, on threads or machines; sums are added by the
  fixed tree of `ribp.blocks`. So what is drawn has the same bits wherever the rows are.

Homes: `ribp.rows.local` (memory and files) and `ribp.rows.dask_store`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.blocks import Nodes
from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Data
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.moments import Moments
from ribp.rows.row_tables import Parts

Packed = NDArray[np.uint8]
"""Z, eight entries to a byte."""


class NotACount(NamedTuple):
    """An entry that is no whole number from 0 to 2**53."""

    row: int
    column: int
    value: float


class FirstLook(NamedTuple):
    """What a first look at all data finds."""

    shape: tuple[int, int]
    complete: bool
    """Whether nothing is missing."""
    not_a_count: NotACount | None
    """The first observed entry that is no count, if there is one."""
    moments: Moments
    low: FloatArray
    """The smallest entry seen in each column, shape (dims,)."""
    high: FloatArray
    digest: str
    """A fingerprint of the data, the same wherever they are."""


class Layout(NamedTuple):
    """The table of what rows have."""

    width: int
    """Numbers in a row."""
    dtype: str
    """"uint8" for Z itself, packed; "float64" for anything else, with a drawn Z beside it."""
    n_features: int


class RowGroup(Protocol):
    """Some consecutive rows, read and written by the work on them."""

    @property
    def first(self) -> int:
        """The number of the first row, a multiple of `ribp.blocks.GROUP`."""

    @property
    def law_of_row(self) -> IntArray:
        """Which count law each row has."""

    def data(self) -> Data:
        """Read the data, in standard units; they last until this thread reads again."""

    def table(self) -> NDArray[Any]:
        """Read the rows of the table, shape (rows, width)."""

    def write(self, table: NDArray[Any]) -> None:
        """Replace these rows of the table."""

    def write_z(self, z: Packed) -> None:
        """Store Z, drawn from what the table says."""


Work = Callable[[RowGroup, int], Nodes]
"""What is done to a group of rows, on so many threads; returns sums, nodes of `ribp.blocks`."""


class Order(ABC):
    """A piece of work for all rows: a frozen dataclass that can be sent to another machine."""

    @property
    def changes(self) -> bool:
        """Whether it changes the table; then it writes every row of it."""
        return True

    @abstractmethod
    def prepared(self) -> Work:
        """Return the work, all that is the same for every group being done."""


class ChainRows(Protocol):
    """What the rows of one chain have, and the data beside them."""

    @property
    def store(self) -> RowStore:
        """Which has the data."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims of the data."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows, in standard units; their numbers must rise."""

    def do(self, order: Order) -> Any:
        """Do a piece of work to every row, and return the sum over all of them."""

    def load(self, table: Parts) -> None:
        """Put back what rows have."""

    def parts(self) -> Iterator[NDArray[Any]]:
        """Yield what all rows have, some of them at a time; each lasts until the next."""

    def packed(self) -> Packed:
        """Return Z of all rows."""

    @property
    def layout(self) -> Layout:
        """Of the table."""

    @property
    def begun(self) -> bool:
        """Whether rows have anything yet."""


RowMap = Callable[[Data, IntArray], NDArray[Any]]
"""From the data and laws of some rows to an array with a line for each."""


class RowStore(Protocol):
    """The data of a run, wherever they are."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""

    @property
    def is_memory(self) -> bool:
        """Whether all data are in the memory of this process."""

    @property
    def n_threads(self) -> int:
        """Of each chain, in this process."""

    def look(self) -> FirstLook:
        """Look at all data, once; every other method comes after it."""

    def use_units(self, likelihood: Likelihood[Any]) -> None:
        """Give data in the standard units of a likelihood from now on."""

    @property
    def exposures(self) -> FloatArray:
        """Those of all rows, shape (rows,); (0,) if they have none."""

    def use_exposures(self, exposures: FloatArray) -> None:
        """Give data with the exposures of their rows from now on."""

    def share(self, n_jobs: int, n_chains: int) -> int:
        """Return how many chains may run at once; cores that they leave serve the rows of each."""

    def take(self, at: IntArray) -> Data:
        """Return the data of some rows, whose numbers must rise."""

    def mapped(self, work: RowMap, law_of_row: IntArray) -> Iterator[NDArray[Any]]:
        """Yield what `work` makes of the data and laws of some rows at a time, in their order."""

    def in_memory(self, method: str) -> Data:
        """Return all data, or raise an `InputError`: this method needs them in memory."""

    def rows(self, layout: Layout, law_of_row: IntArray) -> ChainRows:
        """Return the rows of a chain, which have nothing yet."""

    def close(self) -> None:
        """Let go of everything."""
