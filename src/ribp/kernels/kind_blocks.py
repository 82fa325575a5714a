"""Several features of a column of any kind and its background together: sums over rows.

With y_n = (1, z_n) of these features, and a their entries in one latent column,

    log p = sum l(x_n; eta_n),    G = sum l'(x_n; eta_n) y_n,    H = sum -l''(x_n; eta_n) y_n y_n',

over the rows that show the column: all that a Newton-Metropolis step of all of a needs.
"""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.kind_features import ordered_log_likelihood
from ribp.kernels.kind_terms import (
    BASE,
    EXPONENTIAL,
    LEVELS,
    ORDERED,
    PER_COUNT,
    SHIFT,
    WEIGHTED,
    bounded_exp,
    fill_eta,
    log_sum_exp,
    share_of,
    softplus,
)


@jit
def derivatives(x, eta, exposure, c, level, columns, shares):
    """Return l but for what does not depend on eta, l' and -l'' of an entry in column c."""
    _, form, ats, width, begin, thresholds, numbers = columns
    at = ats[c]
    v = eta[at]
    if form[c] == ORDERED:
        here, cuts, slope, bent = int(x), thresholds[0, begin[c] :], 0.0, 0.0
        if here > 0:
            p, q = share_of(v - cuts[here - 1])
            slope, bent = q, p * q
        if here < width[c] - 1:
            p, q = share_of(v - cuts[here])
            slope, bent = slope - p, bent + p * q
        return ordered_log_likelihood(here, v, cuts, width[c] - 1), slope, bent
    if form[c] == LEVELS:
        value = eta[at + int(x)] - log_sum_exp(eta, at, width[c], shares)
        rest, one = 0.0, at + level[c]
        for k in range(at, at + width[c]):
            rest += 0.0 if k == one else shares[k]
        return value, rest if int(x) == level[c] else -shares[one], shares[one] * rest
    if form[c] == WEIGHTED:
        v += numbers[c, PER_COUNT] * exposure - numbers[c, SHIFT]
        times = numbers[c, BASE] + numbers[c, PER_COUNT] * x
        p, q = share_of(v)
        return x * v - times * softplus(v), x - times * p, times * p * q
    if form[c] == EXPONENTIAL:
        rate = bounded_exp(v + exposure)
        return x * v - rate, x - rate, rate
    rest = x * numbers[c, BASE] - v
    return -0.5 * rest * rest, rest, 1.0


@jit
def add_blocks(data, observed, exposures, rows, columns, features, background, block, level, sums):
    """Add log p, G and the lower half of H, line by line, of every column.

    Parameters
    ----------
    data, observed, exposures, rows, columns, features, background, level
        As in `kind_features.add_sums`.
    block
        Numbers of the features.
    sums
        What is added to, (columns, 1 + m + m (m + 1)/2), m one more than these features.
    """
    place, m = columns[0], block.shape[0] + 1
    eta, shares = np.empty(background.shape[0]), np.empty(background.shape[0])
    on, line = np.zeros(m, np.int64), np.empty(m, np.int64)
    for p in range(m):
        line[p] = 1 + m + p * (p + 1) // 2
    for n in range(rows.shape[0]):
        fill_eta(rows[n], features, background, eta)
        number = 1  # the background is always there
        for i in range(block.shape[0]):
            on[number] = i + 1
            number += rows[n, block[i]] != 0
        for c in range(place.shape[0]):
            if observed.shape[0] > 0 and not observed[n, place[c]]:
                continue
            value, slope, bent = derivatives(
                data[n, place[c]], eta, exposures[n], c, level, columns, shares
            )
            sums[c, 0] += value
            for p in range(number):
                sums[c, 1 + on[p]] += slope
                for q in range(p + 1):
                    sums[c, line[on[p]] + on[q]] += bent
