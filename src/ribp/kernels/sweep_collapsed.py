"""Gibbs sweeps over binary rows with the features integrated out (linear-Gaussian data).

Data with unit noise, X = Z A + E, A_id ~ N(0, 1/lambda). Given the rows,

    A | Z, X ~ N(M, S x 1_D),   S = (Z'Z + lambda 1)^{-1},   M = S Z'X.

For row n the row's own contribution is taken out, leaving S-, M- of the other rows, and a candidate
z has the predictive likelihood

    log p(x | z) = -D/2 log(1+q) - e / (2 (1+q)) + const,
    q = z S- z',   e = |x - z M-|^2 = |x|^2 - 2 z.b + z C- z',   b = M- x',  C- = M- M-'.

With g = S- z and h = C- z at hand, switching feature i by s = +-1 changes q by 2 s g_i + S-_ii and
e by -2 s (b_i - h_i) + C-_ii: O(1) for a proposal, O(I) for a change.

S- and C- are never written down. With v = S z, r = x - z M, d = 1 - z.v and m = M r',

    S- = S + v v'/d,      M- = M - v r'/d,      C- = C + v v' |r|^2/d^2 - (v m' + m v')/d,

so a row that does not change costs one pass over M and O(I) for each try, and only one that does
costs O(I^2) and two more passes. M is kept as (dims, features), so that loops run along features.

The prior of a row is f(|z|) prod w^z / e_|z|: with table[k] = log f(k) - log e_k a flip of feature
i has prior log-odds theta_i + table[k+1] - table[k], and moving a one to place i has weight w_i.
Only the first `theta.shape[0]` columns of `rows` are free; a last one more is a background, always
on, that no law counts.

**Missing entries** are filled, and a row's own fills never enter the update of its own z. The sums
over columns above then run over the row's observed columns only, C losing the others' share; once z
is drawn, the missing entries are drawn from their predictive law N(z M-, 1+q). That is one Gibbs
step for (z, missing x) given the other rows. Where z comes out as it was the fills may stay: the
new z did not look at them, so given z they have that law already.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.choose import pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair

# Rows of the work array of one data row, each over features.
V, FIT, B, G, H, S_DIAG, C_DIAG = range(7)


@jit
def log_predictive(q, e, dims):
    """Return log p(x | z) up to a constant, from q = z S- z' and e = |x - z M-|^2."""
    return -0.5 * dims * math.log(1.0 + q) - 0.5 * e / (1.0 + q)


@jit
def observed_gram(mask, mean, gram, out):
    """Fill `out` with M M' over the columns that are observed, if not all; return their number."""
    dims, features = mean.shape
    number = 0
    for t in range(dims):
        number += mask[t]
    if number == dims:
        return number
    add = 2 * number < dims  # add up the observed columns, or take the others away
    for i in range(features):
        for j in range(features):
            out[i, j] = 0.0 if add else gram[i, j]
    sign = 1.0 if add else -1.0
    for t in range(dims):
        if mask[t] == add:
            for i in range(features):
                scaled = sign * mean[t, i]
                for j in range(features):
                    out[i, j] += scaled * mean[t, j]
    return number


