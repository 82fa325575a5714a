"""Elementary functions that stay accurate where sizes underflow.

An atom of size 1e-300000 is an ordinary atom here, so a size x is carried as log x or as its
log-odds theta = log(x/(1-x)), and every function below takes and returns logarithms::

    softplus(theta)         = log(1 + e^theta) = -log(1-x)     for x = sigmoid(theta)
    log_softplus(theta)     = log(-log(1-x))
    logit_from_log(log x)   = log(x/(1-x))
    log_exprel(z)           = log((e^z - 1)/z)
    log_exp_integral(r, l)  = log of the integral of e^{-r v} over 0 < v < e^l
    log_gamma_ratio(x, d)   = log Gamma(x+d) - log Gamma(x)

Each is accurate to a few units in the last place of the quantity whose logarithm it is, except
that `log_gamma_ratio` promises 2e-14 (the difference of two `gammaln` loses 4e-6 at x = 1e9).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ribp.checks import FloatArray

# Below this log-odds, e^theta is small enough for the first two terms of a power series.
_FAR_LEFT = -30.0
# From here on, Stirling's series with five terms is exact in double precision.
_STIRLING_FROM = 16.0


def softplus(theta: ArrayLike) -> FloatArray:
    """Return log(1 + e^theta)."""
    result: FloatArray = np.logaddexp(0.0, theta)
    return result


def log_softplus(theta: ArrayLike) -> FloatArray:
    """Return log log(1 + e^theta), also where e^theta underflows."""
    theta = np.asarray(theta, dtype=np.float64)
    near = np.log(softplus(np.maximum(theta, _FAR_LEFT)))
    left = np.minimum(theta, _FAR_LEFT)
    return np.where(theta < _FAR_LEFT, left - 0.5 * np.exp(left), near)


def logit_from_log(log_x: ArrayLike) -> FloatArray:
    """Return log(x/(1-x)) from log x < 0."""
    log_x = np.asarray(log_x, dtype=np.float64)
    result: FloatArray = log_x - np.log(-np.expm1(log_x))
    return result


def log_exprel(z: ArrayLike) -> FloatArray:
    """Return log((e^z - 1)/z), which is 0 at z = 0, without overflow."""
    z = np.asarray(z, dtype=np.float64)
    result: FloatArray = np.maximum(z, 0.0) + np.log(special.exprel(-np.abs(z)))
    return result


def log_exp_integral(rate: ArrayLike, log_length: ArrayLike) -> FloatArray:
    """Return log((1 - e^{-rate L})/rate) for L = e^log_length; rate may be zero or negative."""
    rate, log_length = np.broadcast_arrays(
        np.asarray(rate, dtype=np.float64), np.asarray(log_length, dtype=np.float64)
    )
    with np.errstate(over="ignore"):
        length = np.exp(log_length)
    finite = np.isfinite(length)
    inside = log_length + log_exprel(-rate * np.where(finite, length, 0.0))
    at_infinity = np.where(rate > 0, -np.log(np.where(rate > 0, rate, 1.0)), np.inf)
    return np.where(finite, inside, at_infinity)


def log_gamma_ratio(x: ArrayLike, d: ArrayLike) -> FloatArray:
    """Return log Gamma(x+d) - log Gamma(x) for x > 0 and d >= 0, without cancellation."""
    x, d = np.asarray(x, dtype=np.float64), np.asarray(d, dtype=np.float64)
    direct = special.gammaln(x + d) - special.gammaln(x)
    far = np.maximum(x, _STIRLING_FROM)
    stirling = (
        (far + d - 0.5) * np.log1p(d / far)
        + d * (np.log(far) - 1.0)
        + _stirling_tail(far + d)
        - _stirling_tail(far)
    )
    result: FloatArray = np.where(x < _STIRLING_FROM, direct, stirling)
    return result


def log_beta(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return log B(p, q) for p, q > 0."""
    small, large = np.minimum(p, q), np.maximum(p, q)
    result: FloatArray = special.gammaln(small) - log_gamma_ratio(large, small)
    return result


def _stirling_tail(x: FloatArray) -> FloatArray:
    """Return log Gamma(x) - [(x - 1/2) log x - x + log(2 pi)/2]."""
    coefficients = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
    total: FloatArray = sum(
        (b / x ** (2 * k + 1) for k, b in enumerate(coefficients)), start=np.zeros_like(x)
    )
    return total
