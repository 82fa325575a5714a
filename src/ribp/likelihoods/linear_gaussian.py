"""Linear-Gaussian data: a row is the sum of its features, plus noise.

    x_nd = b_d + sum_i z_ni A_id + s_d e_nd,      e_nd ~ N(0, 1),      s_d^2 ~ InvGamma(2, v/2),
    A_id ~ N(0, t^2 s_d^2),                       b_d ~ N(0, 100 t^2 s_d^2).

- noise per dimension: t is the feature scale, the size of a feature in units of the noise of its
  column, t^2 ~ InvGamma(2, u/2);
- shared noise (the paper's): all s_d are one s, the feature scale is a = t s, in units of the data,
  a^2 ~ InvGamma(2, u/2).

Data are in standard units (`ribp.likelihoods.units`), so that v = u = 1. The background is centred
at the means of the columns and hardly shrunk: its prior is ten times as wide as that of a feature.

On data divided by s_d the posterior of A given rows has the covariance S = (Z'Z + t^-2)^{-1} in
every complete column. With entries missing each column has its own, from the rows where it was
observed; missing entries are thereby integrated out. The background is a feature of every row.

Features that no row has say nothing about the scales: those are drawn with such features
integrated out, and the features from their prior afterwards.

The first features may be known. They are subtracted from the data: all sums are those of X - Z A
over known features, and no prior weighs them. Only samplers that keep features can do that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kernels import gaussian_posterior as kernel
from ribp.kernels.missing import add_missing_pairs
from ribp.likelihoods.data import BoolArray, Data, Rows, put_known
from ribp.likelihoods.gaussian_settings import (
    BACKGROUND_WIDTH,
    GaussianParameters,
    GaussianSettings,
)
from ribp.likelihoods.likelihood import Ask, Likelihood
from ribp.likelihoods.noise_units import noise_units
from ribp.likelihoods.row_sweeps import (
    GaussianSums,
    RowPrior,
    Work,
    gaussian_work,
)
from ribp.likelihoods.units import ROUNDING

_SHAPE = 2.0
_OFFSET = 0.01


class Sums(NamedTuple):
    """All that parameters need to know of data and rows, over observed entries."""

    pairs: FloatArray
    """Z'Z of all columns, or of each column: shape (1 or dims, features, features)."""
    products: FloatArray
    """Z'X, shape (features, dims)."""
    squares: FloatArray
    """Sum of x^2 for each column."""
    number: FloatArray
    """How many rows show each column."""
    used: BoolArray
    """Which features some row has."""