@jit
def take_out(x, mask, z, cov, mean, gram, work, residual):
    """Fill the work array and r = x - z M for row (x, z); return q, e, d and |r|^2.

    work[V] = v, work[FIT] = m = M r', work[B] = b, work[G] = g, work[H] = h, and the diagonals of
    S- and C-. `cov` and `mean` are S and M' of all rows, `gram` is M M' over the columns that are
    observed (an empty `mask`: all), and so are all sums over columns; r itself is filled
    everywhere.
    """
    dims, features = mean.shape
    v, m, b, g, h = work[V], work[FIT], work[B], work[G], work[H]
    norm = 0.0
    for i in range(features):
        v[i] = m[i] = b[i] = 0.0
    complete = mask.shape[0] == 0
    for t in range(dims):
        if complete or mask[t]:
            xt = x[t]
            norm += xt * xt
            for i in range(features):
                b[i] += xt * mean[t, i]  # M x' for now
    for t in range(dims):
        residual[t] = x[t]
    for i in range(features):
        if z[i]:
            for t in range(dims):
                residual[t] -= mean[t, i]
            for j in range(features):
                v[j] += cov[i, j]
                m[j] += gram[i, j]  # C z for now
    q = cross = fit = 0.0
    for i in range(features):
        if z[i]:
            q += v[i]
            cross += b[i]
            fit += m[i]
    d = 1.0 - q
    squares = norm - 2.0 * cross + fit
    along = norm - cross  # r . x
    for i in range(features):
        m[i] = b[i] - m[i]
        b[i] -= v[i] * along / d
        g[i] = v[i] / d
        h[i] = b[i] - (m[i] - v[i] * squares / d) / d
        work[S_DIAG, i] = cov[i, i] + v[i] * v[i] / d
        work[C_DIAG, i] = gram[i, i] + v[i] * (v[i] * squares / d - 2.0 * m[i]) / d
    return q / d, squares / (d * d), d, squares


@jit
def switched(i, sign, q, e, work):
    """Return q and e after feature i is switched on (sign 1) or off (sign -1)."""
    change = 2.0 * sign * (work[B, i] - work[H, i])
    return q + 2.0 * sign * work[G, i] + work[S_DIAG, i], e - change + work[C_DIAG, i]


@jit
def switch(i, sign, z, q, e, cov, gram, work, d, squares):
    """Switch feature i in z, bring g = S- z and h = C- z up to date; return the new q and e."""
    q, e = switched(i, sign, q, e, work)
    z[i] += np.int8(sign)
    v, m, g, h = work[V], work[FIT], work[G], work[H]
    vi = sign * v[i] / d
    mi = sign * (v[i] * squares / d - m[i]) / d
    for j in range(g.shape[0]):
        g[j] += sign * cov[i, j] + vi * v[j]
        h[j] += sign * gram[i, j] + mi * v[j] - vi * m[j]
    return q, e


@jit
def put_in(x, z, cov, mean, gram, work, residual, q, e, d, squares):
    """Bring `cov`, `mean` and `gram` of all rows from the old z of this row to the new one."""
    dims, features = mean.shape
    v, b, g, h = work[V], work[B], work[G], work[H]
    scale = 1.0 / (1.0 + q)
    for t in range(dims):
        rt = residual[t] / d
        for i in range(features):
            mean[t, i] -= v[i] * rt
        fresh = x[t]
        for i in range(features):
            if z[i]:
                fresh -= mean[t, i]
        fresh *= scale
        for i in range(features):
            mean[t, i] += g[i] * fresh
    for i in range(features):
        b[i] -= h[i]  # M- (x - z M-)'
    _exchange(cov, gram, work, b, d, squares, scale, e)


@jit
def _exchange(cov, gram, work, onto, d, squares, scale, fresh_squares):
    """Bring S and M M' to the new row: v, m leave, g and `onto` = M- y' come, y = x - z M-."""
    v, m, g = work[V], work[FIT], work[G]
    features = v.shape[0]
    for i in range(features):
        vi, gi, mi, oi = v[i] / d, g[i] * scale, m[i] / d, onto[i]
        for j in range(features):
            cov[i, j] += vi * v[j] - gi * g[j]
            gram[i, j] += vi * v[j] * squares / d - vi * m[j] - mi * v[j]
            gram[i, j] += gi * onto[j] + oi * g[j] * scale + gi * g[j] * fresh_squares * scale


