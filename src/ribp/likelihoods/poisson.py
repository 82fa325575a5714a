"""Counts: a row is Poisson, its rate the sum of its features.

    x_nd ~ Poisson(r_n (b_d + sum_i z_ni A_id)),    A_id ~ Gamma(a, mean m),    m ~ InvGamma(2, v),

the background b_d like a row of A, r_n the exposure of the row: one, given with the data, or
learned (`ribp.likelihoods.exposures`). A count is the sum of independent Poisson counts, one for
each feature that is on: splitting it (multinomial, with probabilities z_ni A_id/rate) makes the
features conjugate,

    A_id ~ Gamma(a + counts of feature i in column d, rate a/m + sum of r_n),

the sum over rows that have i and show d.

Missing entries drop out. Without a background a row with no features can only be zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.likelihoods import exposures
from ribp.likelihoods.data import (
    BoolArray,
    Data,
    Rows,
    check_known,
    in_use,
    put_known,
)
from ribp.likelihoods.likelihood import Ask, Asked
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.poisson_entries import PoissonEntryLaw
from ribp.likelihoods.poisson_sweeps import PoissonSums, poisson_work, split_poisson
from ribp.likelihoods.row_sweeps import RowPrior, Work
from ribp.rng import kernel_seed

_LEAST = 1e-300  # a rate is never zero
_LEAST_SCALE = 1e-100
_MEAN_SHAPE = 2.0


class PoissonParameters(NamedTuple):
    """Features of the Poisson model and their mean."""

    features: FloatArray
    """A, shape (features, dims)."""
    background: FloatArray
    """b, shape (dims,); zero without a background."""
    feature_scale: float
    """m, the prior mean of an entry of A."""


class SplitCounts(NamedTuple):
    """All that features need to know of counts and rows."""

    splits: Any
    """`PoissonSums`, or `StrengthSplits` where entries have strengths."""
    used: BoolArray
    """Which features some row has."""


@dataclass(frozen=True)
class PoissonCounts(PoissonEntryLaw):
    """The Poisson likelihood with gamma features.

    Parameters
    ----------
    background
        Whether there is a feature that every row has and no count law counts.
    feature_scale
        m: a number to keep it fixed; None to learn it.
    shape
        a: below one for features with few large entries.
    prior_mean
        v, the prior mean of m.
    known
        The first rows of A, if they are known: positive numbers.
    exposure
        "one" if rows have none, "given" if data come with them, "learn" to learn them.
    exposure_unit
        By what exposures of the user are divided before they come with the data: their mean in the
        fit. Features are thereby rates at the mean exposure, whatever its unit.
    """

    background: bool = False
    feature_scale: float | None = None
    shape: float = 0.5
    prior_mean: float = 1.0
    known: tuple[tuple[float, ...], ...] = ()
    exposure: str = "one"
    exposure_unit: float = 1.0

    parameters_type: ClassVar[type] = PoissonParameters
    empty_rows_are_zero: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.one_of("exposure", self.exposure, exposures.MODES[: 3 if self.takes_exposure else 1])

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for; counts have no noise to speak of."""
        if asked.feature_scale is not None:
            checks.within("feature_scale", asked.feature_scale, _LEAST_SCALE, checks.MOST_COUNT)
        made = cls(
            background=asked.background,
            feature_scale=asked.feature_scale,
            prior_mean=seen.overall_mean if seen.overall_mean > 0 else 1.0,
            known=asked.known,
            exposure=asked.exposure,
        )
        made._check_unused(asked)
        return made

    def check(self, n_dims: int, not_a_count: tuple[int, int, float] | None) -> None:
        """Raise an `InputError` unless all entries are whole numbers from 0 to 2**53."""
        if not_a_count is not None:
            row, column, value = not_a_count
            raise InputError(
                "X",
                "must hold counts (0, 1, 2, ..., at most 2**53) under the Poisson likelihood",
                f"{value} in row {row}, column {column}",
                'Correct the entry, or use likelihood="gaussian".',
            )
        check_known(self.known, n_dims)
        if self.known and not np.array(self.known).min() > 0:
            raise InputError(
                "fixed_components",
                f"must be positive where data are {self.description}",
                np.array(self.known).min(),
                "Replace zeros by small numbers such as 0.01.",
            )

    # To begin with

    def first_guess(self, data: Data, n_features: int) -> PoissonParameters:
        """Return parameters of the size of the data."""
        means = np.maximum(_column_means(self.alike(data)), 1e-3)
        background = 0.1 * means if self.background else np.zeros_like(means)
        features = np.tile(means, (n_features, 1))
        put_known(self.known_features, features)
        return PoissonParameters(features, background, self.feature_scale or float(means.mean()))

    def linearised(self, data: Data) -> tuple[LinearGaussian, Data]:
        """Return a Gaussian model that looks for the same rows: columns of equal variance."""
        data = self.alike(data)
        spread = np.sqrt(np.maximum(_column_means(data), 1e-3))
        return LinearGaussian(background=self.background), Data(data.values / spread, data.observed)

    def alike(self, data: Data) -> Data:
        """Return counts over exposures, about."""
        if self.exposure == "one":
            return data
        return Data(data.values / self._about(data)[:, None], data.observed)

    def _about(self, data: Data) -> FloatArray:
        return exposures.about(data, learn=self.learns_exposure)

    def working(self, data: Data, parameters: PoissonParameters) -> tuple[Data, FloatArray]:
        """Return counts over exposures, about, and variances of columns."""
        return super().working(self.alike(data), parameters)

    # Simulation

    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> PoissonParameters:
        """Draw the mean, then the features."""
        mean = self.feature_scale or self.prior_mean / float(rng.standard_gamma(_MEAN_SHAPE))
        background = self._gamma(rng, mean, np.zeros(dims), 0.0)
        features = self._gamma(rng, mean, np.zeros((n_features, dims)), 0.0)
        put_known(self.known_features, features)
        return PoissonParameters(features, background if self.background else np.zeros(dims), mean)

    def draw_data(
        self,
        rng: np.random.Generator,
        rows: Rows,
        parameters: PoissonParameters,
        own: FloatArray | None = None,
    ) -> FloatArray:
        """Draw X given exposures `own`; these are drawn from their prior if they are learned."""
        rates = rows @ parameters.features + parameters.background
        if own is None and self.learns_exposure:
            own = rng.gamma(exposures.SHAPE, 1.0 / exposures.SHAPE, len(rows))
        return rng.poisson(rates if own is None else own[:, None] * rates).astype(np.float64)

    def _gamma(
        self,
        rng: np.random.Generator,
        mean: float,
        counts: FloatArray,
        exposure: FloatArray | float,
    ) -> FloatArray:
        draw = rng.standard_gamma(self.shape + counts) / (self.shape / mean + exposure)
        return np.maximum(draw, _LEAST)

    # Rows and parameters given data

    def row_work(
        self, seed: np.uint64, number: int, parameters: PoissonParameters, prior: RowPrior
    ) -> Work[PoissonSums]:
        """Return what a sweep does to a block of rows."""
        return poisson_work(
            seed, number, parameters.features, parameters.background, prior,
            learn=self.learns_exposure,
        )  # fmt: skip

    def sums(
        self, rng: np.random.Generator, data: Data, rows: Rows, parameters: PoissonParameters
    ) -> SplitCounts:
        """Draw how counts split."""
        split = split_poisson(
            kernel_seed(rng), data, rows, parameters.features, parameters.background,
            learn=self.learns_exposure,
        )  # fmt: skip
        return SplitCounts(split, in_use(rows))

    def swept_sums(self, swept: PoissonSums, used: BoolArray, ask: Ask) -> SplitCounts:
        """Return how a sweep has split the counts."""
        return SplitCounts(swept, used)

    def draw(
        self, rng: np.random.Generator, parameters: PoissonParameters, sums: SplitCounts
    ) -> PoissonParameters:
        """Draw features and their mean given how counts split."""
        counts, used = sums.splits, self._learned(sums.used)
        mean = parameters.feature_scale
        features = self._gamma(rng, mean, counts.splits, counts.exposure)
        background = parameters.background
        if self.background:
            background = self._gamma(rng, mean, counts.rest, counts.number)
        if self.feature_scale is None:
            known = features[used]
            if self.background:
                known = np.vstack([known, background])
            rate = self.prior_mean + self.shape * float(known.sum())
            mean = rate / float(rng.standard_gamma(_MEAN_SHAPE + self.shape * known.size))
        if self.learns_exposure and self.feature_scale is None and not self.known:
            scale = exposures.draw_scale(rng, counts.rows, self.prior_mean / mean)
            features, background, mean = scale * features, scale * background, scale * mean
        features[~used] = self._gamma(rng, mean, np.zeros_like(features[~used]), 0.0)
        put_known(self.known_features, features)
        return PoissonParameters(features, background, mean)

    def _learned(self, used: BoolArray) -> BoolArray:
        """Return which features some row has and nobody knows."""
        learned = used.copy()
        learned[: len(self.known)] = False
        return learned

    # Weighing

    def log_joint(self, data: Data, rows: Rows, parameters: PoissonParameters) -> float:
        """Return log p(X, A, m | Z), features that no row has integrated out, m as log m."""
        terms = self.summed_log_terms(data, rows, parameters)
        return terms + self._log_prior(parameters, in_use(rows))

    def log_weight(self, parameters: PoissonParameters, sums: SplitCounts) -> float:
        """Return log p(A, m | Z): the rest is `log_terms`."""
        return self._log_prior(parameters, sums.used)

    def _log_prior(self, parameters: PoissonParameters, used: BoolArray) -> float:
        known = parameters.features[self._learned(used)]
        if self.background:
            known = np.vstack([known, parameters.background])
        mean, a = parameters.feature_scale, self.shape
        value = known.size * float(a * math.log(a / mean) - gammaln(a))
        value += float(((a - 1.0) * np.log(known) - known * a / mean).sum())
        if self.feature_scale is None:
            v = self.prior_mean
            value += _MEAN_SHAPE * math.log(v / mean) - v / mean - float(gammaln(_MEAN_SHAPE))
        return value


def _column_means(data: Data) -> FloatArray:
    number = len(data.values) if data.complete else np.maximum(data.observed.sum(axis=0), 1)
    return np.asarray(data.values.sum(axis=0) / np.maximum(number, 1))
