"""Sharing rows out between two features, one row after another (linear-Gaussian data).

Rows enter one at a time, in the order given. A row goes to feature i or to feature j with
probability proportional to its predictive density, given the rows that entered before it, times
(number of rows the feature has so far, plus one). Data have unit noise; `cov` = S and `mean` = M'
describe the features given all rows that are in.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair


@jit
def _log_predictive(x, z, cov, mean):
    """Return log p(x | z) up to a constant, given the rows that are in."""
    dims, features = mean.shape
    q = e = 0.0
    for i in range(features):
        if z[i]:
            for j in range(features):
                q += cov[i, j] * z[j]
    for t in range(dims):
        r = x[t]
        for i in range(features):
            r -= mean[t, i] * z[i]
        e += r * r
    return -0.5 * dims * math.log(1.0 + q) - 0.5 * e / (1.0 + q)


@jit
def _add(x, z, cov, mean, v):
    """Bring S and M' up to date after row (x, z) has entered."""
    dims, features = mean.shape
    q = 0.0
    for i in range(features):
        v[i] = 0.0
        for j in range(features):
            v[i] += cov[i, j] * z[j]
        q += v[i] * z[i]
    scale = 1.0 / (1.0 + q)
    for t in range(dims):
        r = x[t]
        for i in range(features):
            r -= mean[t, i] * z[i]
        for i in range(features):
            mean[t, i] += v[i] * r * scale
    for i in range(features):
        for j in range(features):
            cov[i, j] -= v[i] * v[j] * scale


@jit
def share_out(seed, number, data, rows, i, j, order, cov, mean, sizes, given):
    """Share the rows in `order` between i and j, in place; return log probability of the outcome.

    With `given` the rows are left as they are, and only their probability is returned. `sizes`
    holds the numbers of rows that i and j have before the first one enters.
    """
    v = np.empty(cov.shape[0])
    first, second = float(sizes[0]), float(sizes[1])
    total = 0.0
    for at in range(order.shape[0]):
        n = order[at]
        x, z = data[n], rows[n]
        in_first = z[i] == 1
        z[i], z[j] = 1, 0
        log_odds = _log_predictive(x, z, cov, mean) + math.log(first + 1.0)
        z[i], z[j] = 0, 1
        log_odds -= _log_predictive(x, z, cov, mean) + math.log(second + 1.0)
        if not given:
            u, _ = uniform_pair(seed, number, n, 0)
            in_first = math.log(u / (1.0 - u)) < log_odds
        if in_first:
            z[i], z[j] = 1, 0
            first += 1.0
            total -= math.log1p(math.exp(-log_odds)) if log_odds > -30.0 else -log_odds
        else:
            second += 1.0
            total -= math.log1p(math.exp(log_odds)) if log_odds < 30.0 else log_odds
        _add(x, z, cov, mean, v)
    return total