@dataclass(frozen=True)
class LinearGaussian(GaussianSettings):
    """The linear-Gaussian likelihood and the priors of its scales; see `GaussianSettings`."""

    def first_guess(self, data: Data, n_features: int) -> GaussianParameters:
        """Return parameters of the size of the data."""
        spread = self._overall_spread(data)
        fixed = self.fixed_size
        size = spread if fixed is None else fixed
        parameters = self.at_scales(n_features, data.shape[1], 0.2 * spread, size)
        if self.fixed_noise is not None:
            parameters.noise_scale[:] = self.fixed_noise
        if fixed is not None:
            parameters = parameters._replace(feature_scale=fixed)
        put_known(self.known_features, parameters.features)
        return parameters

    def _overall_spread(self, data: Data) -> float:
        """Return about the standard deviation of all entries; units tell, if there are any."""
        if self.units is None:
            return float(data.values.std()) or 1.0
        if self.background:
            return 1.0
        means = self.units.means / self.units.spreads
        return math.sqrt(1.0 + float(means.var()))

    def spread(self, data: Data) -> float:
        """Return the standard deviation of what was seen, around column means with a background.

        Without one, at least a hundredth of their size: offsets are for features to explain. Where
        nothing varies, that size; or one, where a background leaves only rounding.
        """
        values = np.where(data.observed, data.values, np.nan) if data.observed.size else data.values
        seen = ~np.isnan(values)
        if not seen.any():
            return 1.0
        total = np.where(seen, values, 0.0).sum(axis=0)
        means = total / np.maximum(seen.sum(axis=0), 1)
        centre = means if self.background else total.sum() / seen.sum()
        found = float(np.sqrt(np.mean((values - centre)[seen] ** 2)))
        size = float(np.sqrt(np.mean(values[seen] ** 2)))
        if found > ROUNDING * max(size, 1.0):
            return found if self.background else max(found, _OFFSET * size)
        return 1.0 if self.background or size <= ROUNDING else size

    def linearised(self, data: Data) -> tuple[LinearGaussian, Data]:
        """Return itself with data in units of the noise, about; as they are if noise is shared."""
        if self.shared:
            return self, data
        noise = noise_units(data)
        return self, Data(data.values / np.where(noise > ROUNDING, noise, 1.0), data.observed)

    def relative_scale(self, parameters: GaussianParameters) -> float:
        """Return t, the size of a feature in units of the noise of its column."""
        scale = parameters.feature_scale
        return float(scale / parameters.noise_scale[0]) if self.shared else scale

    def deviations(self, n_features: int, parameters: GaussianParameters) -> FloatArray:
        """Return prior deviations of features, the background last, in units of the noise."""
        return self.widths(n_features) * self.relative_scale(parameters)

    def with_background(self, rows: Rows) -> Rows:
        """Return rows with a last column of ones for the background, if there is one."""
        if not self.background:
            return rows
        return np.hstack([rows, np.ones((len(rows), 1), rows.dtype)])

    def at_scales(
        self, n_features: int, dims: int, noise: float, size: float
    ) -> GaussianParameters:
        """Return parameters with one noise for all columns, features of a given size, all zero."""
        scale = size if self.shared else size / noise
        zero = np.zeros((n_features, dims))
        return GaussianParameters(zero, np.zeros(dims), np.full(dims, noise), scale)

    # Simulation

    def draw_prior(
        self, rng: np.random.Generator, n_features: int, dims: int
    ) -> GaussianParameters:
        """Draw scales, then features."""
        noise = np.empty(dims)
        noise[:] = np.sqrt(
            0.5 * self.noise_variance / rng.standard_gamma(_SHAPE, 1 if self.shared else dims)
        )
        if self.fixed_noise is not None:
            noise[:] = self.fixed_noise
        scale = self.fixed_size
        if scale is None:
            scale = math.sqrt(0.5 * self.feature_variance / rng.standard_gamma(_SHAPE))
        spread = (scale / noise[0] if self.shared else scale) * noise
        features, background = spread * rng.standard_normal((n_features, dims)), np.zeros(dims)
        if self.background:
            background = BACKGROUND_WIDTH * spread * rng.standard_normal(dims)
        put_known(self.known_features, features)
        return GaussianParameters(features, background, noise, scale)

    def draw_data(
        self, rng: np.random.Generator, rows: Rows, parameters: GaussianParameters
    ) -> FloatArray:
        """Draw X = b + Z A + noise."""
        mean = rows.astype(np.float64) @ parameters.features + parameters.background
        return np.asarray(mean + parameters.noise_scale * rng.standard_normal(mean.shape))

    # Rows and parameters given data

    def row_work(
        self, seed: np.uint64, number: int, parameters: GaussianParameters, prior: RowPrior
    ) -> Work[Any]:
        """Return what a sweep does to a block of rows."""
        features, background, noise, _ = parameters[:4]
        return gaussian_work(
            seed, number, features, background, noise, prior, background=self.background
        )

    def draw(
        self, rng: np.random.Generator, parameters: GaussianParameters, sums: Sums
    ) -> GaussianParameters:
        """Draw features, noise and feature scale given the sums."""
        features, background, noise, scale = parameters[:4]
        free = sums.used.copy()
        free[: len(self.known)] = False
        normals = rng.standard_normal(sums.products.shape)
        gammas, size_gamma = self._scale_gammas(rng, sums)
        spare = rng.standard_normal((free.size - np.count_nonzero(free), noise.size))
        features, drawn, noise, scale, log_det = kernel.draw_parameters(
            sums.pairs, sums.products, sums.squares, free, self.widths(len(normals)), noise, scale,
            self.shared, (self.noise_variance, self.feature_variance), normals, gammas, size_gamma,
            spare,
        )  # fmt: skip
        _check_definite(log_det)
        put_known(self.known_features, features)
        return parameters._replace(
            features=features,
            background=drawn[-1] if self.background else background,
            noise_scale=noise,
            feature_scale=scale,
        )

    def _scale_gammas(self, rng: np.random.Generator, sums: Sums) -> tuple[FloatArray, float]:
        """Return the Gamma variates of scales that are learned; none, and 0, for others.

        s_d^2 ~ InvGamma(2 + (N_d + I)/2, (v + |R_d|^2 + |A_d|^2/t^2)/2), R = X - Z A over observed
        entries, and t^2 ~ InvGamma(2 + I D/2, (u + sum (A_id/s_d)^2)/2); with shared noise s^2 has
        no term in A, and a^2 takes the place of t^2.
        """
        gammas, size = np.empty(0), 0.0
        if self.noise_scale is None and self.shared:
            gammas = rng.standard_gamma(_SHAPE + 0.5 * sums.number.sum(), 1)
        elif self.noise_scale is None:
            gammas = rng.standard_gamma(_SHAPE + 0.5 * (sums.number + len(sums.products)))
        if self.feature_scale is None:
            size = rng.standard_gamma(_SHAPE + 0.5 * sums.products.size)
        return gammas, size

    def sums(self, rng: object, data: Data, rows: Rows, parameters: object) -> Sums:
        """Return sums over rows for the features in use, and the background as the last."""
        return self.data_sums(data, rows)

    def data_sums(self, data: Data, rows: Rows) -> Sums:
        """Return the same: nothing of it is drawn, or depends on parameters."""
        used, z, each, products, squares = kernel.data_sums(data.values, rows, self.background)
        number = np.full(data.values.shape[1], float(len(rows)))
        if not data.complete:
            number = data.observed.sum(axis=0, dtype=np.float64)
            each = np.repeat(each, data.values.shape[1], axis=0)
            if rows.dtype.kind == "f":  # enormous entries of rows that are not seen: no difference
                each[:] = 0.0
                add_missing_pairs(~data.observed, z, 1.0, each)
            else:
                add_missing_pairs(data.observed, z, -1.0, each)
        return self._less_known(Sums(each, products, squares, number, used))

    def swept_sums(self, swept: GaussianSums, used: BoolArray, ask: Ask) -> Sums:
        """Return the same from what a sweep has added up."""
        at = np.flatnonzero(np.append(used, np.ones(int(self.background), np.bool_)))
        pairs, gaps = (np.take(np.take(m, at, -1), at, -2) for m in (swept.pairs, swept.gaps))
        each = pairs - gaps if len(gaps) else pairs[None]
        return self._less_known(Sums(each, swept.products[at], swept.squares, swept.number, used))

    def _less_known(self, sums: Sums) -> Sums:
        """Return the sums of X - Z A over known features, for all others."""
        known = self.known_features
        known = known[sums.used[: len(known)]]
        if not known.size:
            return sums
        n = len(known)
        onto = np.matmul(sums.pairs[:, :, :n], known.T[:, :, None])[:, :, 0].T
        squares = sums.squares + (known * (onto[:n] - 2.0 * sums.products[:n])).sum(axis=0)
        return sums._replace(
            pairs=sums.pairs[:, n:, n:], products=sums.products[n:] - onto[n:], squares=squares
        )

    # Weighing

    def log_joint(self, data: Data, rows: Rows, parameters: GaussianParameters) -> float:
        """Return log p(X_observed, scales | Z), the features integrated out."""
        return self.log_weight(parameters, self.data_sums(data, rows))

    def log_weight(self, parameters: GaussianParameters, sums: Sums) -> float:
        """Return the same from the sums."""
        return self._log_marginal(sums, parameters) + self.scales_log_prior(parameters)

    def log_marginal(self, data: Data, rows: Rows, parameters: GaussianParameters) -> float:
        """Return log p(X_observed | Z, scales), the features integrated out.

        A column is N(0, s^2 (1 + t^2 Z Z')), so with P = Z'Z + t^-2, all over the rows where it was
        observed, its log density is
        -N/2 log(2 pi s^2) - log det(t^2 P)/2 - (|x|^2 - x'Z P^{-1} Z'x)/(2 s^2).
        """
        return self._log_marginal(self.data_sums(data, rows), parameters)

    def _log_marginal(self, given: Sums, parameters: GaussianParameters) -> float:
        deviations = self.deviations(len(given.products), parameters)
        value, log_det = kernel.log_marginal(*given[:4], deviations, parameters.noise_scale)
        _check_definite(log_det)
        return float(value)

    def scales_log_prior(self, parameters: GaussianParameters) -> float:
        """Return the log prior density of the logarithms of the scales that are learned."""
        noise = parameters.noise_scale[:1] if self.shared else parameters.noise_scale
        value = 0.0
        if self.noise_scale is None:
            value += kernel.log_inverse_gamma(noise, self.noise_variance)
        if self.feature_scale is None:
            scale = np.array([parameters.feature_scale])
            value += kernel.log_inverse_gamma(scale, self.feature_variance)
        return value


def as_gaussian(likelihood: Likelihood[Any], who: str) -> LinearGaussian:
    """Return a likelihood that is linear and Gaussian; `who` needs one, or it is an error."""
    if not isinstance(likelihood, LinearGaussian):
        raise InputError(
            "likelihood",
            f'must be "gaussian" for {who}',
            f"data of {likelihood.description}",
            'Use RestrictedIBP with method="gibbs-rows".',
        )
    return likelihood


def _check_definite(log_det: float) -> None:
    """Raise an error if a kernel found no root of a matrix, and said so by a NaN."""
    if math.isnan(log_det):
        raise np.linalg.LinAlgError("the precision of the features is not positive definite")
