"""Have chains converged: R-hat and effective sample sizes (Vehtari et al. 2021).

Arrays have shape (chains, draws). Every chain is cut into halves; with m half-chains of n draws, W
their mean variance and B/n the variance of their means,

    R-hat = sqrt((n - 1)/n + B/(n W)),     rho_t = 1 - (W - mean autocovariance at lag t)/V,
    V = (n - 1)/n W + B/n,                 ESS = m n / (-1 + 2 sum_t rho_t),

the sum over pairs rho_2t + rho_2t+1 while they are positive, made to decrease (Geyer). R-hat is the
larger of that of the rank-normalised draws and that of their rank-normalised distance from the
median; the bulk ESS is that of rank-normalised draws, the tail ESS the smaller of those of the
indicators of the lowest and of the highest twentieth.

Draws that are all equal have R-hat 1 and as many effective draws as draws; chains constant at
different values have an infinite R-hat.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from ribp.checks import FloatArray


def r_hat(draws: ArrayLike) -> float:
    """Return the rank-normalised split R-hat; NaN for fewer than four draws a chain."""
    values = _checked(draws)
    if values.size == 0:
        return math.nan
    halves = _halves(values)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_r_hat(_normalised(each)) for each in (halves, folded))


def ess_bulk(draws: ArrayLike) -> float:
    """Return the effective number of draws for the centre of the law."""
    values = _checked(draws)
    return _ess(_normalised(_halves(values))) if values.size else math.nan


def ess_tail(draws: ArrayLike) -> float:
    """Return the effective number of draws for the 5% and the 95% quantile, the smaller one."""
    values = _checked(draws)
    if values.size == 0:
        return math.nan
    ends = np.quantile(values, [0.05, 0.95])
    return min(_ess(_halves((values <= end).astype(np.float64))) for end in ends)


def monte_carlo_error(draws: ArrayLike) -> float:
    """Return the standard error of the mean of the draws as an estimate of the true mean."""
    values = _checked(draws)
    if values.size == 0:
        return math.nan
    return float(values.std(ddof=1)) / math.sqrt(_ess(_halves(values)))


def _checked(draws: ArrayLike) -> FloatArray:
    """Return draws of shape (chains, draws); none at all where nothing can be said of them."""
    values = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if values.shape[1] < 4 or not np.isfinite(values).all():
        return np.empty((0, 0))
    return values


def _halves(values: FloatArray) -> FloatArray:
    """Return the halves of each chain as chains; of an odd number the middle draw is left out."""
    half = values.shape[1] // 2
    return np.vstack([values[:, :half], values[:, -half:]])


def _normalised(values: FloatArray) -> FloatArray:
    """Return normal scores of the ranks among all draws."""
    _, which, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - 0.5 * (sizes - 1))[which].reshape(values.shape)  # means among ties
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))


def _plain_r_hat(values: FloatArray) -> float:
    if np.ptp(values) == 0.0:
        return 1.0
    n = values.shape[1]
    within = float(values.var(axis=1, ddof=1).mean())
    between = float(values.mean(axis=1).var(ddof=1))
    if np.ptp(values, axis=1).max() == 0.0:
        return math.inf
    return math.sqrt((n - 1) / n + between / within)


def _ess(values: FloatArray) -> float:
    """Return the effective sample size of the mean."""
    if np.ptp(values) == 0.0:
        return float(values.size)
    chains, n = values.shape
    covariance = _autocovariance(values).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (values.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    time = max(_summed(rho), 1.0 / math.log10(values.size))
    return values.size / time


def _summed(rho: FloatArray) -> float:
    """Return -1 + 2 sum_t rho_t over Geyer's initial monotone sequence."""
    last = max((rho.size - 3) // 2, 0)
    pairs = rho[: 2 * last].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    stop = int(negative[0]) if negative.size else last
    falling = np.minimum.accumulate(pairs[:stop])
    return -1.0 + 2.0 * float(falling.sum()) + max(float(rho[2 * stop]), 0.0)


def _autocovariance(values: FloatArray) -> FloatArray:
    """Return sum_s x_s x_{s+t} / n of each centred chain, for t = 0..n-1."""
    n = values.shape[1]
    size = next_fast_len(2 * n)
    spectrum = rfft(values - values.mean(axis=1, keepdims=True), size)
    return np.asarray(irfft(np.abs(spectrum) ** 2, size)[:, :n] / n)