@jit
def impute(seed, number, n, x, mask, old, z, cov, mean, gram, work, residual, q, d):
    """Draw the missing entries of row n from N(z M-, 1+q), then do what `put_in` does.

    Everything is written in terms of C itself, as it is elsewhere: rounding errors of C then add
    up from row to row, while they would multiply if part of it were taken from M afresh.
    """
    dims, features = mean.shape
    v, m, b, g, h = work[V], work[FIT], work[B], work[G], work[H]
    scale, spread = 1.0 / (1.0 + q), math.sqrt(1.0 + q)
    norm = fresh_norm = cross = kept = along = onto = spare = 0.0
    for i in range(features):
        m[i] = b[i] = h[i] = 0.0
    for t in range(dims):
        norm += x[t] * x[t]
        for i in range(features):
            m[i] += mean[t, i] * x[t]
    for i in range(features):
        if old[i]:
            cross += m[i]
    for i in range(features):
        for j in range(features):
            if old[j]:
                m[i] -= gram[i, j]
            if z[j]:
                h[i] += gram[i, j]
        if old[i]:
            kept += m[i]
        if z[i]:
            along += v[i]
            onto += m[i]
    squares = norm - cross - kept  # |r|^2
    for i in range(features):
        h[i] += (v[i] * (along * squares / d - onto) - m[i] * along) / d
    block = 2 * features + 2  # beyond the blocks of flips and moves
    for t in range(dims):
        rt, fitted = residual[t] / d, 0.0
        for i in range(features):
            mean[t, i] -= v[i] * rt
            if z[i]:
                fitted += mean[t, i]
        if not mask[t]:
            if spare == 0.0:
                u, w = uniform_pair(seed, number, n, block + t)
                radius, angle = spread * math.sqrt(-2.0 * math.log(u)), 2.0 * math.pi * w
                x[t], spare = fitted + radius * math.cos(angle), radius * math.sin(angle)
            else:
                x[t], spare = fitted + spare, 0.0
        fresh_norm += x[t] * x[t]
        fresh = (x[t] - fitted) * scale
        for i in range(features):
            b[i] += mean[t, i] * x[t]
            mean[t, i] += g[i] * fresh
    fresh_squares = fresh_norm
    for i in range(features):
        if z[i]:
            fresh_squares += h[i] - 2.0 * b[i]
        b[i] -= h[i]
    _exchange(cov, gram, work, b, d, squares, scale, fresh_squares)


@jit
def gram_of_row(n, observed, mean, gram, part, nothing):
    """Return which columns row n shows, M M' over these, and their number.

    If it shows all of them, the first is `nothing`, an empty array, and the second is `gram`
    itself.
    """
    dims = mean.shape[0]
    if observed.shape[0] > 0:
        number = observed_gram(observed[n], mean, gram, part)
        if number < dims:
            return observed[n], part, number
    return nothing, gram, dims


@jit
def put_back(seed, number, n, x, mask, old, z, cov, mean, gram, work, residual, q, e, d, squares):
    """Do what `impute` or `put_in` does if z is not the old one; return whether it is not."""
    changed = False
    for i in range(z.shape[0]):
        changed = changed or z[i] != old[i]
    if changed and mask.shape[0] > 0:
        impute(seed, number, n, x, mask, old, z, cov, mean, gram, work, residual, q, d)
    elif changed:
        put_in(x, z, cov, mean, gram, work, residual, q, e, d, squares)
    return changed


@jit
def flip_log_odds(i, z, ones, q, e, work, theta, table, dims):
    """Return the log-odds of z_i = 1 given the other entries of the row and all other rows."""
    sign = -1 if z[i] else 1
    other_q, other_e = switched(i, sign, q, e, work)
    here, there = log_predictive(q, e, dims), log_predictive(other_q, other_e, dims)
    k = ones - (1 if z[i] else 0)
    prior = theta[i] + table[k + 1] - table[k]
    return prior + (here - there if z[i] else there - here)


@jit
def relocation_log_weights(z, q, e, work, theta, dims, out):
    """Fill `out` with log of w_i p(x | z + e_i) for places i that are free, -inf for the others."""
    for i in range(theta.shape[0]):
        if z[i]:
            out[i] = -math.inf
        else:
            new_q, new_e = switched(i, 1, q, e, work)
            out[i] = theta[i] + log_predictive(new_q, new_e, dims)


