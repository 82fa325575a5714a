"""Exposures of rows of counts that are learned: drawn, and moved with the strengths of the row.

    x_d ~ Poisson(r (offset_d + sum_i y_i A_id)),    r ~ Gamma(c, rate c),    s ~ Gamma(a, rate a).

Given everything else r is a gamma variate. Where entries have strengths, (r, s) -> (r e^-l, s e^l)
hardly changes the rates, and without an offset not at all: r and s would move slowly along it. With
k strengths of a row, m_d = sum_i y_i A_id and sums over observed columns, l has the log density

    (a k - c) l - a e^l sum s - r e^-l (c + sum_d offset_d) + sum_d x_d log(offset_d e^-l + m_d),

a k - c being (a - 1) k - (c - 1) of the densities and k - 1 of the Jacobian. A slice step moves it.
A row draws its random numbers one after another, from the stream of its number; `seed` is not that
of a sweep of the same number.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.variates import begin_row, log_gamma_variate, next_pair, next_uniform

LINEAR, UP, DOWN = range(3)


@jit
def fill_made(x, mask, y, loadings, offset, counts, offsets, made):
    """Fill counts that are positive, their offsets and m; return their number.

    And the sum of all offsets that are observed; `mask` is empty if nothing is missing.
    """
    number, background = 0, 0.0
    for d in range(x.shape[0]):
        if mask.shape[0] == 0 or mask[d]:
            background += offset[d]
            if x[d] > 0.0:
                counts[number], offsets[number], made[number] = x[d], offset[d], 0.0
                for i in range(y.shape[0]):
                    made[number] += y[i] * loadings[d, i]
                number += 1
    return number, background


@jit
def log_density(at, terms, counts, offsets, made):
    """Return the log density of l, up to a constant; without counts if nothing has an offset."""
    down = math.exp(-at)
    value = terms[LINEAR] * at - terms[UP] * math.exp(at) - terms[DOWN] * down
    for t in range(counts.shape[0]):
        value += counts[t] * math.log(offsets[t] * down + made[t])
    return value


@jit
def slice_step(seed, place, terms, counts, offsets, made):
    """Return l after a slice step from 0: step out, then shrink."""
    width = 3.0 / math.sqrt(1.0 + terms[UP] + terms[DOWN])
    u, v = next_pair(seed, place)
    level = log_density(0.0, terms, counts, offsets, made) + math.log(u)
    left = -width * v
    right = left + width
    while log_density(left, terms, counts, offsets, made) > level:
        left -= width
    while log_density(right, terms, counts, offsets, made) > level:
        right += width
    while True:
        at = left + (right - left) * next_uniform(seed, place)
        if log_density(at, terms, counts, offsets, made) > level or at == 0.0:
            return at
        if at < 0.0:
            left = at
        else:
            right = at


@jit
def rescale(
    seed, number, first, data, observed, rows, loadings, offset, shape, own_shape, exposures
):
    """Move strengths and exposures of rows number first, first + 1, ... along their common scale.

    `shape` is a, `own_shape` c.
    """
    dims = data.shape[1]
    terms, place, mask = np.empty(3), np.empty(3, np.int64), np.empty(observed.shape[1], np.bool_)
    counts, offsets, made = np.empty(dims), np.empty(dims), np.empty(dims)
    for n in range(rows.shape[0]):
        y, ones, total = rows[n], 0, 0.0
        for i in range(y.shape[0]):
            ones += y[i] > 0.0
            total += y[i]
        if ones == 0:
            continue
        if observed.shape[0] > 0:
            mask[:] = observed[n]
        m, background = fill_made(data[n], mask, y, loadings, offset, counts, offsets, made)
        m = m if background > 0.0 else 0
        terms[LINEAR], terms[UP] = shape * ones - own_shape, shape * total
        terms[DOWN] = exposures[n] * (own_shape + background)
        begin_row(place, number, first + n)
        by = math.exp(slice_step(seed, place, terms, counts[:m], offsets[:m], made[:m]))
        for i in range(y.shape[0]):
            y[i] *= by
        exposures[n] /= by


@jit
def draw_exposures(seed, number, first, data, observed, rows, loadings, offset, shape, rate, out):
    """Draw r_n ~ Gamma(shape + sum of counts, rate + sum of rates) over observed columns."""
    place = np.empty(3, np.int64)
    for n in range(rows.shape[0]):
        counts, total = shape, rate
        for d in range(data.shape[1]):
            if observed.shape[0] == 0 or observed[n, d]:
                counts += data[n, d]
                total += offset[d]
                for i in range(rows.shape[1]):
                    total += rows[n, i] * loadings[d, i]
        begin_row(place, number, first + n)
        out[n] = math.exp(log_gamma_variate(seed, place, counts)) / total
