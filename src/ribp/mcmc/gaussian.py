"""Features, noise and scales of the linear-Gaussian model given the rows.

    x_nd = sum_i z_ni A_id + s_d e_nd,    A_id ~ N(0, tau^2 s_d^2),    e_nd ~ N(0, 1),
    s_d^2 ~ InvGamma(2, v/2),             tau^2 ~ InvGamma(2, u/2).

`feature_scale` is tau: the size of a feature in units of the noise of its column. On data divided
by s_d the posterior of A has one covariance for all columns, S = (Z'Z + tau^-2)^{-1}. With shared
noise all s_d are one number. Only features that some row has are drawn here: the others are
integrated out, and come back from their prior when they are needed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError

__all__ = [
    "GaussianPriors",
    "Summary",
    "draw_features",
    "log_marginal",
    "summarise",
    "update_scales",
]

_SHAPE = 2.0


class GaussianPriors(NamedTuple):
    """Prior variances v of the noise and u of the feature scale; whether noise is shared."""

    noise_variance: float
    feature_variance: float
    shared: bool


class Summary(NamedTuple):
    """What row sweeps carry: S (features, features), M' (dims, features) and M M'."""

    cov: FloatArray
    mean: FloatArray
    gram: FloatArray


def summarise(scaled: FloatArray, rows: FloatArray, feature_scale: float) -> Summary:
    """Return S, M' and M M' of data divided by its noise scales."""
    precision = rows.T @ rows + np.eye(rows.shape[1]) / feature_scale**2
    cov = np.linalg.inv(precision)
    cov = 0.5 * (cov + cov.T)
    mean = cov @ (rows.T @ scaled)
    return Summary(cov, np.ascontiguousarray(mean.T), mean @ mean.T)


def log_marginal(scaled: FloatArray, rows: FloatArray, feature_scale: float) -> float:
    """Return log p(X | Z), features integrated out, for data divided by its noise scales.

    Columns are N(0, 1 + tau^2 Z Z'), so with P = Z'Z + tau^-2 the value is
    -N D/2 log 2 pi - D/2 log det(tau^2 P) - (|X|^2 - tr X'Z P^{-1} Z'X)/2.
    """
    n_rows, dims = scaled.shape
    features = rows.shape[1]
    root = np.linalg.cholesky(rows.T @ rows + np.eye(features) / feature_scale**2)
    half = np.linalg.solve(root, rows.T @ scaled)
    log_det = 2.0 * (np.log(np.diag(root)).sum() + features * math.log(feature_scale))
    squares = float((scaled**2).sum() - (half**2).sum())
    return -0.5 * float(n_rows * dims * math.log(2.0 * math.pi) + dims * log_det + squares)


def draw_features(
    rng: np.random.Generator,
    data: FloatArray,
    rows: FloatArray,
    noise_scale: FloatArray,
    feature_scale: float,
) -> FloatArray:
    """Draw A given everything else, shape (features, dims)."""
    precision = rows.T @ rows + np.eye(rows.shape[1]) / feature_scale**2
    try:
        root = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        raise InputError(
            "feature_scale",
            "must leave the features' precision matrix positive definite",
            feature_scale,
            "Rescale the data or fix a smaller feature scale.",
        ) from None
    mean = np.linalg.solve(precision, rows.T @ (data / noise_scale))
    noise = np.linalg.solve(root.T, rng.standard_normal(mean.shape))
    return np.asarray((mean + noise) * noise_scale)


def update_scales(
    rng: np.random.Generator,
    data: FloatArray,
    rows: FloatArray,
    features: FloatArray,
    feature_scale: float,
    priors: GaussianPriors,
) -> tuple[FloatArray, float]:
    """Draw the noise scales s_d and then the feature scale tau; return both.

    s_d^2 ~ InvGamma(2 + (N+I)/2, v/2 + (|R_d|^2 + |A_d|^2/tau^2)/2), R = X - Z A, I the number of
    features given; tau^2 ~ InvGamma(2 + I D/2, u/2 + sum (A_id/s_d)^2/2).
    """
    n_rows, dims = data.shape
    squares = ((data - rows @ features) ** 2).sum(axis=0)
    squares += (features**2).sum(axis=0) / feature_scale**2
    each = n_rows + features.shape[0]
    if priors.shared:
        total = squares.sum()
        variance = (0.5 * priors.noise_variance + 0.5 * total) / rng.standard_gamma(
            _SHAPE + 0.5 * each * dims
        )
        noise_scale = np.full(dims, np.sqrt(variance))
    else:
        shape = np.full(dims, _SHAPE + 0.5 * each)
        noise_scale = np.sqrt(0.5 * (priors.noise_variance + squares) / rng.standard_gamma(shape))
    size = ((features / noise_scale) ** 2).sum()
    variance = (
        0.5 * (priors.feature_variance + size) / rng.standard_gamma(_SHAPE + 0.5 * features.size)
    )
    return noise_scale, float(np.sqrt(variance))
