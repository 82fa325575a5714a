"""Densities of the log-weights theta of entries that count: what rows say, all of them or of one.

Poisson entries have lambda = e^theta, negative binomial ones the log-odds theta of pi; growth g is
0 or 1/r (`value_weights`). With u_i the units of feature i in all rows,

    log p(Z | theta) = sum_i u_i log rate_i - sum_J N_J log normaliser_J + const,

    restricted    normaliser                                    N_J
    NONZEROS      e_J of the odds exp(hazard_i) - 1             rows with J non-zeros
    SUM           c_J = [x^J] prod_i (1 - pi_i x)^{-r},         rows with the sum J
                  or Lambda^J/J! for Poisson entries

    Poisson:               rate = lambda,    hazard = -log P(0) = lambda;
    negative binomial:     rate = r pi,      hazard = -r log(1-pi).

Coefficients c_J come from power sums, J c_J = r sum_{m=1..J} p_m c_{J-m}, p_m = sum_i pi_i^m: terms
are positive and nothing cancels, O(I J + J^2). Weights are divided by the largest, and the c_j that
are kept by a power of two when they grow, so that they neither overflow nor underflow where it
matters. Of one feature, given the others, rows say

    NONZEROS      u log rate - sum_k N_k log(1 + w r_k),          r_k = e_{k-1}/e_k of the others;
    SUM           u log rate - sum_J N_J log sum_v a(v) c_{J-v},  c of the others.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.elementary_symmetric import log_esp
from ribp.kernels.jit import jit
from ribp.kernels.value_weights import log_factor
from ribp.kernels.weight_density import last_count, softplus

NONZEROS, SUM = range(2)
_FAR = 37.0
_LARGE = 2.0**500
_LOG_LARGE = 500.0 * math.log(2.0)


@jit
def log_rate(theta, growth):
    """Return log lambda, or log r pi."""
    return theta if growth == 0.0 else -math.log(growth) - softplus(-theta)


@jit
def log_hazard(theta, growth):
    """Return log(-log P(0)): theta, or ``np.log(r * np.logaddexp(0, theta))``."""
    if growth == 0.0:
        return theta
    if theta < -_FAR:
        return theta - math.log(growth)
    return math.log(softplus(theta)) - math.log(growth)


@jit
def log_nonzero(theta, growth):
    """Return log(1/P(0) - 1): ``np.log(np.expm1(hazard))``."""
    log_h = log_hazard(theta, growth)
    if log_h < -_FAR:
        return log_h
    if log_h > 709.0:
        return math.inf
    hazard = math.exp(log_h)
    return hazard if hazard > _FAR else math.log(math.expm1(hazard))


@jit
def log_coefficients(log_rates, growth, most):
    """Return log c_0 .. log c_most: ``EntryKind.log_coefficients(theta, most)[-1]``."""
    out = np.zeros(most + 1)
    if log_rates.shape[0] == 0:
        out[1:] = -math.inf
        return out
    top = log_rates.max()
    if growth == 0.0:
        total = 0.0
        for i in range(log_rates.shape[0]):
            total += math.exp(log_rates[i] - top)
        for j in range(1, most + 1):
            out[j] = j * (top + math.log(total)) - math.lgamma(j + 1.0)
        return out
    c, power, powers = np.ones(most + 1), np.ones(log_rates.shape[0]), np.zeros(most + 1)
    scale = 0.0
    for j in range(1, most + 1):
        for i in range(log_rates.shape[0]):
            power[i] *= math.exp(log_rates[i] - top)
            powers[j] += power[i]
        value = 0.0
        for m in range(1, j + 1):
            value += powers[m] * c[j - m]
        c[j] = value / (growth * j)
        if c[j] > _LARGE:
            scale += _LOG_LARGE
            for m in range(j + 1):
                c[m] /= _LARGE
        out[j] = math.log(c[j]) + scale + j * (top + math.log(growth))
    return out


@jit
def log_normalisers(theta, growth, restrict, most):
    """Return the logarithms of what rows with J = 0 .. most are divided by."""
    odds = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        odds[i] = (
            log_nonzero(theta[i], growth) if restrict == NONZEROS else log_rate(theta[i], growth)
        )
    if restrict == SUM:
        return log_coefficients(odds, growth, most)
    return log_esp(np.sort(odds)[::-1].copy(), most)


@jit
def entry_log_density(theta, units, histogram, growth, restrict):
    """Return what rows say of theta: ``units @ log_rates - histogram @ log_normalisers``."""
    value = 0.0
    for i in range(theta.shape[0]):
        if units[i] > 0.0:
            value += units[i] * log_rate(theta[i], growth)
    top = last_count(histogram)
    normalisers = log_normalisers(theta, growth, restrict, top)
    for k in range(1, top + 1):
        if histogram[k] > 0.0:
            value -= histogram[k] * normalisers[k]
    return value


@jit
def of_others(i, theta, growth, restrict, top):
    """Return what the density of theta_i needs of the others, for J = 0 .. top.

    NONZEROS: log e_{J-1} - log e_J, +inf at J = I where there are fewer others; SUM: log c_J.
    """
    others = np.delete(theta, i)
    normalisers = log_normalisers(
        others, growth, restrict, top if restrict == SUM else min(top, others.shape[0])
    )
    if restrict == SUM:
        return normalisers
    out = np.full(top + 1, math.inf)
    for k in range(1, normalisers.shape[0]):
        out[k] = normalisers[k - 1] - normalisers[k]
    return out


@jit
def site_log_density(theta, units, histogram, growth, restrict, others):
    """Return what rows say of one feature, up to a constant; `others` as `of_others` gives it."""
    rate = log_rate(theta, growth)
    value = units * rate if units > 0.0 else 0.0
    if restrict == NONZEROS:
        odds = log_nonzero(theta, growth)
        for k in range(1, others.shape[0]):
            if histogram[k] > 0.0:
                factor = odds if others[k] == math.inf else softplus(odds + others[k])
                value -= histogram[k] * factor
        return value
    for total in range(1, others.shape[0]):
        if histogram[total] > 0.0:
            value -= histogram[total] * _log_convolved(total, rate, growth, others)
    return value


@jit
def _log_convolved(total, rate, growth, others):
    """Return log sum_v a(v) c_{J-v}, J = `total`."""
    out = others[total]
    for v in range(1, total + 1):
        term = v * rate + log_factor(float(v), growth) + others[total - v]
        high, low = max(out, term), min(out, term)
        if low > high - _FAR:
            high += math.log1p(math.exp(low - high))
        out = high
    return out


@jit
def entry_weights(theta, growth):
    """Return log rates, log hazards and the log-odds of not being zero of all features."""
    out = np.empty((3, theta.shape[0]))
    for i in range(theta.shape[0]):
        out[0, i] = log_rate(theta[i], growth)
        out[1, i] = log_hazard(theta[i], growth)
        out[2, i] = log_nonzero(theta[i], growth)
    return out


@jit
def summed_log_factors(rows, growth):
    """Return the sum over all entries of what a(v) has beside rate^v (`log_factor`)."""
    total = 0.0
    for n in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            if rows[n, i] > 1.0:
                total += log_factor(rows[n, i], growth)
    return total
