"""Gibbs sweeps over binary rows with the features integrated out (linear-Gaussian data).

Data with unit noise, X = Z A + E, A_id ~ N(0, 1/lambda). Given the rows,

    A | Z, X ~ N(M, S x 1_D),   S = (Z'Z + lambda 1)^{-1},   M = S Z'X.

For row n the rows' own contribution is taken out by a rank-one step, leaving S, M of the other rows
(marked -), and a candidate z has the predictive likelihood

    log p(x | z) = -D/2 log(1+q) - e / (2 (1+q)) + const,
    q = z S- z',   e = |x - z M-|^2 = |x|^2 - 2 z.b + z C z',   b = M- x',  C = M- M-'.

With g = S- z and h = C z at hand, switching feature i by s = +-1 changes q by 2 s g_i + S-_ii and
e by -2 s b_i + 2 s h_i + C_ii: O(1) for a proposal, O(I) for a change. Taking a row out and in
costs O(I^2), and one pass over M (b = M x') if the row does not change, three if it does.

The prior of a row is f(|z|) prod w^z / e_|z|: with table[k] = log f(k) - log e_k a flip of feature
i has prior log-odds theta_i + table[k+1] - table[k], and moving a one to place i has weight w_i.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair


@jit
def log_predictive(q, e, dims):
    """Return log p(x | z) up to a constant, from q = z S z' and e = |x - z M|^2."""
    return -0.5 * dims * math.log(1.0 + q) - 0.5 * e / (1.0 + q)


@jit
def switched(i, sign, q, e, g, h, cov, gram, b):
    """Return q and e after feature i is switched on (sign 1) or off (sign -1)."""
    return q + 2.0 * sign * g[i] + cov[i, i], e - 2.0 * sign * (b[i] - h[i]) + gram[i, i]


@jit
def _switch(i, sign, z, g, h, cov, gram):
    """Switch feature i in z, and bring g = cov z and h = gram z up to date."""
    z[i] += np.int8(sign)
    for j in range(g.shape[0]):
        g[j] += sign * cov[i, j]
        h[j] += sign * gram[i, j]


@jit
def take_out(x, z, cov, mean, gram, b, g, h):
    """Turn (cov, gram) of all rows into those without row (x, z), fill b, g, h.

    `mean` stays that of all rows; its change is -v r'/d, with v = S z, r = x - z M, d = 1 - z S z'.
    b, g, h are for the others: b = M- x', g = S- z, h = C- z. Returns (q, e, d).
    """
    features, dims = mean.shape
    norm = 0.0
    for t in range(dims):
        norm += x[t] * x[t]
    for i in range(features):
        total = 0.0
        for t in range(dims):
            total += mean[i, t] * x[t]
        b[i] = total
        g[i] = h[i] = 0.0
    ones = 0
    for i in range(features):
        if z[i]:
            ones += 1
            for j in range(features):
                g[j] += cov[i, j]
                h[j] += gram[i, j]
    if ones == 0:
        return 0.0, norm, 1.0
    q = fit = cross = 0.0
    for i in range(features):
        if z[i]:
            q += g[i]
            fit += h[i]
            cross += b[i]
    d = 1.0 - q
    residual = norm - 2.0 * cross + fit  # |r|^2
    along = norm - cross  # r . x
    for i in range(features):
        h[i] = b[i] - h[i]  # M r' for now
    for i in range(features):
        for j in range(features):
            cov[i, j] += g[i] * g[j] / d
            gram[i, j] += g[i] * g[j] * residual / (d * d) - (g[i] * h[j] + h[i] * g[j]) / d
    for i in range(features):
        b[i] -= g[i] * along / d
    # With v = S z = g: S- z = v + v q/d = v/d; x - z M- = r/d; C- z = M- (z M-)' = b - M- (r/d)'.
    for i in range(features):
        own = h[i] - g[i] * residual / d  # M- r'
        h[i] = b[i] - own / d
        g[i] = g[i] / d
    return q / d, residual / (d * d), d


@jit
def put_in(x, z, old, d, cov, mean, gram, b, g, h, q, e, residual):
    """Turn (cov, gram) of the other rows, and `mean` of all, into those of all with the new z.

    `old` is v = S z of the row as it was (zero if it had no ones) and `residual` holds r = x - z M.
    """
    features, dims = mean.shape
    for i in range(features):
        if old[i] != 0.0:
            share = old[i] / d
            for t in range(dims):
                mean[i, t] -= share * residual[t]
    for t in range(dims):
        residual[t] = x[t]
    for i in range(features):
        if z[i]:
            for t in range(dims):
                residual[t] -= mean[i, t]
    for i in range(features):
        share = g[i] / (1.0 + q)
        if share != 0.0:
            for t in range(dims):
                mean[i, t] += share * residual[t]
    _add_in(cov, gram, b, g, h, q, e)


