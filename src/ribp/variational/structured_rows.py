"""Rows of the structured family, all of them or a batch, given everything else.

Rows that show the same entries and have the same law have the same q: one of each kind is computed
(`ribp.kernels.rows_structured`), in blocks of a fixed size, on any number of threads. A row whose
part of the bound is not finite is an error that names it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.kernels import rows_structured as kernel
from ribp.likelihoods.base import Data
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.model import Model
from ribp.symmetric import log_esp
from ribp.variational import features
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import expected_log_probs

__all__ = [
    "Given",
    "Swept",
    "count_tables",
    "count_width",
    "distinct_rows",
    "sweep_rows",
    "weighed",
]


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


class Swept(NamedTuple):
    """Rows after a pass, and all that others need of them."""

    row_log_odds: FloatArray
    """lambda, shape (rows, features)."""
    count_terms: FloatArray
    """g, shape (rows, counts)."""
    means: FloatArray
    """E[z_n], shape (rows, features)."""
    sums: RowSums
    law_counts: FloatArray
    """Expected numbers of rows of each law with each count, shape (laws, features + 1)."""
    log_q: float
    """sum_n E log q(z_n)."""


def sweep_rows(
    given: Given,
    data: Data,
    which: IntArray,
    row_log_odds: FloatArray,
    count_terms: FloatArray,
    *,
    move: bool = True,
    power: float = 1.0,
    n_threads: int = 1,
) -> Swept:
    """Make one pass of exact coordinate ascent over rows, or only find their moments.

    Parameters
    ----------
    given, data, which
        Everything else; the data and the law of each row.
    row_log_odds, count_terms
        lambda and g of each row; of rows of one kind those of the first count.
    move
        False to leave q(z_n) as it is.
    power
        To which the likelihood is raised: below one, rows are in more doubt.
    n_threads
        The result does not depend on it.
    """
    first, inverse, number = distinct_rows(data, which)
    here, law = data.rows(first), which[first]
    lam, g = row_log_odds[first], count_terms[first]
    tables = np.ascontiguousarray(given.tables[:, : g.shape[1]])
    nu, probs, divergences = np.empty_like(lam), np.empty_like(g), np.empty(len(lam))

    def work(at: slice) -> RowSums:
        block = here.rows(at)
        background = given.likelihood.background
        terms = features.row_terms(block, given.features, given.noise_scale, background)
        pairs, own_pairs = np.zeros_like(terms.gram), np.empty_like(terms.own)
        for part in terms[:3]:
            part *= power
        kernel.sweep(
            *terms, given.log_odds, tables, law[at], number[at], move, lam[at], g[at], nu[at],
            probs[at], divergences[at], pairs, own_pairs,
        )  # fmt: skip
        missing = _missing_pairs(block, terms.place, number[at], own_pairs)
        return features.row_sums(given.likelihood, block, nu[at], pairs, missing, number[at])

    sums = features.add_up(features.in_blocks(work, len(lam), n_threads))
    with np.errstate(over="ignore"):
        squares = ((here.values / given.noise_scale) ** 2).sum(axis=1)
    _check(divergences - squares, first)
    law_counts = np.zeros_like(given.tables)
    np.add.at(law_counts[:, : g.shape[1]], law, probs * number[:, None])
    prior = float((number @ nu) @ given.log_odds) + weighed(law_counts, given.tables)
    log_q = float(number @ divergences) + prior
    return Swept(lam[inverse], g[inverse], nu[inverse], sums, law_counts, log_q)


def distinct_rows(data: Data, which: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return one row of each kind, the kind of every row, and the number of rows of each kind."""
    parts = [data.values, which[:, None].astype(np.float64)]
    parts += [] if data.complete else [data.observed.astype(np.float64)]
    table = np.ascontiguousarray(np.hstack(parts))
    keys = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)  # kinds in the order in which rows show them
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    inverse = rank[inverse.ravel()]
    return first[order], inverse, np.bincount(inverse).astype(np.float64)


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
    features = own_pairs.shape[1]
    missing = ~block.observed[at] * number[at, None]
    total = missing.T @ own_pairs.reshape(at.size, features**2)
    return np.asarray(total.reshape(-1, features, features))


def _check(parts: FloatArray, first: IntArray) -> None:
    """Refuse a bound that is not finite."""
    wrong = np.flatnonzero(~np.isfinite(parts))
    if wrong.size:
        raise InputError(
            "X",
            "must give a finite bound in every row",
            f"{parts[wrong[0]]} in row {first[wrong[0]]}",
            "Look for values that are far larger than the others, or set the scales.",
        )
