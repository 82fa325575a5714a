"""Elementary symmetric polynomials of odds, and inclusion probabilities for a given count.

With odds w_i = exp(log_odds_i), e_k = sum over sets S of k features of prod_{i in S} w_i. A row
with exactly k ones has P(z) = prod w_i^{z_i} / e_k, and feature i is in it with probability

    eta_{i;k} = w_i e_{k-1}(without i) / e_k = d log e_k / d log_odds_i,      sum_i eta_{i;k} = k.

`log_esp` costs O(features * k_max) for all counts together (`ribp.kernels.elementary_symmetric`);
`inclusion_probs` O(features) for one count (`ribp.kernels.quadrature`). Any finite log-odds are
accepted; the error of log e_k is below 1e-10 max(1, |log e_k|), that of a probability below 1e-11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError


def log_esp(log_odds: ArrayLike, k_max: int | None = None) -> FloatArray:
    """Return the logarithms of e_0 .. e_k_max of the odds.

    Parameters
    ----------
    log_odds
        Shape (..., features). -inf stands for odds of zero; +inf is refused, as e_1 is infinite.
    k_max
        The largest count, at most the number of features (the default).

    Returns
    -------
    Shape (..., k_max + 1); -inf where fewer than k features have odds above zero.

    Examples
    --------
    >>> import numpy as np, ribp
    >>> np.exp(ribp.log_esp(np.log([1.0, 2.0, 3.0]))).round(6).tolist()
    [1.0, 6.0, 11.0, 6.0]
    """
    theta = checks.log_odds(log_odds)
    if np.isposinf(theta).any():
        raise InputError(
            "log_odds",
            "must be below +inf here, where e_1 would be infinite",
            np.inf,
            "Leave out features that are always on and lower the count by their number.",
        )
    features = theta.shape[-1]
    k_max = features if k_max is None else checks.integer("k_max", k_max, most=features)
    out = np.full((*theta.shape[:-1], k_max + 1), -np.inf)
    for at in np.ndindex(theta.shape[:-1]):
        finite = falling(theta[at][np.isfinite(theta[at])])
        top = min(k_max, finite.size)
        out[at][: top + 1] = sorted_log_esp(finite, top)
    return out


def inclusion_probs(log_odds: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return P(feature i is on | exactly k features are on), for every feature.

    Parameters
    ----------
    log_odds
        Shape (..., features). -inf means never on, +inf always on.
    k
        The number of features that are on: a whole number, or an array that broadcasts against
        the leading shape of `log_odds`.

    Returns
    -------
    Shape (..., features); sums to k over the last axis.

    Examples
    --------
    >>> import numpy as np, ribp
    >>> ribp.inclusion_probs(np.log([1.0, 2.0, 3.0]), 2).round(4).tolist()
    [0.4545, 0.7273, 0.8182]
    """
    theta = checks.log_odds(log_odds)
    counts = checks.integers("k", k)
    shape = checks.broadcast("k", counts.shape, theta.shape[:-1])
    theta = np.broadcast_to(theta, (*shape, theta.shape[-1]))
    counts = np.broadcast_to(counts, shape)
    out = np.empty(theta.shape)
    for at in np.ndindex(shape):
        out[at] = _inclusion_row(theta[at], int(counts[at]))
    return out


def _inclusion_row(theta: FloatArray, k: int) -> FloatArray:
    from ribp.kernels.quadrature import inclusion_at

    finite = np.isfinite(theta)
    n_finite, n_on = int(finite.sum()), int(np.isposinf(theta).sum())
    if not n_on <= k <= n_on + n_finite:
        raise InputError(
            "k",
            f"must lie between the {n_on} features that are always on and the "
            f"{n_on + n_finite} that can be on",
            k,
            "Change k, or the infinite log-odds.",
        )
    out = np.where(np.isposinf(theta), 1.0, 0.0)
    if k == n_on + n_finite:
        out[finite] = 1.0
    elif k > n_on:
        out[finite] = inclusion_at(theta[finite], k - n_on)
    return out


def falling(theta: FloatArray) -> FloatArray:
    """Return log-odds in falling order, as the kernels want them."""
    return np.sort(theta)[::-1].copy()


def sorted_log_esp(theta: FloatArray, k_max: int) -> FloatArray:
    """Return log e_0 .. log e_k_max for finite log-odds in falling order."""
    from ribp.kernels import elementary_symmetric

    result: FloatArray = elementary_symmetric.log_esp(theta, k_max)
    return result


def coefficient_ratios(log_e: FloatArray, levels: IntArray) -> FloatArray:
    """Return log R_J, R_J = e_{J-1}/e_J, for each J: -inf for J = 0, +inf beyond the last e."""
    ratios = np.full(max(int(levels.max(initial=0)) + 1, log_e.size), np.inf)
    ratios[0] = -np.inf
    ratios[1 : log_e.size] = log_e[:-1] - log_e[1:]
    return np.asarray(ratios[levels])
