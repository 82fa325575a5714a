"""Gibbs sweeps over rows of the (unrestricted) Indian buffet, features integrated out.

A row is taken out, its own dishes with it. Given the other N-1 rows, a dish that m of them have is
taken with prior odds m/(c + N - 1 - m), and the number of new dishes is Poisson with mean
lambda = c alpha/(c + N - 1). Nobody else has a new dish, so k of them add k t^2 to the predictive
variance of the row and nothing to its mean: with q and e of the dishes that others have,

    P(k) is proportional to lambda^k/k! (1 + q + k t^2)^{-D/2} exp(-e/(2 (1 + q + k t^2))),

summed until the rest is below rounding. Linear algebra as in `sweep_collapsed`. Columns of `rows`
without any ones are room for new dishes; a sweep stops at the row that finds no room.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_collapsed import (
    gram_of_row,
    log_predictive,
    put_back,
    switch,
    switched,
    take_out,
)

_NEGLIGIBLE = 40.0  # in log probability


@jit
def new_dish_log_weight(k, log_rate, q, e, variance, dims):
    """Return log P(k) up to a constant."""
    return k * log_rate - math.lgamma(k + 1.0) + log_predictive(q + k * variance, e, dims)


@jit
def draw_new_dishes(u, log_rate, q, e, variance, dims):
    """Return k drawn from P by inversion of its distribution function."""
    top, total, k = -math.inf, 0.0, 0
    while True:
        weight = new_dish_log_weight(k, log_rate, q, e, variance, dims)
        if weight > top:
            total = total * math.exp(top - weight) + 1.0
            top = weight
        else:
            total += math.exp(weight - top)
        # Past both peaks, of the Poisson law and of the density in its variance, weights only fall.
        falling = k > math.exp(log_rate) and dims * (1.0 + q + k * variance) >= e
        if falling and weight < top - _NEGLIGIBLE:
            break
        k += 1
    goal, last = u * total, k
    for k in range(last):
        goal -= math.exp(new_dish_log_weight(k, log_rate, q, e, variance, dims) - top)
        if goal <= 0.0:
            return k
    return last


@jit
def flip_log_odds(i, z, q, e, work, others, left, dims):
    """Return the log-odds of taking a dish that `others` rows have and `left` + c do not."""
    sign = -1 if z[i] else 1
    other_q, other_e = switched(i, sign, q, e, work)
    gain = log_predictive(other_q, other_e, dims) - log_predictive(q, e, dims)
    return math.log(others / left) + sign * gain


@jit
def sweep(
    seed, number, first, data, observed, rows, free, cov, mean, gram, mass, concentration, variance
):
    """Update rows from `first` on; return the row that found no room, or the number of rows.

    The first `free` columns of `rows` are dishes, a last one more is a background; `variance` is
    t^2. `cov`, `mean`, `gram` and, where not observed, `data` are kept up to date. A row that finds
    no room is left as it was, and draws the same when there is more.
    """
    n_rows, width = rows.shape
    dims = data.shape[1]
    work, residual, nothing = np.empty((7, width)), np.empty(dims), np.empty(0, np.bool_)
    part, before = np.empty((width, width)), np.ones(width, np.int8)
    sizes = np.zeros(free)
    for n in range(n_rows):
        for i in range(free):
            sizes[i] += rows[n, i]
    everyone = concentration + n_rows - 1.0
    log_rate = math.log(concentration * mass / everyone)
    for n in range(first, n_rows):
        x, z = data[n], rows[n]
        mask, own, size = gram_of_row(n, observed, mean, gram, part, nothing)
        q, e, d, squares = take_out(x, mask, z, cov, mean, own, work, residual)
        for i in range(free):
            before[i] = z[i]
            sizes[i] -= z[i]
        for i in range(free):
            if sizes[i] > 0:
                odds = flip_log_odds(i, z, q, e, work, sizes[i], everyone - sizes[i], size)
                u, _ = uniform_pair(seed, number, n, i + 1)
                on = 1 if math.log(u / (1.0 - u)) < odds else 0
                if on != z[i]:
                    sign = 1 if on else -1
                    q, e = switch(i, sign, z, q, e, cov, own, work, d, squares)
        for i in range(free):
            if z[i] and sizes[i] == 0:  # nobody else's: all off, then as many as are drawn
                q, e = switch(i, -1, z, q, e, cov, own, work, d, squares)
        u, _ = uniform_pair(seed, number, n, 0)
        wanted = draw_new_dishes(u, log_rate, q, e, variance, size)
        for i in range(free):
            if sizes[i] == 0 and wanted > 0:
                wanted -= 1
                q, e = switch(i, 1, z, q, e, cov, own, work, d, squares)
        if wanted > 0:
            for i in range(free):
                z[i] = before[i]
            return n
        for i in range(free):
            sizes[i] += z[i]
        put_back(
            seed, number, n, x, mask, before, z, cov, mean, gram, work, residual, q, e, d, squares
        )
    return n_rows
