"""Rows of counts given the features: swept, and their counts split; see `row_sweeps`.

Rows may have exposures (`ribp.likelihoods.exposures`), and entries strengths. Where exposures are
learned, a block begins with a draw of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ribp.blocks import sum_blocks
from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_poisson as binary
from ribp.kernels import sweep_poisson_strengths as sized
from ribp.likelihoods import exposures
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.row_sweeps import Laws, Linear, RowPrior, Work

_APART = np.uint64(0xD1B54A32D192ED03)  # keys of splits, where rows use any number of variates


class PoissonSums(NamedTuple):
    """What the features need to know of counts and rows."""

    splits: FloatArray
    """Counts that belong to each feature, shape (features, dims)."""
    rest: FloatArray
    """Counts that belong to the offset, shape (dims,)."""
    exposure: FloatArray
    """Of rows that are observed there what they have of the feature, times their exposures."""
    number: FloatArray
    """How many rows show each column, or the sum of their exposures."""


class StrengthSplits(NamedTuple):
    """The same where entries have strengths."""

    splits: FloatArray
    rest: FloatArray
    exposure: FloatArray
    number: FloatArray
    strengths: FloatArray
    """Of each feature how many rows have it, sum s and sum log s, shape (3, features)."""


def log_strength_sums(rows: Any) -> FloatArray:
    """Return how many rows have each feature, sum s and sum log s, shape (3, features)."""
    logs = np.log(np.where(rows > 0, rows, 1.0))
    return np.array([np.count_nonzero(rows, axis=0), rows.sum(axis=0), logs.sum(axis=0)])


class _Guide(NamedTuple):
    """What sweeps need of features and of the laws of rows."""

    laws: Laws
    linear: Linear
    """Data whose columns have the variance of an average row: whole rows are proposed for it."""
    loadings: FloatArray
    """A', shape (dims, features)."""
    totals: FloatArray
    """Sums of the features, shape (features,)."""
    offset: FloatArray
    whole: bool

    @classmethod
    def of(
        cls,
        features: FloatArray,
        offset: FloatArray,
        prior: RowPrior,
        flips: bool = True,
        relocations: bool = True,
    ) -> _Guide:
        laws = Laws.of(prior, flips, relocations)
        mean_rate = offset + laws.moments[0] * features.sum(axis=0)
        linear = Linear.of(features, np.maximum(mean_rate, 1e-100), laws)
        loadings = np.ascontiguousarray(features.T)
        return cls(laws, linear, loadings, features.sum(axis=1), offset, bool(prior.whole.any()))

    def products(self, data: Data, own: FloatArray) -> FloatArray:
        """Return b of each row, given its exposure."""
        if not self.whole:
            return np.empty((0, 0))
        values = data.values / own[:, None] if own.size else data.values
        return self.linear.products(values, data.observed, self.offset)

    def arguments(self, law_of_row: IntArray) -> tuple[Any, ...]:
        """Return what kernels take of laws and of the guide."""
        laws, linear = self.laws, self.linear
        return (
            *laws[:3], law_of_row, laws.moves, linear.loadings, linear.diagonal, linear.guide,
            *laws.moments,
        )  # fmt: skip


def poisson_work(
    seed: np.uint64,
    number: int,
    features: FloatArray,
    offset: FloatArray,
    prior: RowPrior,
    *,
    learn: bool = False,
    flips: bool = True,
    relocations: bool = True,
) -> Work[PoissonSums]:
    """Return what a sweep does to a block of rows, x_nd ~ Poisson(r_n (offset_d + z_n A_d)).

    Parameters
    ----------
    seed, number
        The key of all random numbers, with the number of the row.
    features, offset
        A > 0, and what every row has, >= 0.
    prior
        Of rows.
    learn
        Whether exposures are learned.
    flips, relocations
        Which moves are made.
    """
    guide = _Guide.of(features, offset, prior, flips, relocations)

    def work(first: int, data: Data, law_of_row: IntArray, rows: Rows) -> PoissonSums:
        at, given = (seed, number, first), (guide.loadings, offset)
        own = exposures.drawn(*at, data, rows, *given) if learn else data.exposures
        binary.sweep(
            *at, guide.products(data, own), data.values, data.observed, rows, guide.loadings,
            guide.totals, offset, own, *guide.arguments(law_of_row),
        )  # fmt: skip
        return split_block(*at, data._replace(exposures=own), rows, *given)

    return work


def poisson_strength_work(
    seed: np.uint64, number: int, parameters: Any, prior: RowPrior, *, learn: bool = False
) -> Work[StrengthSplits]:
    """Return the same where entries have strengths; parameters are `PoissonStrengthParameters`."""
    features, offset = parameters.features, parameters.background
    guide = _Guide.of(features, offset, prior)
    shape = float(parameters.strength_scale) ** -2

    def work(first: int, data: Data, law_of_row: IntArray, rows: Any) -> StrengthSplits:
        at, given = (seed, number, first), (guide.loadings, offset)
        rows *= parameters.factors
        own = data.each_exposure
        if learn:
            own = exposures.drawn_with_strengths(*at, data, rows, *given, shape)
        sized.sweep(
            *at, guide.products(data, own), data.values, data.observed, rows, guide.loadings,
            guide.totals, offset, own, shape, *guide.arguments(law_of_row),
        )  # fmt: skip
        split = split_block(
            seed ^ _APART, number, first, data._replace(exposures=own), rows, *given
        )
        return StrengthSplits(*split, log_strength_sums(rows))

    return work


def split_block(
    seed: np.uint64,
    number: int,
    first: int,
    data: Data,
    rows: Rows,
    loadings: FloatArray,
    offset: FloatArray,
) -> PoissonSums:
    """Return how the counts of a block split over features and offset."""
    sums, own = _no_counts(*loadings.shape), data.exposures
    binary.split(
        seed, number, first, data.values, data.observed, rows, loadings, offset, own, *sums[:3]
    )
    each = data.each_exposure
    shown = sums.number + each.sum() if data.complete else each @ data.observed
    return sums._replace(number=shown)


def _no_counts(dims: int, features: int) -> PoissonSums:
    shapes = ((features, dims), (dims,), (features, dims), (dims,))
    return PoissonSums(*(np.zeros(shape) for shape in shapes))


def split_poisson(
    seed: np.uint64,
    data: Data,
    rows: Rows,
    features: FloatArray,
    offset: FloatArray,
    *,
    learn: bool = False,
) -> PoissonSums:
    """Return how counts split over the features of given rows, and over the offset."""
    loadings = np.ascontiguousarray(features.T)

    def work(at: slice) -> PoissonSums:
        here = data.rows(at)
        if learn:
            own = exposures.drawn(seed, 0, at.start, here, rows[at], loadings, offset)
            here = here._replace(exposures=own)
        return split_block(seed, 0, at.start, here, rows[at], loadings, offset)

    return sum_blocks(work, len(rows), 1, _no_counts(data.shape[1], len(features)))