@jit
def _add_in(cov, gram, b, g, h, q, e):
    """Add a row to cov = S- and gram = C-: s = S z = g/(1+q), M- r' = b - h, |r|^2 = e."""
    features = g.shape[0]
    scale = 1.0 / (1.0 + q)
    for i in range(features):
        for j in range(features):
            cov[i, j] -= g[i] * g[j] * scale
            gram[i, j] += scale * (
                g[i] * (b[j] - h[j]) + (b[i] - h[i]) * g[j] + g[i] * g[j] * e * scale
            )


@jit
def flip_log_odds(i, z, ones, q, e, g, h, cov, gram, b, theta, table, dims):
    """Return the log-odds of z_i = 1 given the other entries of the row and all other rows."""
    sign = -1 if z[i] else 1
    other_q, other_e = switched(i, sign, q, e, g, h, cov, gram, b)
    here, there = log_predictive(q, e, dims), log_predictive(other_q, other_e, dims)
    k = ones - (1 if z[i] else 0)
    prior = theta[i] + table[k + 1] - table[k]
    return prior + (here - there if z[i] else there - here)


@jit
def relocation_log_weights(z, q, e, g, h, cov, gram, b, theta, dims, out):
    """Fill `out` with log of w_i p(x | z + e_i) for places i that are free, -inf for the others."""
    for i in range(z.shape[0]):
        if z[i]:
            out[i] = -math.inf
        else:
            new_q, new_e = switched(i, 1, q, e, g, h, cov, gram, b)
            out[i] = theta[i] + log_predictive(new_q, new_e, dims)


@jit
def _pick(log_weights, u):
    """Return an index with probability proportional to exp(log_weights)."""
    top = -math.inf
    for i in range(log_weights.shape[0]):
        top = max(top, log_weights[i])
    total = 0.0
    for i in range(log_weights.shape[0]):
        log_weights[i] = math.exp(log_weights[i] - top)
        total += log_weights[i]
    goal = u * total
    chosen = -1
    for i in range(log_weights.shape[0]):
        if log_weights[i] > 0.0:
            chosen = i
            goal -= log_weights[i]
            if goal <= 0.0:
                break
    return chosen


@jit
def sweep(seed, number, data, rows, cov, mean, gram, theta, tables, which):
    """Update every row once: a flip of each feature, then a move of each one; return changes.

    Row n has the prior table ``tables[which[n]]`` (log f(k) - log e_k, k = 0 .. I, -inf where f is
    zero). Flips are left out for rows whose law has no two neighbouring counts. `cov`, `mean` and
    `gram` are those of all rows, and are kept up to date.
    """
    n_rows, features = rows.shape
    dims = data.shape[1]
    b, g, h = np.empty(features), np.empty(features), np.empty(features)
    old, weights = np.empty(features), np.empty(features)
    residual = np.empty(dims)
    before = np.empty(features, np.int8)
    active = np.empty(features, np.int64)
    flips = np.zeros(tables.shape[0], np.bool_)
    for law in range(tables.shape[0]):
        for k in range(features):
            both = tables[law, k] > -math.inf and tables[law, k + 1] > -math.inf
            flips[law] = flips[law] or both
    changes = 0
    for n in range(n_rows):
        x, z, table = data[n], rows[n], tables[which[n]]
        before[:] = z
        q, e, d = take_out(x, z, cov, mean, gram, b, g, h)
        ones = 0
        for i in range(features):
            old[i] = g[i] * d
            ones += z[i]
        block = 0
        for i in range(0, features if flips[which[n]] else 0, 2):
            u, v = uniform_pair(seed, number, n, block)
            block += 1
            for j in range(i, min(i + 2, features)):
                odds = flip_log_odds(j, z, ones, q, e, g, h, cov, gram, b, theta, table, dims)
                draw = u if j == i else v
                on = 1 if math.log(draw / (1.0 - draw)) < odds else 0
                if on != z[j]:
                    sign = 1 if on else -1
                    q, e = switched(j, sign, q, e, g, h, cov, gram, b)
                    _switch(j, sign, z, g, h, cov, gram)
                    ones += sign
        at = 0
        for i in range(features):
            if z[i]:
                active[at] = i
                at += 1
        for last in range(ones - 1, -1, -1):  # each one once, in random order
            u, v = uniform_pair(seed, number, n, block)
            block += 1
            chosen = min(int(u * (last + 1)), last)
            i = active[chosen]
            active[chosen] = active[last]
            q, e = switched(i, -1, q, e, g, h, cov, gram, b)
            _switch(i, -1, z, g, h, cov, gram)
            relocation_log_weights(z, q, e, g, h, cov, gram, b, theta, dims, weights)
            i = _pick(weights, v)
            q, e = switched(i, 1, q, e, g, h, cov, gram, b)
            _switch(i, 1, z, g, h, cov, gram)
        changed = False
        for i in range(features):
            changed = changed or z[i] != before[i]
        if changed:
            changes += 1
            for t in range(dims):
                residual[t] = x[t]
            for i in range(features):
                if before[i]:
                    for t in range(dims):
                        residual[t] -= mean[i, t]
            put_in(x, z, old, d, cov, mean, gram, b, g, h, q, e, residual)
        else:
            _add_in(cov, gram, b, g, h, q, e)
    return changes
