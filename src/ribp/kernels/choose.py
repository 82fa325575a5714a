"""Random choices made of counter-based uniforms: a coin, one of several places, a binomial number.

Uniforms are (m + 1/2) 2^-52, so their log-odds never leave +-36.75: a coin with log-odds beyond
+-37 has a certain outcome, and none is drawn for it.

The binomial law, by one of two exact methods (p <= 1/2, or else the zeros are counted):

- np < 10: inversion, adding up P(0), P(1), ... until the uniform is passed;
- otherwise transformed rejection (Hoermann 1993, "The generation of binomial random variates",
  algorithm BTRS). A point (U, V) of (-1/2, 1/2) x (0, 1) gives k = floor((2a/h + b) U + c),
  h = 1/2 - |U|, which is accepted if V <= P(k)/P(mode) (a/h^2 + b)/alpha. About 1.2 tries, and
  most of them need no P(k), since the right side is at least v_r where h >= 0.07.

log P(k) has no terms of the size of n: with Stirling's remainder s(k) = log k! - log(sqrt(2 pi k)
(k/e)^k) and the deviance d(x, m) = x log(x/m) + m - x,

    log P(k) = s(n) - s(k) - s(n-k) - d(k, np) - d(n-k, nq) - log(2 pi k (n-k)/n)/2.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

CERTAIN = 37.0
FAR = 40.0  # exp(-40) is a twenty-fifth of the least uniform
_FEW = 10.0  # np below which the binomial law is inverted
_SAFE = 0.07
_SMALL = np.array(  # Stirling's remainder at 1 .. 15
    [0.0]
    + [
        math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2.0 * math.pi)
        for k in range(1, 16)
    ]
)


@jit
def coin(seed, sweep, row, at, log_odds):
    """Throw coin number `at` of a row; uniforms 2j and 2j+1 are those of block j."""
    if log_odds > CERTAIN:
        return True
    if not log_odds >= -CERTAIN:
        return False
    u, v = uniform_pair(seed, sweep, row, at // 2)
    return shows(v if at % 2 else u, log_odds)


@jit
def shows(draw, log_odds):
    """Return whether a coin whose log-odds are not certain shows True for this uniform."""
    return math.log(draw / (1.0 - draw)) < log_odds


@jit
def surely_tails(draw, most):
    """Return whether a coin whose log-odds are at most `most` shows False for this uniform.

    Decided without a logarithm, e^-y <= 1/(1 + y + y^2/2 + y^3/6); False where that does not tell.
    """
    y = -most
    return y > 0.0 and draw * (1.0 + y * (1.0 + y * (0.5 + y / 6.0))) >= 1.0 - draw


@jit
def pick(log_weights, u):
    """Return an index with probability proportional to exp(log_weights); -1 if all are zero.

    Weights below exp(-40) times the largest count as zero. `log_weights` is overwritten.
    """
    top = -math.inf
    best = -1
    for i in range(log_weights.shape[0]):
        if log_weights[i] > top:
            top = log_weights[i]
            best = i
    if best < 0:
        return best
    total = 0.0
    for i in range(log_weights.shape[0]):
        near = log_weights[i] >= top - FAR
        log_weights[i] = math.exp(log_weights[i] - top) if near else 0.0
        total += log_weights[i]
    if total == 1.0:
        return best
    goal = u * total
    chosen = -1
    for i in range(log_weights.shape[0]):
        if log_weights[i] > 0.0 and goal > 0.0:
            chosen = i
            goal -= log_weights[i]
    return chosen


@jit
def binomial(seed, sweep, row, block, n, p):
    """Return a Binomial(n, p) number and the first block that was not used; n is a float."""
    if n == 0.0 or not p > 0.0:
        return 0.0, block
    if p >= 1.0:
        return n, block
    least = min(p, 1.0 - p)
    if n * least < _FEW:
        u, _ = uniform_pair(seed, sweep, row, block)
        k = _by_inversion(u, n, least)
        block += 1
    else:
        k, block = _by_rejection(seed, sweep, row, block, n, least)
    return (k if p <= 0.5 else n - k), block


@jit
def _by_inversion(u, n, p):
    """Return the u-quantile of Binomial(n, p), np < 10: beyond 110 lies less than 1e-75."""
    odds = p / (1.0 - p)
    mass = math.exp(n * math.log1p(-p))
    k = 0.0
    while u > mass and k < min(n, 110.0):
        u -= mass
        mass *= odds * (n - k) / (k + 1.0)
        k += 1.0
    return k


@jit
def rejection_constants(n, p):
    """Return Hoermann's a, b, alpha and v_r; c is np + 1/2."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    return -0.0873 + 0.0248 * b + 0.01 * p, b, (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b


@jit
def _by_rejection(seed, sweep, row, block, n, p):
    a, b, alpha, squeeze = rejection_constants(n, p)
    mode = math.floor((n + 1.0) * p)
    while True:
        u, v = uniform_pair(seed, sweep, row, block)
        block += 1
        u -= 0.5
        h = 0.5 - abs(u)
        k = math.floor((2.0 * a / h + b) * u + n * p + 0.5)
        if h >= _SAFE and v <= squeeze:
            return k, block
        if 0.0 <= k <= n:
            log_ratio = log_binomial(k, n, p) - log_binomial(mode, n, p)
            if math.log(v * alpha / (a / (h * h) + b)) <= log_ratio:
                return k, block


@jit
def log_binomial(k, n, p):
    """Return log P(k) of Binomial(n, p), 0 < p < 1."""
    if k == 0.0:
        return n * math.log1p(-p)
    if k == n:
        return n * math.log(p)
    error = _stirling(n) - _stirling(k) - _stirling(n - k)
    distance = _deviance(k, n * p) + _deviance(n - k, n * (1.0 - p))
    return error - distance - 0.5 * math.log(2.0 * math.pi * k * ((n - k) / n))


@jit
def _stirling(k):
    """Return log k! - log(sqrt(2 pi k) (k/e)^k) for k >= 1."""
    if k < _SMALL.shape[0]:
        return _SMALL[int(k)]
    t = 1.0 / (k * k)
    return (1.0 / 12.0 - t * (1.0 / 360.0 - t * (1.0 / 1260.0 - t / 1680.0))) / k


@jit
def _deviance(x, mean):
    """Return x log(x / mean) + mean - x."""
    t = (x - mean) / mean
    return mean * ((1.0 + t) * math.log1p(t) - t)
