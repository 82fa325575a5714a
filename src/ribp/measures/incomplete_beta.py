"""The incomplete beta integral in logit, from which every beta-process number follows.

For x = sigmoid(theta), p > 0 and q > -1,

    B_x(p, q) = integral_0^x u^{p-1} (1-u)^{q-1} du,

finite for every x < 1 even when q <= 0, where no complete beta function exists. The Levy tail of
the stable-beta process is B_{1-x}(c+s, -s); expected tail odds and rates of new atoms are
B_t(1-s, c+s-1) and B_t(1-s, c+s+M).

Four exact forms, each used where it neither cancels nor converges slowly (y = 1-x):

- p = 1: (1 - y^q)/q, in closed form.
- small x: x^p y^q / (b_0 + a_1/(b_1 + a_2/(b_2 + ...))), the even part of Gauss's continued
  fraction for 2F1(p+q, 1; p+1; x), with

      a_n = (p+n-1)(p+q+n-1) n (q-n) x^2 / (p+2n-1)^2,
      b_n = n + n(q-n)x/(p+2n-1) + (p+n)(py + 1 - qx + n(1+y))/(p+2n+1).

- q >= 1 and x beyond (p+1)/(p+q+2), right of the mean: B(p, q) - B_y(q, p).
- q < 1 and y below h = min(1/2, 3/(2(p+1))): B_{1-h}(p, q) plus the integrated binomial series,

      sum_k (1-p)_k/k! (h^{k+q} - y^{k+q})/(k+q),

  whose k = 0 term tends to log(h/y) as q -> 0.

Cost: 10 to 100 terms, for all elements at once. Error: a few 1e-15 max(1, |log B|).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ribp.checks import FloatArray
from ribp.measures.newton import invert_log_integral
from ribp.measures.special import (
    log_beta,
    log_exp_integral,
    log_exprel,
    log_softplus,
    logit_from_log,
    softplus,
)

_MAX_TERMS = 1000  # never reached
_SERIES_TERMS = 60  # the terms fall at least as fast as 2^-k


def log_incomplete_beta(theta: ArrayLike, p: float, q: ArrayLike) -> FloatArray:
    """Return log B_x(p, q) at x = sigmoid(theta), for p > 0 and q > -1; theta may be infinite."""
    theta, q = np.broadcast_arrays(
        np.asarray(theta, dtype=np.float64), np.asarray(q, dtype=np.float64)
    )
    if p == 1.0:
        return log_exp_integral(q, log_softplus(theta))
    shape, theta, q = theta.shape, theta.ravel(), q.ravel()
    result = np.empty(theta.shape)
    cut = _cut(p, q)
    left = theta <= cut
    complement = ~left & (q >= 1.0)
    result[left] = _by_fraction(theta[left], np.full(left.sum(), p), q[left])
    result[complement] = _by_complement(theta[complement], p, q[complement])
    for one_q in np.unique(q[~left & (q < 1.0)]):
        series = ~left & (q == one_q)
        result[series] = _by_series(theta[series], p, float(one_q), float(cut[series][0]))
    return result.reshape(shape)


def inverse_log_incomplete_beta(log_value: ArrayLike, p: float, q: float) -> FloatArray:
    """Return the log-odds of x with log B_x(p, q) = log_value, for p, q > 0."""
    log_value = np.asarray(log_value, dtype=np.float64)
    if p == 1.0:
        log_length = log_softplus(logit_from_log(_below_zero(log_value + math.log(q))))
        log_length -= math.log(q)
        return log_length + log_exprel(np.exp(log_length))
    # B_x = x^p/p (1 + O(x)), which Newton improves from the left when q > 1.
    start = logit_from_log(np.minimum((log_value + math.log(p)) / p, -1e-3))
    return invert_log_integral(
        lambda theta: log_incomplete_beta(theta, p, q),
        lambda theta: -p * softplus(-theta) - q * softplus(theta),
        log_value,
        start,
        sign=1,
    )


def _cut(p: float, q: FloatArray) -> FloatArray:
    """Return the log-odds up to which the continued fraction is used."""
    h = min(0.5, 1.5 / (p + 1.0))
    return np.where(q < 1.0, math.log((1.0 - h) / h), np.log((p + 1.0) / (q + 1.0)))


def _by_fraction(theta: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """Evaluate the continued fraction by the modified Lentz method, all elements at once."""
    x, y = special.expit(theta), special.expit(-theta)
    lead = p * y + 1.0 - q * x
    fraction = p * lead / (p + 1.0)
    c, d = fraction.copy(), np.zeros_like(theta)
    for n in range(1, _MAX_TERMS):  # pragma: no branch
        m = p + 2.0 * n
        a = (p + (n - 1)) * (p + q + (n - 1)) * n * (q - n) * (x / (m - 1.0)) ** 2
        b = n + n * (q - n) * x / (m - 1.0) + (p + n) * (lead + n * (1.0 + y)) / (m + 1.0)
        d = 1.0 / (b + a * d)
        c = b + a / c
        fraction *= c * d
        if np.all(np.abs(c * d - 1.0) < 5e-15):
            break
    result: FloatArray = -p * softplus(-theta) - q * softplus(theta) - np.log(fraction)
    return result


def _by_complement(theta: FloatArray, p: float, q: FloatArray) -> FloatArray:
    whole = log_beta(p, q)
    rest = _by_fraction(-theta, q, np.full_like(q, p))
    return whole + np.log1p(-np.exp(rest - whole))


def _by_series(theta: FloatArray, p: float, q: float, cut: float) -> FloatArray:
    """Add to B_{1-h} the integral over (y, h), in units of h^q (h/y)^max(-q, 0)."""
    log_h = -float(softplus(cut))
    span = log_h + softplus(theta)  # log(h/y)
    anchor = _by_fraction(np.array([cut]), np.array([p]), np.array([q]))[0]
    k = np.arange(1, _SERIES_TERMS + 1)
    terms = np.cumprod((k - p) / k * np.exp(log_h)) / (k + q)
    rest = np.exp(anchor - q * log_h) + np.sum(terms[1:]) - terms[0] * np.expm1(-(1.0 + q) * span)
    rest -= np.exp(-(2.0 + q) * span) * np.polynomial.polynomial.polyval(np.exp(-span), terms[1:])
    first = -np.expm1(-abs(q) * span) / abs(q) if q else span
    excess = -q * span if q < 0 else np.zeros_like(span)
    result: FloatArray = q * log_h + excess + np.log(first + rest * np.exp(-excess))
    return result


def _below_zero(log_x: FloatArray) -> FloatArray:
    return np.minimum(log_x, -np.finfo(np.float64).tiny)
