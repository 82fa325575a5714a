"""Densities of log-odds theta: what rows say of them, and the priors that kernels know.

Rows say m . theta - sum_k N_k log e_k(exp theta), with column sums m and N_k rows of k ones
(`ribp.weights.density`). A prior that kernels know has a number, its `kind`, and is one of

    log p(theta) = sum_i [a theta_i - c phi(theta_i)] - I log z(a, c),      a = c alpha/I,

    WEAK_LIMIT    phi = log(1 + e^theta),    z = B(a, c - a);
    GAMMA_ODDS    phi = e^theta,             z = Gamma(a) c^{-a}.

Of theta only its sum and that of phi matter where mass alpha and concentration c move. Both have
the priors alpha ~ Gamma(1, 1) and c ~ Gamma(2, rate 2), as densities of their logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.elementary_symmetric import log_esp, weighted_inclusion
from ribp.kernels.jit import jit

WEAK_LIMIT, GAMMA_ODDS = 0, 1
_LARGE = 10**6  # numbers in a table of prefixes, beyond which it is kept in part
_LARGEST_EXPONENT = 709.0


@jit
def log_mass_density(mass):
    """Return the log density of log alpha: ``scipy.stats.expon.logpdf(mass) + np.log(mass)``."""
    return math.log(mass) - mass


@jit
def log_concentration_density(concentration):
    """Return the log density of log c.

    Equals ``scipy.stats.gamma.logpdf(c, 2, scale=0.5) + np.log(c)``.
    """
    return 2.0 * math.log(2.0 * concentration) - 2.0 * concentration


@jit
def softplus(x):
    """Return log(1 + e^x): ``np.logaddexp(0, x)``."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@jit
def held(kind, x):
    """Return phi(x)."""
    if kind == WEAK_LIMIT:
        return softplus(x)
    return math.exp(x) if x < _LARGEST_EXPONENT else math.inf


@jit
def held_slope(kind, x):
    """Return phi'(x): ``scipy.special.expit(x)`` or ``np.exp(x)``."""
    if kind == GAMMA_ODDS:
        return held(kind, x)
    if x > 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    odds = math.exp(x)
    return odds / (1.0 + odds)


@jit
def prior_sums(kind, theta):
    """Return the sums of theta and phi(theta)."""
    total = total_held = 0.0
    for i in range(theta.shape[0]):
        total += theta[i]
        total_held += held(kind, theta[i])
    return total, total_held


@jit
def prior_log_density(kind, mass, concentration, size, total, total_held):
    """Return log p(theta) from its sums: ``WeightPrior.log_density(theta)``."""
    c = concentration
    a = c * mass / size
    if kind == WEAK_LIMIT:
        log_z = math.lgamma(a) + math.lgamma(c - a) - math.lgamma(c)
    else:
        log_z = math.lgamma(a) - a * math.log(c)
    return a * total - c * total_held - size * log_z


@jit
def last_count(histogram):
    """Return the largest k with rows, 0 if there are none: ``np.flatnonzero(histogram).max()``."""
    top = histogram.shape[0] - 1
    while top > 0 and histogram[top] == 0.0:
        top -= 1
    return top


@jit
def row_log_density(theta, sums, histogram):
    """Return what rows say: ``sums @ theta - histogram @ log_esp(theta, histogram.size - 1)``."""
    value = 0.0
    for i in range(theta.shape[0]):
        value += sums[i] * theta[i]
    top = last_count(histogram)
    log_e = log_esp(np.sort(theta)[::-1].copy(), top)
    for k in range(1, top + 1):
        value -= histogram[k] * log_e[k]
    return value


@jit
def sort_falling(theta, order):
    """Bring `order` to falling theta, by insertion: quick where it nearly was.

    ``theta[order]`` is then ``np.sort(theta)[::-1]``.
    """
    for at in range(1, order.shape[0]):
        i, to = order[at], at
        while to > 0 and theta[order[to - 1]] < theta[i]:
            order[to] = order[to - 1]
            to -= 1
        order[to] = i


@jit
def row_gradient(theta, order, sums, histogram):
    """Return its gradient, ``sums - sum(N * inclusion_probs(theta, k))`` over k.

    `order` is that of falling theta.
    """
    size, top = theta.shape[0], last_count(histogram)
    block = size if size * (top + 1) < _LARGE else int(math.sqrt(size))
    expected = weighted_inclusion(theta[order], histogram[: top + 1], block)
    slope = np.empty(size)
    for at in range(size):
        slope[order[at]] = sums[order[at]] - expected[at]
    return slope


@jit
def log_density(theta, sums, histogram, kind, mass, concentration):
    """Return the log density of theta given rows: what rows say plus log p(theta)."""
    total, total_held = prior_sums(kind, theta)
    prior = prior_log_density(kind, mass, concentration, theta.shape[0], total, total_held)
    return row_log_density(theta, sums, histogram) + prior


@jit
def gradient(theta, order, sums, histogram, kind, mass, concentration):
    """Return its gradient: ``row_gradient(...) + WeightPrior.gradient(theta)``."""
    slope = row_gradient(theta, order, sums, histogram)
    shape = concentration * mass / theta.shape[0]
    for i in range(theta.shape[0]):
        slope[i] += shape - concentration * held_slope(kind, theta[i])
    return slope
