"""Rows given the features, a sweep over all of them: Gaussian data, and what others share.

Given features and weights rows are independent, so they are updated in blocks of a fixed number of
rows: `gaussian_work` returns what is done to a block, `ribp.likelihoods.poisson_sweeps` has the
same for counts. Random numbers belong to a row's number and sums over rows are added up as
`ribp.blocks` says: the result is the same, bit for bit, wherever the rows are.

Row n has the prior exp(tables[law_of_row[n], |z|] + theta.z), tables[., k] = log f(k) - log e_k. A
sweep flips every feature in order (left out for laws without two neighbouring counts), moves every
one once in random order, and proposes a whole row where its law asks for it: without whole rows a
law whose counts have a gap is never left on either side of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_gaussian as gaussian
from ribp.kernels.missing import add_missing_pairs
from ribp.kernels.ones import has_gap
from ribp.likelihoods.data import Data
from ribp.symmetric import log_esp
from ribp.threads import own_memory

Rows = NDArray[np.int8]
Mask = NDArray[np.bool_]
T = TypeVar("T")

Work = Callable[[int, Data, IntArray, Rows], T]
"""What is done to a block: given the number of its first row, its data, the law of each row, and
its rows, it changes these and returns their sums."""


class RowPrior(NamedTuple):
    """What rows know of their prior, exp(tables[law, |z|] + theta.z), not which law is whose."""

    log_odds: FloatArray
    """theta, shape (features,)."""
    tables: FloatArray
    """log f(k) - log e_k of each law, shape (laws, features + 1)."""
    whole: Mask
    """Laws whose rows are also proposed as a whole, shape (laws,)."""
    sizes: IntArray
    """How many rows have each law."""


class GaussianSums(NamedTuple):
    """What the features need to know of data and rows; the background is a last feature."""

    pairs: FloatArray
    """Z'Z, shape (features, features); zero where entries have sizes and some data are missing."""
    gaps: FloatArray
    """What each column lacks of it: Z'Z of the rows that do not show it, or less that of all that
    do. Without columns if data are complete.

    Entries with sizes may be enormous in rows of which nothing is seen: a difference would lose
    all others.
    """
    products: FloatArray
    """Z'X, shape (features, dims), if missing entries are zero."""
    squares: FloatArray
    """Sum of x^2 for each column."""
    number: FloatArray
    """How many rows show each column."""


def gaussian_work(
    seed: np.uint64,
    number: int,
    features: FloatArray,
    offset: FloatArray,
    noise_scale: FloatArray,
    prior: RowPrior,
    *,
    background: bool = False,
    flips: bool = True,
    relocations: bool = True,
) -> Work[GaussianSums]:
    """Return what a sweep does to a block of rows, x_n ~ N(offset + z_n A, diag(s^2)).

    Parameters
    ----------
    seed, number
        The key of all random numbers, with the number of the row.
    features, offset, noise_scale
        A, what every row has, and s.
    prior
        Of rows.
    background
        Whether sums have a last feature that every row has.
    flips, relocations
        Which moves are made.
    """
    laws = Laws.of(prior, flips, relocations)
    linear = Linear.of(features, noise_scale**2, laws)

    def work(first: int, data: Data, law_of_row: IntArray, rows: Rows) -> GaussianSums:
        values, observed, _ = data
        products = linear.products(values, observed, offset)
        gaussian.sweep(
            seed, number, first, products, observed, rows, linear.loadings, linear.gram,
            linear.diagonal, *laws[:3], law_of_row, laws.moves, linear.guide, *laws.moments,
        )  # fmt: skip
        return gaussian_sums(values, observed, rows, background)

    return work


def gaussian_sums(
    data: FloatArray, observed: Mask, rows: Rows, background: bool = False
) -> GaussianSums:
    """Return the sums of a block of rows; values of missing entries must be zero."""
    wide = np.hstack([rows, np.ones((len(rows), 1), rows.dtype)]) if background else rows
    size, dims = wide.shape[1], data.shape[1]
    pairs, products = np.zeros((size, size)), np.zeros((size, dims))
    gaussian.add_statistics(data, wide, pairs, products)
    gaps = np.zeros((dims if observed.size else 0, size, size))
    shown = np.full(dims, float(len(rows)))
    if observed.size and wide.dtype.kind == "f":
        pairs[:] = 0.0
        add_missing_pairs(~observed, wide, -1.0, gaps)
    elif observed.size:
        add_missing_pairs(observed, wide, 1.0, gaps)
    if observed.size:
        shown = observed.sum(axis=0, dtype=np.float64)
    squares = np.einsum("nd,nd->d", data, data)
    return GaussianSums(pairs, gaps, products, squares, shown)


