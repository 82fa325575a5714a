"""Elementary symmetric polynomials of odds, and inclusion probabilities for a given count.

With odds w_i = exp(log_odds_i), e_k = sum over sets S of k features of prod_{i in S} w_i. A row
with exactly k ones has P(z) = prod w_i^{z_i} / e_k, and feature i is in it with probability

    eta_{i;k} = w_i e_{k-1}(without i) / e_k = d log e_k / d log_odds_i,      sum_i eta_{i;k} = k.

`log_esp` costs O(features * k_max) for all counts together (`ribp.kernels.elementary_symmetric`);
`inclusion_probs` O(features) for one count (`ribp.kernels.quadrature`). Any finite log-odds are
accepted; the error of log e_k is below 1e-10 max(1, |log e_k|), that of a probability below 1e-11.

**The inverse problem** of survey sampling: given pi with sum n, find theta with eta_{i;n} = pi_i.
It maximises the concave pi.theta - log e_n(theta), is unique up to a constant, and is approached by

    theta <- theta + s (logit pi - logit eta(theta)),      s = 1 / (1 + min(1, 1/d)/2),

d = sum pi_i (1 - pi_i) (for s = 1: Chen, Dempster and Liu 1994). Near the solution the error is
multiplied by I - s D^-1 C, with C the covariance of the row and D its diagonal. Features repel each
other and the rows of C add up to zero, so D^-1 C has ones on the diagonal and rows of negative
numbers that add up to -1: its eigenvalues lie in [0, 2] (Gershgorin), 0 for the constant alone. For
s = 1 the step can swing for ever where 2 is reached, two features of which one is on; they crowd
around 1 with a spread of 1/d, which s centres. So the error falls to a third in the worst step that
was seen, and by a factor of about d where d is large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError

_STEPS = 200  # of the inverse problem; 28 is the most that was seen


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
    theta, counts = checked_counts(log_odds, k)
    out = np.where(np.isposinf(theta), 1.0, 0.0)
    for at in np.ndindex(counts.shape):
        finite = np.isfinite(theta[at])
        out[at][finite] = _inclusion_of_finite(
            theta[at][finite], int(counts[at]) - int(np.isposinf(theta[at]).sum())
        )
    return out


def _inclusion_of_finite(theta: FloatArray, k: int) -> FloatArray | float:
    from ribp.kernels.quadrature import inclusion_at

    return inclusion_at(theta, k) if 0 < k < theta.size else float(k > 0)


def checked_counts(log_odds: ArrayLike, k: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Return log-odds and a count for each row of them, after broadcasting and validation."""
    theta = checks.log_odds(log_odds)
    counts = checks.integers("k", k)
    shape = checks.broadcast("k", counts.shape, theta.shape[:-1])
    theta = np.broadcast_to(theta, (*shape, theta.shape[-1]))
    counts = np.broadcast_to(counts, shape)
    n_on, n_off = np.isposinf(theta).sum(axis=-1), np.isneginf(theta).sum(axis=-1)
    wrong = (counts < n_on) | (counts > theta.shape[-1] - n_off)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise InputError(
            "k",
            f"must lie between the {n_on[at]} features that are always on and the "
            f"{theta.shape[-1] - n_off[at]} that can be on",
            counts[at],
            "Change k, or the infinite log-odds.",
        )
    return theta, counts


def log_odds_from_inclusion(pi: ArrayLike) -> FloatArray:
    """Return log-odds whose inclusion probabilities are `pi`: the inverse of `inclusion_probs`.

    Parameters
    ----------
    pi
        Shape (features,), numbers from 0 to 1 whose sum is a whole number n, the count. The sum may
        be off by 1e-10, which no residual can fall below, or by 1e-14 n, what rounding makes of it.

    Returns
    -------
    Shape (features,): -inf where pi is 0, +inf where it is 1. Those that are finite have mean 0, as
    adding a constant to them changes nothing.

    Examples
    --------
    >>> import ribp
    >>> theta = ribp.log_odds_from_inclusion([1.0, 0.2, 0.5, 0.3, 0.0])
    >>> ribp.inclusion_probs(theta, 2).round(6).tolist()
    [1.0, 0.2, 0.5, 0.3, 0.0]
    """
    probs = _checked_inclusion(pi)
    theta = np.where(probs == 1.0, np.inf, -np.inf)
    free = (probs > 0.0) & (probs < 1.0)
    if free.any():
        goal = probs[free]
        theta[free] = _solve_inclusion(goal, round(float(goal.sum())))
    return theta


def _solve_inclusion(goal: FloatArray, n: int) -> FloatArray:
    from ribp.kernels.quadrature import inclusion_at

    wanted = _logit(goal)
    theta = wanted.copy()
    step = 1.0 / (1.0 + 0.5 * min(1.0, 1.0 / float((goal * (1.0 - goal)).sum())))
    for _ in range(_STEPS):
        eta = np.clip(inclusion_at(theta, n), 1e-300, 1.0 - 2.0**-53)
        if (np.abs(eta - goal) <= 1e-12 * goal + 1e-15).all():
            break
        theta += step * (wanted - _logit(eta))
    residual = float(np.abs(eta - goal).max())
    if residual > 1e-10:
        raise InputError(
            "pi",
            "must be the probabilities of a row of that count",
            f"{goal.size} that are missed by {residual:.2g}",
            "Set those that are nearly 0 or 1 to 0 or 1.",
        )
    centred: FloatArray = theta - theta.mean()
    return centred


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(np.log(p) - np.log1p(-p))


def _checked_inclusion(pi: ArrayLike) -> FloatArray:
    probs = checks.log_odds(pi, "pi")
    if probs.ndim != 1 or not ((probs >= 0.0) & (probs <= 1.0)).all():
        wrong = f"shape {probs.shape}" if probs.ndim != 1 else probs[(probs < 0) | (probs > 1)][0]
        raise InputError("pi", "must be one vector of numbers from 0 to 1", wrong, "Correct it.")
    total = float(probs.sum())
    n = round(total)
    if abs(total - n) > max(1e-10, 1e-14 * n):
        raise InputError(
            "pi",
            "must add up to a whole number, the count",
            f"a sum of {total!r}",
            f"For a count of {max(n, 1)} pass pi * ({max(n, 1)} / pi.sum()), if none exceeds 1.",
        )
    return probs


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
