"""Features and scales of linear-Gaussian data, given expectations of the rows.

For every column d, with s_d its noise and t the size of a feature in units of the noise,

    x_nd = sum_i z_ni A_id + s_d e_nd,   A_id ~ N(0, t^2 s_d^2),   q(A_.d) = N(m_d, s_d^2 C_d).

The background is the last feature, one that every row has. Of q(Z) only sums over observed entries
matter: P_d = sum_n E[z_n z_n'], the products sum_n E[z_n] x_nd, sum_n x_nd^2 and the number N_d.
With r_d = sum x^2 - 2 m_d . products_d + m_d' P_d m_d, the residual of the means,

    E log p(X | Z, A) = -sum_d [N_d log(2 pi s_d^2) + r_d/s_d^2 + tr(P_d C_d)]/2,
    KL(q(A) | p(A))   = sum_d [tr(C_d)/t^2 + |m_d|^2/(t s_d)^2 - I - log det C_d + 2 I log t]/2.

The prior of the background is ten times as wide: wherever t stands with a feature, t times its
width (`LinearGaussian.widths`) is meant, and C_ii and m_i below are those divided by the width.

The best q(A) is C_d = (P_d + t^-2)^{-1}, m_d = C_d products_d. Independent features have a diagonal
C_d = 1/(P_ii + t^-2), and means that are improved one at a time.

Scales are points: they maximise the bound plus the log density of their logarithms, that of
`LinearGaussian.log_joint`, with m and C fixed. C is in units of the noise, so that for noise
per dimension and the best q(A) this is the maximum over m, C and s together:

    s_d^2 = (v + r_d + |m_d|^2/t^2)/(4 + N_d),
    t^2   = (u + sum_d [tr C_d + |m_d/s_d|^2])/(4 + I D).

Shared noise: x = s^2 is the positive root of T x^2 + 2 k x = v + sum_d r_d, T = sum_d tr C_d/a^2,
k = 2 + (sum_d N_d - I D)/2; and a^2 is s^2 times the formula of t^2, with u/s^2 for u.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.kernels.missing import add_to_missing, subtract_missing
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import BoolArray, Data

_SHAPE = 2.0  # of the inverse gamma priors
_FEW = 0.1  # of the entries of rows that miss some


class RowSums(NamedTuple):
    """Expected sums over observed entries; the background, if there is one, is the last feature."""

    pairs: FloatArray
    """sum_n E[z_n z_n'], (1, features, features), or one a column: (dims, features, features)."""
    products: FloatArray
    """sum_n E[z_n] x_nd, (features, dims)."""
    squares: FloatArray
    """sum_n x_nd^2, (dims,)."""
    number: FloatArray
    """How many rows show each column, (dims,)."""


class FeatureFactor(NamedTuple):
    """q(A_.d) = N(mean[:, d], s_d^2 covariance[d])."""

    mean: FloatArray
    """(features, dims)."""
    covariance: FloatArray
    """(1, features, features) if all columns have the same, otherwise one a column."""


class ColumnTerms(NamedTuple):
    """Terms of each column: E (x - z A)^2/s^2 as a function of z, the background in it.

    The background, if there is one, is the last feature.
    """

    onto: FloatArray
    """E[A]/s^2, (features, dims)."""
    gram: FloatArray
    """E[A A'/s^2] over all columns, (features, features)."""
    each: FloatArray
    """The same of each column, (dims, features, features); (0, ., .) if data are complete."""


class RowTerms(NamedTuple):
    """E_q(A) log p(x_n | z, A) = b_n . z - z' G_n z/2 + const, as a function of row z."""

    linear: FloatArray
    """b, (rows, features); the background is folded in."""
    gram: FloatArray
    """G of complete rows, (features, features)."""
    own: FloatArray
    """G of each row with missing entries, (incomplete rows, features, features)."""
    place: IntArray
    """Where in `own` a row's G is; -1 for complete rows."""

    def raised(self, power: float) -> RowTerms:
        """Return the terms of the likelihood raised to a power."""
        if power == 1.0:
            return self
        return RowTerms(power * self.linear, power * self.gram, power * self.own, self.place)


def prior_factor(dims: int, t: FloatArray) -> FeatureFactor:
    """Return the prior as a factor; t are the deviations of features in units of the noise."""
    return FeatureFactor(np.zeros((t.size, dims)), np.diag(t**2)[None])


def row_sums(
    likelihood: LinearGaussian,
    data: Data,
    nu: FloatArray,
    pairs: FloatArray,
    missing_pairs: FloatArray,
    weights: FloatArray | None = None,
) -> RowSums:
    """Return the sums of a block of rows; those of several blocks are added field by field.

    Parameters
    ----------
    likelihood, data
        Whether there is a background; the block's data.
    nu
        E[z_n], (rows, features), the background left out.
    pairs
        sum_n w_n E[z_n z_n'] over all rows of the block, (features, features).
    missing_pairs
        The same over the rows where column d is missing, (dims, features, features); (0, ., .) if
        data are complete.
    weights
        w_n, how many rows each one stands for; one if None.
    """
    rows, dims = data.values.shape
    w = np.ones(rows) if weights is None else weights
    z = np.hstack([nu, np.ones((rows, 1))]) if likelihood.background else nu
    weighted = z * w[:, None]
    observed = np.ones((rows, dims)) if data.complete else data.observed.astype(np.float64)
    each = pairs[None] if data.complete else pairs[None] - missing_pairs
    if likelihood.background:
        columns = observed[:, :1] if data.complete else observed
        sizes = columns.T @ weighted  # E of z_n times the background, over observed rows
        each = np.concatenate([each, sizes[:, None, :-1]], axis=1)
        each = np.concatenate([each, sizes[:, :, None]], axis=2)
    squares = w @ data.values**2
    return RowSums(each, weighted.T @ data.values, squares, w @ observed)


def add_up(parts: Iterable[RowSums]) -> RowSums:
    """Return the sum of the sums of several blocks, taken in order."""
    return reduce(lambda total, part: RowSums(*map(np.add, total, part)), parts)


def column_terms(factor: FeatureFactor, noise_scale: FloatArray, complete: bool) -> ColumnTerms:
    """Return the terms of each column under q(A)."""
    features, dims = factor.mean.shape
    scaled = factor.mean / noise_scale
    gram = scaled @ scaled.T + factor.covariance.sum(axis=0) * (dims / len(factor.covariance))
    each = np.zeros((0, features, features))
    if not complete:
        each = scaled.T[:, :, None] * scaled.T[:, None, :]
        each += factor.covariance
    return ColumnTerms(scaled / noise_scale, gram, each)


def row_terms(data: Data, terms: ColumnTerms, background: bool) -> RowTerms:
    """Return the terms of a block of rows."""
    gram = terms.gram
    linear = data.values @ terms.onto.T
    place = np.full(len(linear), -1, np.int64)
    own = np.zeros((0, *gram.shape))
    if not data.complete:
        some = np.flatnonzero(~data.observed.all(axis=1))
        place[some] = np.arange(some.size)
        own = _own_grams(terms, data.observed[some])
    if background:
        whole = place < 0
        linear = linear[:, :-1]
        linear[whole] -= gram[:-1, -1]
        linear[~whole] -= own[:, :-1, -1]
        gram, own = gram[:-1, :-1], own[:, :-1, :-1]
    return RowTerms(
        np.ascontiguousarray(linear), np.ascontiguousarray(gram), np.ascontiguousarray(own), place
    )


def _own_grams(terms: ColumnTerms, observed: BoolArray) -> FloatArray:
    """Return G of rows with missing entries: of their columns, or of all less those missing."""
    size = terms.gram.size
    each = terms.each.reshape(-1, size)
    if _few(observed):
        own = np.empty((len(observed), size))
        subtract_missing(terms.gram.ravel(), each, observed, own)
    else:
        own = observed.astype(np.float64) @ each
    return own.reshape(-1, *terms.gram.shape)


def missing_pairs(observed: BoolArray, own: FloatArray, weights: FloatArray) -> FloatArray:
    """Return sum_n w_n E[z_n z_n'] over the rows where each column is missing.

    Parameters
    ----------
    observed
        Of rows with missing entries, (incomplete rows, dims).
    own
        E[z_n z_n'] of these, (incomplete rows, features, features).
    weights
        w_n.
    """
    flat = own.reshape(len(own), own.shape[1] * own.shape[2])
    if _few(observed):
        total = np.zeros((observed.shape[1], flat.shape[1]))
        add_to_missing(flat, weights, observed, total)
    else:
        total = (~observed * weights[:, None]).T @ flat
    return total.reshape(-1, *own.shape[1:])


def _few(observed: BoolArray) -> bool:
    """Return whether so few entries are missing that it is best to go from one to the next."""
    return bool(np.count_nonzero(~observed) < _FEW * observed.size)


def check_finite(parts: FloatArray, numbers: IntArray) -> None:
    """Raise an `InputError` if some row's part of the bound is not finite.

    Parameters
    ----------
    parts
        The part of each row.
    numbers
        The number of each row in the data.
    """
    wrong = np.flatnonzero(~np.isfinite(parts))
    if wrong.size:
        raise InputError(
            "X",
            "must give a finite bound in every row",
            f"{parts[wrong[0]]} in row {numbers[wrong[0]]}",
            "Look for values that are far larger than the others, or set the scales.",
        )


def update_features(
    sums: RowSums, factor: FeatureFactor, t: FloatArray, *, full: bool
) -> FeatureFactor:
    """Return a better q(A): the best there is, or one pass over independent features."""
    features = len(sums.products)
    if full:
        precision = sums.pairs + np.diag(t**-2.0)
        covariance = np.linalg.inv(precision)
        covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        onto = sums.products if len(precision) == 1 else sums.products.T[:, :, None]
        mean = np.linalg.solve(precision, onto)
        mean = mean[0] if len(precision) == 1 else mean[:, :, 0].T
        return FeatureFactor(np.ascontiguousarray(mean), covariance)
    variance = 1.0 / (np.diagonal(sums.pairs, axis1=1, axis2=2) + t**-2.0)  # (1 or dims, features)
    mean = factor.mean.copy()
    for i in range(features):
        onto = sums.pairs[:, i, :]
        others = _times(onto, mean) - onto[:, i] * mean[i]
        mean[i] = variance[:, i] * (sums.products[i] - others)
    return FeatureFactor(mean, variance[:, :, None] * np.eye(features))


def expected_log_likelihood(sums: RowSums, factor: FeatureFactor, noise_scale: FloatArray) -> float:
    """Return E_q log p(X_observed | Z, A)."""
    spread = np.einsum("dij,dij->d", *np.broadcast_arrays(sums.pairs, factor.covariance))
    total = spread.sum() * (noise_scale.size / len(spread))
    log_noise = sums.number @ (np.log(noise_scale) + 0.5 * math.log(2.0 * math.pi))
    return float(-log_noise - 0.5 * (_residual(sums, factor) / noise_scale**2).sum() - 0.5 * total)


def feature_divergence(factor: FeatureFactor, noise_scale: FloatArray, t: FloatArray) -> float:
    """Return KL(q(A) | p(A))."""
    features, dims = factor.mean.shape
    each = dims / len(factor.covariance)
    log_det = np.linalg.slogdet(factor.covariance)[1].sum() * each
    size = _traces(factor, t) + ((factor.mean / noise_scale / t[:, None]) ** 2).sum()
    flat = dims * (features - 2.0 * np.log(t).sum())
    return float(0.5 * (size - flat - log_det))


def update_scales(
    likelihood: LinearGaussian,
    sums: RowSums,
    factor: FeatureFactor,
    parameters: GaussianParameters,
) -> GaussianParameters:
    """Return the scales that are learned at their best points, and the mean features."""
    noise, scale = parameters.noise_scale, parameters.feature_scale
    features, dims = factor.mean.shape
    widths = likelihood.widths(features)
    traces, means = _traces(factor, widths), factor.mean / widths[:, None]
    left = np.maximum(_residual(sums, factor), 0.0)
    if likelihood.noise_scale is None and likelihood.shared:
        total = likelihood.noise_variance + float(left.sum())
        half = _SHAPE + 0.5 * (float(sums.number.sum()) - features * dims)
        bend = traces / scale**2
        root = math.sqrt(half**2 + bend * total)
        variance = total / (half + root) if half > 0 else (root - half) / bend
        noise = np.full_like(noise, math.sqrt(variance))
    elif likelihood.noise_scale is None:
        total_d = likelihood.noise_variance + left + (means**2).sum(axis=0) / scale**2
        noise = np.sqrt(0.5 * total_d / (_SHAPE + 0.5 * sums.number))
    if likelihood.feature_scale is None:
        unit = noise[0] if likelihood.shared else 1.0
        size = traces * unit**2 + ((means / (noise / unit)) ** 2).sum()
        shape = _SHAPE + 0.5 * features * dims
        scale = math.sqrt(0.5 * (likelihood.feature_variance + size) / shape)
    return with_means(likelihood, factor.mean, parameters._replace(
        noise_scale=noise, feature_scale=float(scale)
    ))  # fmt: skip


def draw_features(
    rng: np.random.Generator,
    likelihood: LinearGaussian,
    factor: FeatureFactor,
    parameters: GaussianParameters,
) -> GaussianParameters:
    """Return parameters with features, and background, drawn from q(A)."""
    root = np.linalg.cholesky(factor.covariance)
    noise = rng.standard_normal(factor.mean.shape)
    spread = root[0] @ noise if len(root) == 1 else np.einsum("dij,jd->id", root, noise)
    return with_means(likelihood, factor.mean + spread * parameters.noise_scale, parameters)


def with_means(
    likelihood: LinearGaussian, mean: FloatArray, parameters: GaussianParameters
) -> GaussianParameters:
    """Return parameters with these features, the last of them the background if there is one."""
    if likelihood.background:
        return parameters._replace(features=mean[:-1], background=mean[-1])
    return parameters._replace(features=mean)


def _times(onto: FloatArray, mean: FloatArray) -> FloatArray:
    """Return onto[d] . mean[:, d] for every column, onto (1 or dims, features)."""
    return np.asarray(onto[0] @ mean if len(onto) == 1 else np.einsum("di,id->d", onto, mean))


def _residual(sums: RowSums, factor: FeatureFactor) -> FloatArray:
    """Return r_d, the expected squared residual of each column at the mean features."""
    mean = factor.mean
    if len(sums.pairs) == 1:
        onto = sums.pairs[0] @ mean
    else:
        onto = np.einsum("dij,jd->id", sums.pairs, mean)
    return np.asarray(sums.squares - (mean * (2.0 * sums.products - onto)).sum(axis=0))


def _traces(factor: FeatureFactor, widths: FloatArray) -> float:
    """Return sum_d tr C_d, every feature divided by its width."""
    trace = (np.diagonal(factor.covariance, axis1=1, axis2=2) / widths**2).sum()
    return float(trace * (factor.mean.shape[1] / len(factor.covariance)))
