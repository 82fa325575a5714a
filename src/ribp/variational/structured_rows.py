"""Rows of the structured family, all of them or a batch, given everything else.

Rows that show the same entries and have the same law have the same q: one of each kind is computed
(`ribp.variational.alike`, `ribp.kernels.rows_structured`), in blocks of a fixed size, on any number
of threads. A row whose part of the bound is not finite is an error that names it.

Many rows are taken a group of 4096 at a time: kinds are those of the group, and the totals of group
j are the node (3, j) of the tree of `ribp.likelihoods.blocks`. Groups may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.kernels import rows_structured as kernel
from ribp.likelihoods.base import Data
from ribp.likelihoods.blocks import BLOCK, Tree, in_order
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.model import Model
from ribp.symmetric import log_esp
from ribp.variational import features
from ribp.variational.alike import alike
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import expected_log_probs

__all__ = [
    "GROUP",
    "LEVEL",
    "Given",
    "Swept",
    "Totals",
    "count_tables",
    "count_width",
    "sum_groups",
    "sweep_groups",
    "sweep_rows",
    "weighed",
]

T = TypeVar("T")

LEVEL = 3
"""That of the nodes of groups."""
GROUP = BLOCK << LEVEL
"""Rows of a group."""


class Given(NamedTuple):
    """What rows need to know."""

    likelihood: LinearGaussian
    features: FeatureFactor
    """q(A)."""
    noise_scale: FloatArray
    log_odds: FloatArray
    """theta, shape (features,)."""
    tables: FloatArray
    """h = E log f(k) - log e_k of each law, shape (laws, features + 1)."""


class Totals(NamedTuple):
    """All that others need of rows: sums over them."""

    sums: RowSums
    sizes: FloatArray
    """sum_n E[z_n], shape (features,)."""
    law_counts: FloatArray
    """Expected numbers of rows of each law with each count, shape (laws, features + 1)."""
    log_q: float
    """sum_n E log q(z_n)."""

    def plus(self, other: Totals) -> Totals:
        """Return the totals of both sets of rows together."""
        return Totals(
            features.add_up([self.sums, other.sums]),
            self.sizes + other.sizes,
            self.law_counts + other.law_counts,
            self.log_q + other.log_q,
        )

    def scaled(self, factor: float) -> Totals:
        """Return the totals as if there were `factor` times as many rows."""
        sums = RowSums(*(factor * part for part in self.sums))
        return Totals(sums, factor * self.sizes, factor * self.law_counts, factor * self.log_q)


class Swept(NamedTuple):
    """Rows after a pass, and their totals."""

    row_log_odds: FloatArray
    """lambda, shape (rows, features)."""
    count_terms: FloatArray
    """g, shape (rows, counts)."""
    means: FloatArray
    """E[z_n], shape (rows, features)."""
    totals: Totals


def sweep_rows(
    given: Given,
    data: Data,
    which: IntArray,
    row_log_odds: FloatArray,
    count_terms: FloatArray,
    *,
    move: bool = True,
    powers: Sequence[float] = (1.0,),
    n_threads: int = 1,
    block: int = BLOCK,
    names: IntArray | None = None,
) -> Swept:
    """Make passes of exact coordinate ascent over rows, or only find their moments.

    Parameters
    ----------
    given, data, which
        Everything else; the data and the law of each row.
    row_log_odds, count_terms
        lambda and g of each row; of rows of one kind those of the first count.
    move
        False to leave q(z_n) as it is.
    powers
        To which the likelihood is raised in each pass: below one, rows are in more doubt.
    n_threads
        The result does not depend on it.
    block
        Rows that a thread takes at once; sums are added in the order of blocks.
    names
        Numbers of the rows, for messages; 0, 1, .. if not given.
    """
    kinds = alike(data, which)
    here, law = (data, which) if kinds.all_differ else (data.rows(kinds.first), which[kinds.first])
    lam, g, number = kinds.firsts(row_log_odds), kinds.firsts(count_terms), kinds.number
    tables = np.ascontiguousarray(given.tables[:, : g.shape[1]])
    nu, probs, divergences = np.empty_like(lam), np.empty_like(g), np.empty(len(lam))
    columns = features.columns(given.features, given.noise_scale, data.complete)

    def work(at: slice) -> RowSums:
        rows = here.rows(at)
        terms = features.row_terms(rows, columns, given.likelihood.background)
        own_pairs = np.empty_like(terms.own)
        for power in powers:
            pairs = np.zeros_like(terms.gram)
            kernel.sweep(
                *terms.raised(power), given.log_odds, tables, law[at], number[at], move, lam[at],
                g[at], nu[at], probs[at], divergences[at], pairs, own_pairs,
            )  # fmt: skip
        missing = _missing_pairs(rows, terms.place, number[at], own_pairs)
        return features.row_sums(given.likelihood, rows, nu[at], pairs, missing, number[at])

    sums = features.add_up(features.in_blocks(work, len(lam), n_threads, block))
    squares = np.einsum("nd,nd,d->n", here.values, here.values, given.noise_scale**-2.0)
    _check(divergences - squares, kinds.first if names is None else names[kinds.first])
    law_counts = np.zeros_like(given.tables)
    np.add.at(law_counts[:, : g.shape[1]], law, probs * number[:, None])
    sizes = number @ nu
    prior = float(sizes @ given.log_odds) + weighed(law_counts, given.tables)
    totals = Totals(sums, sizes, law_counts, float(number @ divergences) + prior)
    return Swept(kinds.spread(lam), kinds.spread(g), kinds.spread(nu), totals)


def sweep_groups(
    given: Given,
    data: Data,
    which: IntArray,
    row_log_odds: FloatArray,
    count_terms: FloatArray,
    *,
    move: bool = True,
    n_threads: int = 1,
) -> Swept:
    """Do what `sweep_rows` does, group by group."""
    new = np.empty_like(row_log_odds), np.empty_like(count_terms), np.empty_like(row_log_odds)

    def work(at: slice, n_threads: int) -> Totals:
        swept = sweep_rows(
            given, data.rows(at), which[at], row_log_odds[at], count_terms[at], move=move,
            n_threads=n_threads, names=np.arange(at.start, at.stop),
        )  # fmt: skip
        for whole, part in zip(new, swept[:3], strict=True):
            whole[at] = part
        return swept.totals

    return Swept(*new, sum_groups(work, len(which), n_threads))


def sum_groups(work: Callable[[slice, int], T], n_rows: int, n_threads: int) -> T:
    """Return the sum of what `work` makes of each group, on as many threads as it is told."""
    groups = [slice(at, min(at + GROUP, n_rows)) for at in range(0, n_rows, GROUP)]
    across = n_threads if len(groups) >= 4 * n_threads else 1
    parts = in_order(lambda at: work(at, n_threads // across), groups, across)
    total: T = Tree((LEVEL, number, part) for number, part in enumerate(parts)).total(None)
    return total


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


def _check(parts: FloatArray, names: IntArray) -> None:
    """Refuse a bound that is not finite."""
    wrong = np.flatnonzero(~np.isfinite(parts))
    if wrong.size:
        raise InputError(
            "X",
            "must give a finite bound in every row",
            f"{parts[wrong[0]]} in row {names[wrong[0]]}",
            "Look for values that are far larger than the others, or set the scales.",
        )
