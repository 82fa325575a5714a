"""Rows of the structured family, all of them or a batch, given everything else.

Duplicate rows, with the same entries and the same law, have the same q, which is computed once
(`ribp.variational.duplicate_rows`, `ribp.kernels.sweep_structured`), in blocks of a fixed size, on
any number of threads. A row whose part of the bound is not finite is an error that names it.

`Pass` is the piece of work for a row store. Its table is q(z_n),

    row n = (lambda_n, g_n),     features + counts numbers,

and Z is drawn from it. Rows are deduplicated within their group of 4096, whose totals are a node of
the tree of `ribp.blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ribp.blocks import BLOCK, GROUP, LEVEL, Nodes, in_order
from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_structured as kernel
from ribp.likelihoods.data import Data
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.model import Model, Tally
from ribp.recording import pack_rows
from ribp.rows.store import ChainRows, Layout, Order, RowGroup, Work
from ribp.symmetric import log_esp
from ribp.variational import features
from ribp.variational.duplicate_rows import unique_rows
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import expected_log_probs


class GlobalFactors(NamedTuple):
    """All that rows need for a pass: everything but q of the rows."""

    likelihood: LinearGaussian
    features: FeatureFactor
    """q(A)."""
    noise_scale: FloatArray
    log_odds: FloatArray
    """theta, shape (features,)."""
    tables: FloatArray
    """h = E log f(k) - log e_k of each law, shape (laws, features + 1)."""


class RowTotals(NamedTuple):
    """Sums over rows: all that the other factors need of them."""

    sums: RowSums
    sizes: FloatArray
    """sum_n E[z_n], shape (features,)."""
    law_counts: FloatArray
    """Expected numbers of rows of each law with each count, shape (laws, features + 1)."""
    log_q: float
    """sum_n E log q(z_n)."""

    def plus(self, other: RowTotals) -> RowTotals:
        """Return the totals of both sets of rows together."""
        return RowTotals(
            features.add_up([self.sums, other.sums]),
            self.sizes + other.sizes,
            self.law_counts + other.law_counts,
            self.log_q + other.log_q,
        )

    def scaled(self, factor: float) -> RowTotals:
        """Return the totals as if there were `factor` times as many rows."""
        sums = RowSums(*(factor * part for part in self.sums))
        return RowTotals(sums, factor * self.sizes, factor * self.law_counts, factor * self.log_q)


class UpdatedRows(NamedTuple):
    """Rows after a pass, and their totals."""

    row_log_odds: FloatArray
    """lambda, shape (rows, features)."""
    count_terms: FloatArray
    """g, shape (rows, counts)."""
    means: FloatArray
    """E[z_n], shape (rows, features)."""
    totals: RowTotals


def sweep_rows(
    factors: GlobalFactors,
    data: Data,
    law_of_row: IntArray,
    row_log_odds: FloatArray,
    count_terms: FloatArray,
    *,
    move: bool = True,
    powers: Sequence[float] = (1.0,),
    n_threads: int = 1,
    block: int = BLOCK,
    names: IntArray | None = None,
) -> UpdatedRows:
    """Make passes of exact coordinate ascent over rows, or only find their moments.

    Parameters
    ----------
    factors, data, law_of_row
        Everything else; the data and the law of each row.
    row_log_odds, count_terms
        lambda and g of each row; of duplicate rows those of the first are used.
    move
        False to leave q(z_n) as it is.
    powers
        To which the likelihood is raised in each pass: below one, rows are in more doubt.
    n_threads
        The result does not depend on it.
    block
        Rows that a thread takes at once; sums are added in the order of blocks.
    names
        Numbers of the rows, for messages; 0, 1, .. if None.
    """
    unique = unique_rows(data, law_of_row)
    here, law = data, law_of_row
    if not unique.all_differ:
        here, law = data.rows(unique.first), law_of_row[unique.first]
    lam, g, number = unique.firsts(row_log_odds), unique.firsts(count_terms), unique.number
    tables = np.ascontiguousarray(factors.tables[:, : g.shape[1]])
    nu, probs, divergences = np.empty_like(lam), np.empty_like(g), np.empty(len(lam))
    columns = features.column_terms(factors.features, factors.noise_scale, data.complete)

    def work(at: slice) -> RowSums:
        rows = here.rows(at)
        terms = features.row_terms(rows, columns, factors.likelihood.background)
        own_pairs = np.empty_like(terms.own)
        for power in powers:
            pairs = np.zeros_like(terms.gram)
            kernel.sweep(
                *terms.raised(power), factors.log_odds, tables, law[at], number[at], move, lam[at],
                g[at], nu[at], probs[at], divergences[at], pairs, own_pairs,
            )  # fmt: skip
        missing = _missing_pairs(rows, terms.place, number[at], own_pairs)
        return features.row_sums(factors.likelihood, rows, nu[at], pairs, missing, number[at])

    parts = [slice(at, min(at + block, len(lam))) for at in range(0, len(lam), block)]
    sums = features.add_up(in_order(work, n_threads if len(parts) > 1 else 1, parts))
    squares = np.einsum("nd,nd,d->n", here.values, here.values, factors.noise_scale**-2.0)
    first = unique.first if names is None else names[unique.first]
    features.check_finite(divergences - squares, first)
    law_counts = np.zeros_like(factors.tables)
    np.add.at(law_counts[:, : g.shape[1]], law, probs * number[:, None])
    sizes = number @ nu
    prior = float(sizes @ factors.log_odds) + weighed(law_counts, factors.tables)
    totals = RowTotals(sums, sizes, law_counts, float(number @ divergences) + prior)
    return UpdatedRows(unique.spread(lam), unique.spread(g), unique.spread(nu), totals)


class Passed(NamedTuple):
    """What a pass returns."""

    totals: RowTotals | tuple[()]
    """() if there was only a draw."""
    tally: Tally
    """Of Z as it was drawn."""


@dataclass(frozen=True, eq=False)
class Pass(Order):
    """The order to improve q of every row, and to draw Z from it."""

    factors: GlobalFactors
    seed: np.uint64
    """Of the draw of Z after the passes."""
    number: int
    """Of that draw."""
    powers: tuple[float, ...] = (1.0,)
    """Of the likelihood in each pass; without any, q(z_n) stays as it is and Z is drawn."""
    fresh: bool = False
    """Whether rows begin at the prior, not where they are."""
    move: bool = True
    """False to leave q(z_n) as it is, and only find its moments."""

    @property
    def changes(self) -> bool:
        """Whether q changes."""
        return self.fresh or (self.move and bool(self.powers))

    def prepared(self) -> Work:
        """Return the work on a group of rows."""
        factors, size = self.factors, self.factors.log_odds.size

        def work(group: RowGroup, n_threads: int) -> Nodes:
            first, law_of_row, table = group.first, group.law_of_row, group.table()
            if self.fresh:
                lam = np.repeat(factors.log_odds[None], len(law_of_row), axis=0)
                terms = factors.tables[law_of_row, : table.shape[1] - size]
            else:
                lam, terms = table[:, :size], table[:, size:]
            lam, terms = np.ascontiguousarray(lam), np.ascontiguousarray(terms)
            totals: RowTotals | tuple[()] = ()
            if self.powers:
                lam, terms, _, totals = sweep_rows(
                    factors, group.data(), law_of_row, lam, terms, move=self.move,
                    powers=self.powers,
                    n_threads=n_threads, names=first + np.arange(len(law_of_row)),
                )  # fmt: skip
            rows = np.zeros(lam.shape, np.int8)
            kernel.draw(self.seed, self.number, first, lam, terms, rows)
            passed = Passed(totals, Tally.of(rows, law_of_row, len(factors.tables)))
            group.write_z(pack_rows(rows))
            if self.changes:
                group.write(np.hstack([lam, terms]))
            return [(LEVEL, first // GROUP, passed)]

        return work


def totals_after(rows: ChainRows, order: Pass) -> RowTotals:
    """Make a pass over all rows, and return their totals."""
    passed: Passed = rows.do(order)
    assert isinstance(passed.totals, RowTotals)
    return passed.totals


def layout(model: Model) -> Layout:
    """Return the layout of the table of q(z_n)."""
    return Layout(model.n_features + count_width(model), "float64", model.n_features)


def row_means(table: FloatArray, n_features: int) -> FloatArray:
    """Return E[z_n] of rows whose table is given, shape (rows, features)."""
    lam, g = table[:, :n_features].copy(), table[:, n_features:].copy()
    none, nothing = np.zeros((0, n_features, n_features)), np.zeros(lam.shape)
    nu = np.empty_like(lam)
    kernel.sweep(
        nothing, np.zeros((n_features, n_features)), none, np.full(len(lam), -1),
        np.zeros(n_features), np.zeros((1, g.shape[1])), np.zeros(len(lam), np.int64),
        np.ones(len(lam)), False, lam, g, nu, np.empty_like(g), np.empty(len(lam)),
        np.zeros((n_features, n_features)), none,
    )  # fmt: skip
    return nu


def count_tables(model: Model, log_odds: FloatArray, law_counts: FloatArray) -> FloatArray:
    """Return h = E log f(k) - log e_k of each law, shape (laws, features + 1)."""
    return np.asarray(expected_log_probs(model.counts, law_counts) - log_esp(log_odds))


def count_width(model: Model) -> int:
    """Return one more than the largest count that some row may have."""
    tables = np.array([law.restricted_log_probs(0, model.n_features) for law in model.counts.laws])
    return int(np.flatnonzero(np.isfinite(tables).any(axis=0)).max()) + 1


def weighed(numbers: FloatArray, tables: FloatArray) -> float:
    """Return the sum of numbers times tables, over counts that some row has."""
    return float(np.sum(numbers * np.where(numbers > 0, tables, 0.0)))


def _missing_pairs(
    block: Data, place: IntArray, number: FloatArray, own_pairs: FloatArray
) -> FloatArray:
    """Return the sums of E[z z'] over the rows where each column is missing."""
    if block.complete:
        return np.zeros((0, *own_pairs.shape[1:]))
    at = np.flatnonzero(place >= 0)  # none of this block, perhaps
    return features.missing_pairs(block.observed[at], own_pairs, number[at])