@jit
def has_neighbours(table):
    """Return whether two neighbouring counts are possible, so that flips can do anything."""
    found = False
    for k in range(table.shape[0] - 1):
        found = found or (table[k] > -math.inf and table[k + 1] > -math.inf)
    return found


@jit
def sweep(seed, number, data, observed, rows, cov, mean, gram, theta, tables, law_of_row):
    """Update every row once: a flip of each feature, then a move of each one; return changes.

    Row n has the prior table ``tables[law_of_row[n]]`` (log f(k) - log e_k, k = 0 .. I, -inf where
    f is zero). Flips are left out for rows whose law has no two neighbouring counts. `cov` = S,
    `mean` = M' and `gram` = M M' are those of all rows, and are kept up to date. `observed` is
    empty for complete data; otherwise entries of `data` that are not observed are drawn anew with
    their row.
    """
    n_rows, width = rows.shape
    dims, features = data.shape[1], theta.shape[0]
    work, weights = np.empty((7, width)), np.empty(features)
    residual, nothing = np.empty(dims), np.empty(0, np.bool_)
    part = np.empty((width, width))
    before, active = np.ones(width, np.int8), np.empty(features, np.int64)
    changes = 0
    for n in range(n_rows):
        x, z, table = data[n], rows[n], tables[law_of_row[n]]
        mask, own, size = gram_of_row(n, observed, mean, gram, part, nothing)
        q, e, d, squares = take_out(x, mask, z, cov, mean, own, work, residual)
        ones = 0
        for i in range(features):
            before[i] = z[i]
            ones += z[i]
        block = 0
        for i in range(0, features if has_neighbours(table) else 0, 2):
            u, v = uniform_pair(seed, number, n, block)
            block += 1
            for j in range(i, min(i + 2, features)):
                odds = flip_log_odds(j, z, ones, q, e, work, theta, table, size)
                draw = u if j == i else v
                on = 1 if math.log(draw / (1.0 - draw)) < odds else 0
                if on != z[j]:
                    sign = 1 if on else -1
                    q, e = switch(j, sign, z, q, e, cov, own, work, d, squares)
                    ones += sign
        for last in range(list_ones(z, active) - 1, -1, -1):  # each one once, in random order
            u, v = uniform_pair(seed, number, n, block)
            block += 1
            i = take_out_one(u, active, last)
            q, e = switch(i, -1, z, q, e, cov, own, work, d, squares)
            relocation_log_weights(z, q, e, work, theta, size, weights)
            i = pick(weights, v)
            q, e = switch(i, 1, z, q, e, cov, own, work, d, squares)
        changes += put_back(
            seed, number, n, x, mask, before, z, cov, mean, gram, work, residual, q, e, d, squares
        )
    return changes


@jit
def fill(seed, number, data, rows, counts, cov, mean, gram, theta):
    """Give rows that have too few ones more of them, up to counts[n], one draw after another.

    Each new one goes to a free place i with probability proportional to w_i p(x | z + e_i), given
    all other rows and the ones drawn so far. A start, not a step of a chain.
    """
    n_rows, width = rows.shape
    dims, features = data.shape[1], theta.shape[0]
    work, weights, residual = np.empty((7, width)), np.empty(features), np.empty(dims)
    nothing = np.empty(0, np.bool_)
    for n in range(n_rows):
        x, z = data[n], rows[n]
        ones = 0
        for i in range(features):
            ones += z[i]
        if ones >= counts[n]:
            continue
        q, e, d, squares = take_out(x, nothing, z, cov, mean, gram, work, residual)
        for j in range(ones, counts[n]):
            u, _ = uniform_pair(seed, number, n, j)
            relocation_log_weights(z, q, e, work, theta, dims, weights)
            i = pick(weights, u)
            q, e = switch(i, 1, z, q, e, cov, gram, work, d, squares)
        put_in(x, z, cov, mean, gram, work, residual, q, e, d, squares)
