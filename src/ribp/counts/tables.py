"""Learned count laws given the rows: conjugate, one Dirichlet a law.

Rows of a learned law draw their counts from one unknown table f ~ Dirichlet(base). With I features
only the counts 0..I with a positive entry in `base` are possible, and on these f is Dirichlet with
the same entries; given N_k rows with k ones,

    f | rows ~ Dirichlet(base_k + N_k).

Everything is in logarithms: with a small base most of a table lies below any double, and a count
that some row has must never be given probability zero. Laws that are known stay what they are.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ribp.checks import FloatArray, IntArray
from ribp.counts import Learned, RowCounts

_LEAST_BASE = 1e-300  # the logarithm of a Gamma(base) variate is about -1/base


def draw_log_probs(
    rng: np.random.Generator, counts: RowCounts, ones: NDArray[np.integer], n_features: int
) -> FloatArray:
    """Return log f of each law on 0..n_features, learned ones drawn given the rows.

    Parameters
    ----------
    rng
    counts
        The law of every row.
    ones
        Shape (rows,): how many ones each row has.
    n_features
        I, the largest count possible.

    Returns
    -------
    Shape (laws, n_features + 1).
    """
    size = n_features + 1
    cells = np.bincount(counts.law_of_row * size + ones, minlength=len(counts.laws) * size)
    return tallied_log_probs(rng, counts, cells.reshape(-1, size))


def prior_log_probs(rng: np.random.Generator, counts: RowCounts, n_features: int) -> FloatArray:
    """Return log f of each law on 0..n_features, learned ones drawn from their prior."""
    nothing = np.zeros((len(counts.laws), n_features + 1), np.int64)
    return tallied_log_probs(rng, counts, nothing)


def mean_log_probs(
    counts: RowCounts, n_features: int, ones: NDArray[np.integer] | None = None
) -> FloatArray:
    """Return log f of each law on 0..n_features, learned ones at their mean (given the rows)."""
    size = n_features + 1
    tables = np.empty((len(counts.laws), size))
    for at, law in enumerate(counts.laws):
        if isinstance(law, Learned) and ones is not None:
            law = law.posterior(np.bincount(ones[counts.law_of_row == at], minlength=size))
        tables[at] = law.restricted_log_probs(0, n_features)
    return tables


def log_marginal(counts: RowCounts, histograms: IntArray, log_probs: FloatArray) -> float:
    """Return log p(counts of all rows), learned tables integrated out.

    A known law gives sum_k N_k log f(k), a learned one, b_k its base,

        log [Gamma(sum b) / Gamma(sum b + N)] + sum_k log [Gamma(b_k + N_k) / Gamma(b_k)].

    The density of a drawn table would vary by many nats, since most of its entries are tiny.

    Parameters
    ----------
    counts
        The law of every row.
    histograms
        How many rows of each law have each count, shape (laws, n_features + 1).
    log_probs
        log f of each law, of which only known ones are looked at, of the same shape.
    """
    is_learned = np.array([isinstance(law, Learned) for law in counts.laws], np.bool_)
    some = (histograms > 0) & ~is_learned[:, None]
    value = float(histograms[some] @ log_probs[some])
    for at in np.flatnonzero(is_learned):
        base, histogram = _base(counts.laws[at], histograms.shape[1]), histograms[at]
        on = histogram > 0
        value += float(gammaln(base.sum()) - gammaln(base.sum() + histogram.sum()))
        value += float((gammaln(base[on] + histogram[on]) - gammaln(base[on])).sum())
    return value


def tallied_log_probs(
    rng: np.random.Generator,
    counts: RowCounts,
    histograms: IntArray,
    first: FloatArray | None = None,
) -> FloatArray:
    """Return log f of each law, learned ones drawn given how many of its rows have each count.

    `first` are the `mean_log_probs` of the laws without rows, for those who know them already.
    """
    known = mean_log_probs(counts, histograms.shape[1] - 1) if first is None else first
    tables = known.copy()
    for law, histogram, table in zip(counts.laws, histograms, tables, strict=True):
        if isinstance(law, Learned):
            base = _base(law, table.size)
            if histogram[base == 0].any():
                law.posterior(histogram)  # an error that says which count is impossible
            table[:] = _log_dirichlet(rng, base + np.where(base > 0, histogram, 0))
    return tables


@lru_cache
def _base(law: Learned, size: int) -> FloatArray:
    """Return the base of the counts below `size`; it is an error if none is possible."""
    law.restricted_log_probs(0, size - 1)
    base = np.zeros(size)
    base[: len(law.base)] = law.base[:size]
    base = np.where(base > 0, np.maximum(base, _LEAST_BASE), 0.0)
    base.flags.writeable = False
    return base


def _log_dirichlet(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Return the logarithm of a Dirichlet draw, -inf where `shape` is zero."""
    on = np.flatnonzero(shape)
    # Gamma(a) = Gamma(a + 1) U^(1/a): see `ribp.counts.Learned.draw_table`.
    log_gamma = np.log(rng.standard_gamma(shape[on] + 1.0))
    log_gamma -= rng.standard_exponential(on.size) / shape[on]
    table = np.full(shape.size, -np.inf)
    table[on] = log_gamma - np.logaddexp.reduce(log_gamma)
    return table
