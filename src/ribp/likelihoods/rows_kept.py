"""Rows given the features, a sweep over all of them: Gaussian and Poisson data.

Given features and weights rows are independent, so they are updated in blocks of a fixed number of
rows, on one thread or several. Random numbers belong to a row's number and sums over rows are made
block by block, in order: the result is the same, bit for bit, for any number of threads.

Row n has the prior exp(tables[which[n], |z|] + theta.z), tables[., k] = log f(k) - log e_k. A sweep
flips every feature in order (left out for laws without two neighbouring counts), moves every one
once in random order, and proposes a whole row where its law asks for it: without whole rows a law
whose counts have a gap is never left on either side of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.kernels import rows_kept as gaussian
from ribp.kernels import rows_poisson as poisson
from ribp.symmetric import log_esp

__all__ = [
    "GaussianSums",
    "PoissonSums",
    "needs_whole_rows",
    "split_poisson",
    "sweep_gaussian",
    "sweep_poisson",
]

Rows = NDArray[np.int8]
Mask = NDArray[np.bool_]
T = TypeVar("T")

BLOCK = 512
"""Rows of a block: what it needs fits the cache of one core."""


class GaussianSums(NamedTuple):
    """What the features need to know of complete data and rows."""

    pairs: FloatArray
    """Z'Z, shape (features, features)."""
    products: FloatArray
    """Z'X, shape (features, dims)."""


class PoissonSums(NamedTuple):
    """What the features need to know of counts and rows."""

    splits: FloatArray
    """Counts that belong to each feature, shape (features, dims)."""
    rest: FloatArray
    """Counts that belong to the offset, shape (dims,)."""
    exposure: FloatArray
    """Rows that have the feature and are observed there, shape (features, dims)."""


def sweep_gaussian(
    seed: np.uint64,
    number: int,
    data: FloatArray,
    observed: Mask,
    rows: Rows,
    features: FloatArray,
    offset: FloatArray,
    noise_scale: FloatArray,
    theta: FloatArray,
    tables: FloatArray,
    which: IntArray,
    whole: Mask,
    *,
    flips: bool = True,
    relocations: bool = True,
    n_threads: int = 1,
) -> tuple[Rows, GaussianSums | None]:
    """Return new rows of x_n ~ N(offset + z_n A, diag(s^2)), and their sums if data are complete.

    Parameters
    ----------
    seed, number
        The key of all random numbers, with the number of the row.
    data, observed
        X, and which of its entries are observed: shape (0, 0) if all. Missing entries are
        integrated out; their values do not matter.
    rows, features, offset, noise_scale
        Z, A, what every row has, and s.
    theta, tables, which, whole
        Log-odds, prior tables of the laws, the law of each row, and the laws whose rows are also
        proposed as a whole.
    """
    laws = _Laws.of(theta, tables, which, whole, flips, relocations)
    linear = _Linear.of(features, noise_scale**2, laws)
    new = rows.copy()
    complete = observed.size == 0

    def work(at: slice) -> GaussianSums | None:
        seen = observed if complete else observed[at]
        products = linear.products(data[at], seen, offset)
        gaussian.sweep(
            seed, number, at.start, products, seen, new[at], linear.loadings, linear.gram,
            linear.diagonal, *laws[:3], which[at], laws.moves, linear.guide, *laws.moments,
        )  # fmt: skip
        if not complete:
            return None
        sums = GaussianSums(np.zeros_like(linear.gram), np.zeros_like(features))
        gaussian.add_statistics(data[at], new[at], *sums)
        return sums

    total = GaussianSums(np.zeros_like(linear.gram), np.zeros_like(features))
    _add_up(total, _in_blocks(work, len(rows), n_threads))
    return new, total if complete else None