def needs_whole_rows(tables: FloatArray) -> Mask:
    """Return which laws have a gap in their counts, so that no other move leads across it."""
    return np.asarray(has_gap(tables))


class Laws(NamedTuple):
    """The laws of rows, as kernels want them."""

    theta: FloatArray
    tables: FloatArray
    steps: FloatArray
    """table[k+1] - table[k], -inf where count k + 1 is impossible; (laws, features)."""
    moves: Mask
    """Which moves the rows of each law make, (laws, 3)."""
    moments: tuple[float, float]
    """About the mean and the precision of an entry of Z: any would do for whole rows."""

    @classmethod
    def of(
        cls,
        prior: RowPrior,
        flips: bool = True,
        relocations: bool = True,
        normalisers: FloatArray | None = None,
    ) -> Laws:
        """Return them for a prior, with some of the moves.

        `normalisers` are the logarithms that tables have been reduced by, if they are not log e_k.
        """
        theta, tables, whole, sizes = prior
        below, above = tables[:, :-1], tables[:, 1:]
        steps = np.full(below.shape, -np.inf)
        np.subtract(above, below, out=steps, where=above > -np.inf)
        neighbours = ((above > -np.inf) & (below > -np.inf)).any(axis=1)
        moves = [neighbours & flips, np.full(len(tables), relocations), whole]
        probs = np.exp(tables + (log_esp(theta) if normalisers is None else normalisers))
        counts = probs @ np.arange(tables.shape[1]) / probs.sum(axis=1)
        usual = float(counts @ sizes) / max(int(sizes.sum()) * theta.size, 1)
        mean = min(max(usual, 0.01), 0.99)
        moments = mean, 1.0 / (mean * (1.0 - mean))
        return cls(theta, tables, steps, np.stack(moves, axis=1), moments)


class Linear(NamedTuple):
    """Linear-Gaussian data with given variances of the columns."""

    per_noise: FloatArray
    """A'/s^2, (dims, features)."""
    loadings: FloatArray
    """A'/s, (dims, features)."""
    gram: FloatArray
    """A A'/s^2 with a zero diagonal."""
    diagonal: FloatArray
    guide: FloatArray
    """(A A'/s^2 + precision)^{-1}, also where that is large and singular."""

    @classmethod
    def of(cls, features: FloatArray, variance: FloatArray, laws: Laws) -> Linear:
        """Return what whole rows need of features, given variances of the columns."""
        loadings = np.ascontiguousarray((features / np.sqrt(variance)).T)
        gram = loadings.T @ loadings
        diagonal = np.diag(gram).copy()
        guide = np.eye(len(gram))
        if laws.moves[:, gaussian.WHOLE].any():
            values, vectors = np.linalg.eigh(gram)
            guide = (vectors / (np.maximum(values, 0.0) + laws.moments[1])) @ vectors.T
        np.fill_diagonal(gram, 0.0)
        per_noise = np.ascontiguousarray((features / variance).T)
        return cls(per_noise, loadings, gram, diagonal, guide)

    def products(self, data: FloatArray, observed: Mask, offset: FloatArray) -> FloatArray:
        """Return b = sum_d (x_d - offset_d) A_d/s_d^2 over observed columns, for each row.

        It lasts until this thread asks again.
        """
        shape = len(data), self.per_noise.shape[1]
        products = own_memory("products", 8 * shape[0] * shape[1]).view(np.float64).reshape(shape)
        if observed.size:
            return np.matmul(np.where(observed, data - offset, 0.0), self.per_noise, out=products)
        np.matmul(data, self.per_noise, out=products)
        if offset.any():
            products -= offset @ self.per_noise
        return products
