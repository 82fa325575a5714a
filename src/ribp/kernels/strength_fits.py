"""Gamma laws that stand for the conditional of a strength, for many features at once: Poisson data.

With rates q_d of the other features, a row's exposure r and sums over its observed columns, the
strength s of feature j has the log conditional

    l_j(s) = sum_d x_d log(1 + s A_jd/q_d) - r s sum_d A_jd + log Gamma(s; a, a),

which is concave. Its mode s* is where, with v_d(s) = s A_jd/(q_d + s A_jd), the share that j has of
x_d,

    g(s) = s l_j'(s) = a - 1 + sum_d x_d v_d(s) - (a + r sum_d A_jd) s

is zero. g is concave and positive at 0, so Newton's method from s = (a - 1 + sum_d x_d)/(a + r
sum_d A_jd), where all shares would be one and g is not positive, only falls to s*: a few steps,
none if nobody else shares in the counts. With the curvature h = -l''(s*), h s*^2 = a - 1 + sum_d
x_d v_d^2,

    q_j = Gamma(1 + h s*^2, rate h s*),      Z_j = exp(l_j(s*))/q_j(s*)

stand for the conditional and its integral. Both depend on the others only, never on what is
replaced. Where a rate is zero and a count is not, log(s A) takes the place of log(1 + s A/q).

Steps end where the next would be below 1e-4 of s: any s near the mode will do, as long as it is the
same whatever j itself has now. Loops over features are the inner ones, so that they compile to
vector instructions; a feature that has come to rest is left alone, so that its fit does not depend
on which others are fit beside it.
"""

from __future__ import annotations

import math

from ribp.kernels.jit import jit
from ribp.kernels.sweep_poisson import log1p

_CLOSE = 1e-4
_TINY = 1e-200  # rates below this are no denominators
# Rows of the array of fits, each over features: what is asked for, then s and its sums of shares.
SHAPE, RATE, LOG_Z, MODE, SHARES, SQUARES = range(6)


@jit
def log_gamma_density(s, shape, rate):
    """Return the log density of Gamma(shape, rate)."""
    return shape * math.log(rate) - math.lgamma(shape) + (shape - 1.0) * math.log(s) - rate * s


@jit
def log_conditional(s, j, rates, data, a):
    """Return l_j(s)."""
    value = log_gamma_density(s, a, a) - s * data.totals[j]
    for t in range(data.at.shape[0]):
        value += data.x[t] * log_ratio(s * data.loadings[data.at[t], j], rates[t])
    return value


@jit
def log_ratio(load, rate):
    """Return log(1 + load/rate), or log(load) if the rate is zero."""
    if rate > 0.0:
        return math.log1p(load / rate)
    return math.log(load) if load > 0.0 else -math.inf


@jit
def log_excess(s, j, rates, data, a, fits):
    """Return log W(j, s), W(j, s) = exp(l_j(s))/(q_j(s) Z_j)."""
    density = log_gamma_density(s, fits[SHAPE, j], fits[RATE, j])
    return log_conditional(s, j, rates, data, a) - density - fits[LOG_Z, j]


@jit
def fill_fits(first, last, rates, data, a, fits):
    """Fill shape and rate of q_j and log Z_j of features first, ..., last - 1.

    log Z_j is -inf if j could not have made the counts.
    """
    _fill_start(first, last, data, a, fits)
    while _step(first, last, rates, data, a, fits):
        continue
    _fill_log_conditionals(first, last, rates, data, a, fits)
    for j in range(first, last):
        bend = a - 1.0 + fits[SQUARES, j]
        fits[SHAPE, j], fits[RATE, j] = 1.0 + bend, bend / fits[MODE, j]
        fits[LOG_Z, j] -= log_gamma_density(fits[MODE, j], 1.0 + bend, bend / fits[MODE, j])


@jit
def _fill_start(first, last, data, a, fits):
    """Fill what s would be if all shares were one."""
    at, x, loadings = data.at, data.x, data.loadings
    for j in range(first, last):
        fits[MODE, j] = a - 1.0
    for t in range(at.shape[0]):
        for j in range(first, last):
            fits[MODE, j] += x[t] if loadings[at[t], j] > 0.0 else 0.0
    for j in range(first, last):
        fits[MODE, j] /= a + data.totals[j]


@jit
def _step(first, last, rates, data, a, fits):
    """Make a step of Newton's method wherever it is a long one; return whether it was anywhere."""
    at, x, loadings, totals, going = data.at, data.x, data.loadings, data.totals, 0
    for j in range(first, last):
        fits[SHARES, j] = fits[SQUARES, j] = 0.0
    for t in range(at.shape[0]):
        rate, count, d = max(rates[t], _TINY), x[t], at[t]
        for j in range(first, last):
            load = fits[MODE, j] * loadings[d, j]
            share = load / (rate + load)
            fits[SHARES, j] += count * share
            fits[SQUARES, j] += count * share * share
    for j in range(first, last):
        s, rate, total = fits[MODE, j], a + totals[j], fits[SHARES, j]
        step = (rate * s - (a - 1.0) - total) / (rate - (total - fits[SQUARES, j]) / s)
        fits[MODE, j] = s - step if step > _CLOSE * s else s
        going += step > _CLOSE * s
    return going > 0


@jit
def _fill_log_conditionals(first, last, rates, data, a, fits):
    """Fill l_j(s*) in the place of log Z_j."""
    at, x, loadings = data.at, data.x, data.loadings
    for j in range(first, last):
        s = fits[MODE, j]
        fits[LOG_Z, j] = log_gamma_density(s, a, a) - s * data.totals[j]
    for t in range(at.shape[0]):
        rate, count, d = rates[t], x[t], at[t]
        if rate > _TINY:
            inverse = 1.0 / rate
            for j in range(first, last):
                fits[LOG_Z, j] += count * log1p(fits[MODE, j] * loadings[d, j] * inverse)
        else:
            for j in range(first, last):
                fits[LOG_Z, j] += count * log_ratio(fits[MODE, j] * loadings[d, j], rate)