def sweep_poisson(
    seed: np.uint64,
    number: int,
    data: FloatArray,
    observed: Mask,
    rows: Rows,
    features: FloatArray,
    offset: FloatArray,
    theta: FloatArray,
    tables: FloatArray,
    which: IntArray,
    whole: Mask,
    *,
    flips: bool = True,
    relocations: bool = True,
    n_threads: int = 1,
) -> tuple[Rows, PoissonSums]:
    """Return new rows of x_nd ~ Poisson(offset_d + sum_i z_ni A_id), and how their counts split.

    Arguments as in `sweep_gaussian`; A > 0, offset >= 0, and X holds whole numbers as floats.
    Whole rows are proposed as if the data were Gaussian with the variance of an average row.
    """
    laws = _Laws.of(theta, tables, which, whole, flips, relocations)
    mean_rate = offset + laws.moments[0] * features.sum(axis=0)
    linear = _Linear.of(features, np.maximum(mean_rate, 1e-100), laws)
    loadings = np.ascontiguousarray(features.T)
    totals = features.sum(axis=1)
    new = rows.copy()
    complete = observed.size == 0

    def work(at: slice) -> PoissonSums:
        seen = observed if complete else observed[at]
        products = linear.products(data[at], seen, offset) if whole.any() else np.empty((0, 0))
        poisson.sweep(
            seed, number, at.start, products, data[at], seen, new[at], loadings, totals, offset,
            *laws[:3], which[at], laws.moves, linear.loadings, linear.diagonal, linear.guide,
            *laws.moments,
        )  # fmt: skip
        sums = PoissonSums(np.zeros_like(features), np.zeros_like(offset), np.zeros_like(features))
        poisson.split(seed, number, at.start, data[at], seen, new[at], loadings, offset, *sums)
        return sums

    total = PoissonSums(np.zeros_like(features), np.zeros_like(offset), np.zeros_like(features))
    _add_up(total, _in_blocks(work, len(rows), n_threads))
    return new, total


def split_poisson(
    seed: np.uint64,
    number: int,
    data: FloatArray,
    observed: Mask,
    rows: Rows,
    features: FloatArray,
    offset: FloatArray,
    *,
    n_threads: int = 1,
) -> PoissonSums:
    """Return how counts split over the features of given rows, and over the offset."""
    loadings = np.ascontiguousarray(features.T)

    def work(at: slice) -> PoissonSums:
        sums = PoissonSums(np.zeros_like(features), np.zeros_like(offset), np.zeros_like(features))
        seen = observed[at] if observed.size else observed
        poisson.split(seed, number, at.start, data[at], seen, rows[at], loadings, offset, *sums)
        return sums

    total = PoissonSums(np.zeros_like(features), np.zeros_like(offset), np.zeros_like(features))
    _add_up(total, _in_blocks(work, len(rows), n_threads))
    return total


def needs_whole_rows(tables: FloatArray) -> Mask:
    """Return which laws have a gap in their counts, so that no other move leads across it."""
    possible = np.pad(tables > -np.inf, ((0, 0), (1, 0)))
    return np.asarray((possible[:, 1:] & ~possible[:, :-1]).sum(axis=1) > 1)


class _Laws(NamedTuple):
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
        theta: FloatArray,
        tables: FloatArray,
        which: IntArray,
        whole: Mask,
        flips: bool,
        relocations: bool,
    ) -> _Laws:
        below, above = tables[:, :-1], tables[:, 1:]
        steps = np.full(below.shape, -np.inf)
        np.subtract(above, below, out=steps, where=above > -np.inf)
        neighbours = ((above > -np.inf) & (below > -np.inf)).any(axis=1)
        moves = [neighbours & flips, np.full(len(tables), relocations), whole]
        probs = np.exp(tables + log_esp(theta))
        counts = probs @ np.arange(tables.shape[1]) / probs.sum(axis=1)
        mean = float(np.clip(counts[which].mean() / theta.size, 0.01, 0.99)) if which.size else 0.5
        moments = mean, 1.0 / (mean * (1.0 - mean))
        return cls(theta, tables, steps, np.stack(moves, axis=1), moments)


class _Linear(NamedTuple):
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
    def of(cls, features: FloatArray, variance: FloatArray, laws: _Laws) -> _Linear:
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
        """Return b = sum_d (x_d - offset_d) A_d/s_d^2 over observed columns, for each row."""
        if observed.size:
            return np.asarray(np.where(observed, data - offset, 0.0) @ self.per_noise)
        products = data @ self.per_noise
        if offset.any():
            products -= offset @ self.per_noise
        return np.asarray(products)


def _in_blocks(work: Callable[[slice], T], n_rows: int, n_threads: int) -> Iterator[T]:
    """Yield what `work` makes of each block of rows, in order."""
    blocks = [slice(at, min(at + BLOCK, n_rows)) for at in range(0, n_rows, BLOCK)]
    if n_threads == 1:
        yield from map(work, blocks)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(work, blocks)


def _add_up(total: Iterable[FloatArray], parts: Iterable[Iterable[FloatArray] | None]) -> None:
    """Add parts to the total, one after another."""
    for part in parts:
        for into, term in zip(total, part or (), strict=part is not None):
            into += term
