"""Slices for the law of strengths: its scale, and the common scale of a feature's strengths.

All are numbers l on a line with a log density of one form,

    linear l - up2 e^{2l} + up1 e^l - down2 e^{-2l} - tail log Phi(e^{-l})
    + gammas (l e^l - log Gamma(e^l)),

- l = log tau, the strengths of M entries N(1, tau^2), tau^2 ~ InvGamma(2, w/2):
  linear = -(4 + M), down2 = (w + sum (s - 1)^2)/2, and tail = M if strengths are positive;
- l = log c, a feature's strengths times c and the feature divided by c, which leaves the data as
  they are: with m strengths, D columns and q = |A_i|^2 in units of its prior, linear = m - D (the
  Jacobian), up2 = sum s^2/(2 tau^2), up1 = mu sum s/tau^2, down2 = q/2;
- l = log a, the strengths of M entries Gamma(a, rate a), a ~ Gamma(2, rate w/2) above 1.01:
  linear = 2, up1 = sum (log s - s) - w/2, gammas = M;
- l = (log c)/2 of gamma strengths and features A_id ~ Gamma(a_A, rate b): linear = 2 (a m - a_A D),
  up2 = a sum s, down2 = b sum_d A_id.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.truncated_normal import log_ndtr
from ribp.kernels.variates import next_pair, next_uniform

LINEAR, UP2, UP1, DOWN2, TAIL, GAMMAS = range(6)
LEAST_SCALE = 1e-3
"""Of tau: below it 1/M_aa - lambda has no digits left (`ribp.kernels.strength_support`)."""
LEAST_SHAPE = 1.01
"""Of a: from one downwards the density of a strength has no mode above zero."""


@jit
def log_density(at, terms):
    """Return the log density of l, up to a constant."""
    up, down = math.exp(at), math.exp(-at)
    value = terms[LINEAR] * at - terms[UP2] * up * up + terms[UP1] * up - terms[DOWN2] * down * down
    if terms[GAMMAS] > 0.0:
        value += terms[GAMMAS] * (at * up - math.lgamma(up))
    return value - terms[TAIL] * log_ndtr(down) if terms[TAIL] > 0.0 else value


@jit
def slice_step(seed, place, start, terms, width, low):
    """Return l after a slice step on (low, inf): step out from `start`, then shrink."""
    u, v = next_pair(seed, place)
    level = log_density(start, terms) + math.log(u)
    left = start - width * v
    right = left + width
    while left > low and log_density(left, terms) > level:
        left -= width
    while log_density(right, terms) > level:
        right += width
    left = max(left, low)
    while True:
        at = left + (right - left) * next_uniform(seed, place)
        if log_density(at, terms) > level or at == start:
            return at
        if at < start:
            left = at
        else:
            right = at


@jit
def draw_scale(seed, tau, number, squares, least, positive):
    """Return tau after a slice step, given how many strengths there are and sum (s - 1)^2.

    `least` is w of the prior.
    """
    terms = np.zeros(6)
    terms[LINEAR], terms[DOWN2] = -(4.0 + number), 0.5 * (least + squares)
    terms[TAIL] = number if positive else 0.0
    width = 3.0 / math.sqrt(1.0 + number)
    at = slice_step(seed, np.zeros(3, np.int64), math.log(tau), terms, width, math.log(LEAST_SCALE))
    return math.exp(at)


@jit
def draw_factors(seed, mu, tau, sums, sizes, dims, first):
    """Return c of each feature after a slice step; 1 for the first ones and those no row has.

    `sums` are how many rows have each feature, sum s and sum s^2; `sizes` are q.
    """
    factors, terms, place = np.ones(sums.shape[1]), np.zeros(6), np.zeros(3, np.int64)
    precision = 1.0 / (tau * tau)
    for i in range(first, factors.shape[0]):
        if sums[0, i] > 0.0:
            terms[LINEAR], terms[UP2] = sums[0, i] - dims, 0.5 * precision * sums[2, i]
            terms[UP1], terms[DOWN2] = mu * precision * sums[1, i], 0.5 * sizes[i]
            width = 3.0 / math.sqrt(1.0 + 2.0 * (terms[UP2] + terms[DOWN2]))
            factors[i] = math.exp(slice_step(seed, place, 0.0, terms, width, -math.inf))
    return factors


@jit
def draw_shape(seed, shape, number, total, logs, least):
    """Return a after a slice step, given how many strengths there are, sum s and sum log s.

    `least` is w of the prior.
    """
    terms = np.zeros(6)
    terms[LINEAR], terms[UP1], terms[GAMMAS] = 2.0, logs - total - 0.5 * least, number
    width, low = 3.0 / math.sqrt(1.0 + 0.5 * number), math.log(LEAST_SHAPE)
    return math.exp(slice_step(seed, np.zeros(3, np.int64), math.log(shape), terms, width, low))


@jit
def draw_gamma_factors(seed, shape, sums, sizes, feature_shape, dims, first):
    """Return c of each feature after a slice step; 1 for the first ones and those no row has.

    `sums` are how many rows have each feature, sum s and sum log s; `sizes` are b sum_d A_id.
    """
    factors, terms, place = np.ones(sums.shape[1]), np.zeros(6), np.zeros(3, np.int64)
    for i in range(first, factors.shape[0]):
        if sums[0, i] > 0.0:
            terms[LINEAR] = 2.0 * (shape * sums[0, i] - feature_shape * dims)
            terms[UP2], terms[DOWN2] = shape * sums[1, i], sizes[i]
            width = 3.0 / math.sqrt(1.0 + 4.0 * (terms[UP2] + terms[DOWN2]))
            factors[i] = math.exp(2.0 * slice_step(seed, place, 0.0, terms, width, -math.inf))
    return factors
