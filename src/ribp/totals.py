"""Moments of totals: sum_i z_i x_i, where a row z has exactly k ones and x_i are given numbers.

With log-odds theta_i the row has P(z) = exp(theta.z) / e_k, and log e_k is convex in theta. Where
theta = x beta, as in conditional logistic regression, the total is what the likelihood needs:

    d log e_k / d beta = E[sum_i z_i x_i],      d^2 log e_k / d beta^2 = Cov(sum_i z_i x_i).

In survey sampling the total of y_i / pi_i is the Horvitz-Thompson estimate, and its variance is one
of these covariances. The pair probabilities behind them are never written down: O(features *
columns) for whatever k (`ribp.kernels.total_moments`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.symmetric import checked_counts


class TotalMoments(NamedTuple):
    """The totals of rows with k ones; leading axes are those of the log-odds."""

    log_esp: FloatArray
    """log e_k of the features with finite log-odds, k less those always on; shape (...)."""
    mean: FloatArray
    """E[sum_i z_i x_i], shape (..., columns)."""
    covariance: FloatArray
    """Of the same, shape (..., columns, columns)."""


def total_moments(log_odds: ArrayLike, k: ArrayLike, x: ArrayLike) -> TotalMoments:
    """Return log e_k, and mean and covariance of sum_i z_i x_i for a row z with exactly k ones.

    Parameters
    ----------
    log_odds
        Shape (..., features). -inf means never on, +inf always on: sets of different sizes are
        filled up with -inf.
    k
        The number of ones, a whole number or an array that broadcasts against the leading shape.
    x
        Shape (..., features, columns), finite; its leading axes broadcast too.

    Examples
    --------
    >>> import ribp
    >>> of = ribp.total_moments([0.0, 0.0, 0.0, 0.0], 2, [[1.0], [2.0], [3.0], [4.0]])
    >>> of.mean.round(6).tolist(), of.covariance.round(6).tolist()
    ([5.0], [[1.666667]])
    """
    theta, counts = checked_counts(log_odds, k)
    x = checks.log_odds(x, "x")
    if x.ndim < 2 or x.shape[-2] != theta.shape[-1] or not np.isfinite(x).all():
        raise InputError(
            "x",
            f"must be finite, of shape (..., {theta.shape[-1]} features, columns)",
            f"shape {x.shape}" if np.isfinite(x).all() else "an infinite entry",
            "Pass one row of numbers for each feature.",
        )
    shape = checks.broadcast("x", x.shape[:-2], theta.shape[:-1])
    theta = np.broadcast_to(theta, (*shape, theta.shape[-1])).reshape(-1, theta.shape[-1])
    x = np.broadcast_to(x, (*shape, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
    counts = np.broadcast_to(counts, shape).ravel()
    return _filled(theta, counts, x, shape)


def _filled(
    theta: FloatArray, counts: IntArray, x: FloatArray, shape: tuple[int, ...]
) -> TotalMoments:
    from ribp.kernels import total_moments as kernel

    n, columns = len(theta), x.shape[-1]
    log_e, mean, cov = np.empty(n), np.empty((n, columns)), np.empty((n, columns, columns))
    contiguous = map(np.ascontiguousarray, (theta, counts, x))
    kernel.total_moments(*contiguous, log_e, mean, cov)
    return TotalMoments(
        log_e.reshape(shape), mean.reshape(*shape, columns), cov.reshape(*shape, columns, columns)
    )
