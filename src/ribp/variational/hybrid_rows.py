"""Rows of the hybrid's family, wherever they are: pieces of work for a row store.

The table has nu_n and gamma_n of every row,

    row n = (nu_n, gamma_n),     features + features + 1 numbers,

and Z is drawn from nu, every entry on its own (`ribp.variational.mean_field`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ribp.blocks import GROUP, LEVEL, Nodes
from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_mean_field as kernel
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Rows
from ribp.mcmc.rows_given_features import Sweep
from ribp.model import Tally
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.store import Layout, Order, Packed, RowGroup, Work
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.mean_field import MeanFieldPrior, all_sums, sweep_rows


def layout(n_features: int) -> Layout:
    """Return the layout of the table of nu and gamma."""
    return Layout(2 * n_features + 1, "float64", n_features)


class Improved(NamedTuple):
    """What a pass returns."""

    sums: RowSums
    law_counts: FloatArray
    """sum_n gamma_n over the rows of each law, shape (laws, features + 1)."""
    value: float
    """What they add to the bound but for the likelihood."""
    tally: Tally
    """Of Z as it was drawn."""


class Begun(NamedTuple):
    """What `Begin` returns."""

    sums: RowSums
    tally: Tally


@dataclass(frozen=True, eq=False)
class Begin(Order):
    """The order to begin at 0/1 rows: those of the table, or those that a sweep finds."""

    likelihood: LinearGaussian
    n_laws: int
    sweep: Sweep | None = None

    def prepared(self) -> Work:
        """Return the work on a group of rows, whose value is a `Begun`."""
        sweep = None if self.sweep is None else self.sweep.prepared()

        def work(group: RowGroup, n_threads: int) -> Nodes:
            nu, gamma = _split(group.table())
            if sweep is not None:
                swept = _GroupOfZ(group, nu.astype(np.int8))
                sweep(swept, n_threads)
                nu = swept.z.astype(np.float64)
            rows = nu.astype(np.int8)
            tally = Tally.of(rows, group.law_of_row, self.n_laws)
            begun = Begun(all_sums(self.likelihood, group.data(), nu), tally)
            group.write(np.hstack([nu, gamma]))
            group.write_z(pack_rows(rows))
            return _node(group, begun)

        return work


class _GroupOfZ:
    """A group of rows whose table is Z, as a `Sweep` has it."""

    def __init__(self, group: RowGroup, z: Rows) -> None:
        self.first, self.law_of_row, self.data = group.first, group.law_of_row, group.data
        self.z = z

    def table(self) -> Packed:
        """Return the packed rows."""
        return pack_rows(self.z)

    def write(self, table: Packed) -> None:
        """Replace the rows."""
        self.z = unpack_rows(table, self.z.shape[1])

    def write_z(self, z: Packed) -> None:
        """Do the same."""
        self.write(z)


@dataclass(frozen=True, eq=False)
class Improve(Order):
    """The order to improve nu and gamma of every row, and to draw Z."""

    likelihood: LinearGaussian
    features: FeatureFactor
    parameters: GaussianParameters
    prior: MeanFieldPrior
    seed: np.uint64
    """Of the draw of Z."""

    def prepared(self) -> Work:
        """Return the work on a group of rows, whose value is an `Improved`."""

        def work(group: RowGroup, n_threads: int) -> Nodes:
            first, law_of_row = group.first, group.law_of_row
            nu, gamma, value, sums = sweep_rows(
                self.likelihood, group.data(), self.prior, law_of_row, self.features,
                self.parameters, *_split(group.table()), n_threads, first,
            )  # fmt: skip
            n_laws = len(self.prior.log_f)
            z, tally = _drawn(self.seed, first, nu, law_of_row, n_laws)
            counts: FloatArray = np.stack(
                [np.bincount(law_of_row, c, n_laws).astype(np.float64) for c in gamma.T], axis=1
            )
            group.write(np.hstack([nu, gamma]))
            group.write_z(z)
            return _node(group, Improved(sums, counts, value, tally))

        return work


@dataclass(frozen=True, eq=False)
class DrawRows(Order):
    """The order to draw Z."""

    seed: np.uint64
    n_laws: int

    @property
    def changes(self) -> bool:
        """It leaves nu and gamma as they are."""
        return False

    def prepared(self) -> Work:
        """Return the work on a group of rows, whose value is the `Tally` of Z."""

        def work(group: RowGroup, n_threads: int) -> Nodes:
            nu, _ = _split(group.table())
            z, tally = _drawn(self.seed, group.first, nu, group.law_of_row, self.n_laws)
            group.write_z(z)
            return _node(group, tally)

        return work


def _split(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    size = table.shape[1] // 2
    return table[:, :size].copy(), table[:, size:].copy()


def _node(group: RowGroup, value: Any) -> Nodes:
    return [(LEVEL, group.first // GROUP, value)]


def _drawn(
    seed: np.uint64, first: int, nu: FloatArray, law_of_row: IntArray, n_laws: int
) -> tuple[Packed, Tally]:
    rows = np.empty(nu.shape, np.int8)
    kernel.draw_rows(seed, 0, first, nu, rows)
    return pack_rows(rows), Tally.of(rows, law_of_row, n_laws)
