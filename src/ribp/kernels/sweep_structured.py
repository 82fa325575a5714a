"""Rows of the structured family: exact coordinate ascent, moments and draws.

A row has q(z) = exp(lambda.z + g(|z|)), and the bound asks for the largest

    E_q [b.z - z'Gz/2 + theta.z + h(|z|)] - E_q log q(z),    h(k) = E log f(k) - log e_k(theta).

Let V(z) = sum_j u_j z_j - sum_{j<l} G_jl z_j z_l with u = b - diag(G)/2 + theta - lambda, and
r = h - g. Given z_i the law of the others does not depend on lambda_i, so the bound is linear in
P(z_i = 1), plus its entropy, and highest at

    lambda_i + E[V + r | z_i = 1] - E[V + r | z_i = 0].

Given lambda the best count part is g(k) = h(k) + E[V | |z| = k] - bound, with

    bound = log sum_k e_k(e^lambda) exp(h(k) + E[V | |z| = k]).

**How expectations are found.** Of a set of features that are neighbours, given that k of them are
on, three things are kept: log e_k, the means of its z, and the mean of its V. Adding a feature
mixes those of k (it is off) and k - 1 (it is on) with weights 1 - alpha and alpha,

    alpha = w e_{k-1}/e'_k,    e'_k = e_k + w e_{k-1},

so that all means are averages of averages: nothing cancels, ties of lambda are like any other
values, and there is no limit to their size. A pass first builds the tables of all sets {i, .., I-1}
with the old lambda, then walks up: feature i sees the set before it (new lambda) and the set after
it (old lambda), independent given their counts j and k, hence E[V] of both together is the sum of
the parts less (G m_before) . m_after. Pairs of counts whose weight is below e^-60 are left out.

Cost a row: O(I^2 K) for the tables, O(I^2) for each pair of counts that matters; for a point mass
there are about 2K of these at most, otherwise as many as the row is in doubt about.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair
from ribp.kernels.whole_rows import largest_count, smallest_count

_NEVER = 45.0  # exp(-45) is below the rounding of any average
_FORGET = 60.0


@jit
def _mix(log_odds, below, same):
    """Return alpha and the logarithm of e_k + w e_{k-1}, given log e_{k-1} and log e_k."""
    d = log_odds + below - same
    if d > 0.0:
        if d > _NEVER:
            return 1.0, log_odds + below
        e = math.exp(-d)
        return 1.0 / (1.0 + e), log_odds + below + math.log1p(e)
    if d < -_NEVER:
        return 0.0, same
    e = math.exp(d)
    return e / (1.0 + e), same + math.log1p(e)


@jit
def _dot(x, y, start, stop):
    """Return ``x[start:stop] @ y[start:stop]``, in four sums that do not wait for each other."""
    a = b = c = d = 0.0
    at = start
    while at + 4 <= stop:
        a += x[at] * y[at]
        b += x[at + 1] * y[at + 1]
        c += x[at + 2] * y[at + 2]
        d += x[at + 3] * y[at + 3]
        at += 4
    while at < stop:
        a += x[at] * y[at]
        at += 1
    return (a + b) + (c + d)


@jit
def _blend(alpha, off, on, out, start, stop):
    """Set out = (1 - alpha) off + alpha on, over start..stop-1."""
    if alpha == 0.0:
        out[start:stop] = off[start:stop]
    elif alpha == 1.0:
        out[start:stop] = on[start:stop]
    else:
        beta = 1.0 - alpha
        for at in range(start, stop):
            out[at] = beta * off[at] + alpha * on[at]


@jit
def _build_after(lam, u, gram, low, high, log_e, value, means, onto):
    """Fill the tables of the sets {i, .., I-1}.

    `log_e`, `value` and `means` at [i, k] are log e_k, E[V] and E[z_l], l >= i, given k ones;
    `onto` at [i, k] is sum_{l>i} G_il E[z_l] given k ones among those after i.
    """
    features = lam.shape[0]
    log_e[features, 0] = value[features, 0] = 0.0
    for i in range(features - 1, -1, -1):
        size = features - i
        lowest = max(0, low - i - 1)
        for k in range(lowest, min(size - 1, high) + 1):
            onto[i, k] = _dot(gram[i], means[i + 1, k], i + 1, features)
        for k in range(max(0, low - i), min(size, high) + 1):
            if k == 0:
                log_e[i, 0] = value[i, 0] = 0.0
                means[i, 0, i:] = 0.0
                continue
            with_it = value[i + 1, k - 1] + u[i] - onto[i, k - 1]
            if k == size:
                log_e[i, k] = lam[i] + log_e[i + 1, k - 1]
                value[i, k] = with_it
                means[i, k, i:] = 1.0
                continue
            alpha, log_e[i, k] = _mix(lam[i], log_e[i + 1, k - 1], log_e[i + 1, k])
            value[i, k] = (1.0 - alpha) * value[i + 1, k] + alpha * with_it
            _blend(alpha, means[i + 1, k], means[i + 1, k - 1], means[i, k], i + 1, features)
            means[i, k, i] = alpha


@jit
def _add_before(i, lam, u, gram, low, high, log_e, value, field, means, take):
    """Add feature i to the set {0, .., i-1}, given the number of ones in it.

    `log_e`, `value` (E[V]) and `field` (sum_j G_jl E[z_j], l > i) are replaced; `means` at
    [i + 1, k] and `take` at [i, k] (alpha) are filled.
    """
    features = lam.shape[0]
    for k in range(min(i + 1, high), max(0, low - features + i + 1) - 1, -1):
        if k == 0:
            take[i, 0] = 0.0
            means[i + 1, 0, : i + 1] = 0.0
            continue
        with_it = value[k - 1] + u[i] - field[k - 1, i]
        if k == i + 1:
            take[i, k], log_e[k], value[k] = 1.0, lam[i] + log_e[k - 1], with_it
            for at in range(i + 1, features):
                field[k, at] = field[k - 1, at] + gram[i, at]
            means[i + 1, k, : i + 1] = 1.0
            continue
        alpha, log_e[k] = _mix(lam[i], log_e[k - 1], log_e[k])
        beta = 1.0 - alpha
        take[i, k] = alpha
        value[k] = beta * value[k] + alpha * with_it
        if alpha > 0.0:
            on, off, row = field[k - 1], field[k], gram[i]
            for at in range(i + 1, features):
                off[at] = beta * off[at] + alpha * (on[at] + row[at])
        _blend(alpha, means[i, k], means[i, k - 1], means[i + 1, k], 0, i)
        means[i + 1, k, i] = alpha


@jit
def _step(i, low, high, g, r, before, before_value, field, after, after_value, means, onto):
    """Return E[V + r | z_i = 1] - E[V + r | z_i = 0] without u_i; 0 and False if z_i is certain."""
    features = field.shape[1]
    best_off = best_on = -np.inf
    j_low, j_high = max(0, low - features + i), min(i, high)
    for j in range(j_low, j_high + 1):
        for k in range(max(0, low - 1 - j), min(features - i - 1, high - j) + 1):
            base = before[j] + after[k]
            best_off = max(best_off, base + g[j + k])
            if j + k < high:
                best_on = max(best_on, base + g[j + k + 1])
    if best_off == -np.inf or best_on == -np.inf:
        return 0.0, False
    off = on = sum_off = sum_on = 0.0
    for j in range(j_low, j_high + 1):
        for k in range(max(0, low - 1 - j), min(features - i - 1, high - j) + 1):
            base = before[j] + after[k]
            x = base + g[j + k] - best_off
            y = base + g[j + k + 1] - best_on if j + k < high else -np.inf
            if x < -_FORGET and y < -_FORGET:
                continue
            value = before_value[j] + after_value[k]
            value -= _dot(field[j], means[k], i + 1, features)
            if x >= -_FORGET:
                p = math.exp(x)
                off += p
                sum_off += p * (value + r[j + k])
            if y >= -_FORGET:
                p = math.exp(y)
                on += p
                sum_on += p * (value + r[j + k + 1] - field[j, i] - onto[k])
    return sum_on / on - sum_off / off, True


@jit
def _normalise(low, high, log_e, g, probs):
    """Make g the count part of a law that sums to one; `probs` becomes that of the count."""
    best = -np.inf
    for k in range(low, high + 1):
        best = max(best, log_e[k] + g[k])
    total = 0.0
    for k in range(low, high + 1):
        probs[k] = math.exp(log_e[k] + g[k] - best)
        total += probs[k]
    shift = best + math.log(total)
    for k in range(low, high + 1):
        g[k] -= shift
        probs[k] /= total


@jit
def _moments(weight, low, high, probs, take, means, mass, nu, row_pairs, pairs):
    """Fill nu = E[z] and row_pairs = E[z z'], and add weight times the latter to `pairs`."""
    features = nu.shape[0]
    mass[: probs.shape[0]] = probs
    for i in range(features - 1, -1, -1):
        row = row_pairs[i]
        row[:i] = 0.0
        total = 0.0
        for k in range(max(1, low - features + i + 1), min(i + 1, high) + 1):
            taken = mass[k] * take[i, k]
            if taken > 0.0:
                total += taken
                mean = means[i, k - 1]
                for at in range(i):
                    row[at] += taken * mean[at]
                mass[k] -= taken
                mass[k - 1] += taken
        nu[i] = row[i] = total
        for at in range(i):
            row_pairs[at, i] = row[at]
    for i in range(features):
        for at in range(features):
            pairs[i, at] += weight * row_pairs[i, at]


@jit
def sweep(
    linear, gram, own, place, theta, tables, law_of_row, weights, update, lam, g,
    nu, probs, divergences, pairs, own_pairs,
):  # fmt: skip
    """Update every row of a block once, or only find its moments.

    Parameters
    ----------
    linear, gram, own, place
        b (rows, features); G of complete rows; G of other rows, and where a row's is, or -1.
    theta, tables, law_of_row
        Log-odds, h (laws, counts) and the law of each row; -inf where a count is impossible.
    weights
        How many rows each one stands for.
    update
        False to leave lambda, and the shape of g, as they are.
    lam, g
        (rows, features) and (rows, counts): changed in place; g is normalised.
    nu, probs, divergences
        Out: E[z], the law of the count, and E log q(z) - E[theta.z + h(|z|)], for each row.
    pairs, own_pairs
        Out: the weighted sum of E[z z'] is added to `pairs`, and E[z z'] of each row with its own
        G is put into `own_pairs`.
    """
    rows, features = linear.shape
    counts = tables.shape[1]
    after_log_e = np.zeros((features + 1, counts))
    after_value = np.zeros((features + 1, counts))
    after_means = np.zeros((features + 1, counts, features))
    onto = np.zeros((features + 1, counts))
    log_e = np.zeros(counts)
    value = np.zeros(counts)
    r = np.zeros(counts)
    mass = np.zeros(counts)
    field = np.zeros((counts, features))
    means = np.zeros((features + 1, counts, features))
    take = np.zeros((features, counts))
    fixed = np.empty(features)
    u = np.empty(features)
    shared_pairs = np.empty((features, features))
    for n in range(rows):
        here = gram if place[n] < 0 else own[place[n]]
        h, row_lam, row_g = tables[law_of_row[n]], lam[n], g[n]
        low, high = smallest_count(h), largest_count(h)
        for i in range(features):
            fixed[i] = linear[n, i] - 0.5 * here[i, i] + theta[i]
            u[i] = fixed[i] - row_lam[i]
        for k in range(counts):
            r[k] = h[k] - row_g[k] if h[k] > -np.inf else 0.0
        if update:
            _build_after(row_lam, u, here, low, high, after_log_e, after_value, after_means, onto)
        log_e[0] = value[0] = 0.0
        field[0] = 0.0
        for i in range(features):
            if update:
                step, free = _step(
                    i, low, high, row_g, r, log_e, value, field, after_log_e[i + 1],
                    after_value[i + 1], after_means[i + 1], onto[i],
                )  # fmt: skip
                if free:
                    row_lam[i] = fixed[i] + step
                    u[i] = -step
            _add_before(i, row_lam, u, here, low, high, log_e, value, field, means, take)
        if update:
            for k in range(low, high + 1):
                row_g[k] = h[k] + value[k]
        probs[n] = 0.0
        _normalise(low, high, log_e, row_g, probs[n])
        row_pairs = shared_pairs if place[n] < 0 else own_pairs[place[n]]
        _moments(weights[n], low, high, probs[n], take, means, mass, nu[n], row_pairs, pairs)
        divergence = 0.0
        for i in range(features):
            divergence += (row_lam[i] - theta[i]) * nu[n, i]
        for k in range(low, high + 1):
            if probs[n, k] != 0.0:
                divergence += probs[n, k] * (row_g[k] - h[k])
        divergences[n] = divergence


@jit
def draw(seed, number, first, lam, g, rows):
    """Draw a row from each q(z), whose `g` need not be normalised; row n has number first + n."""
    n_rows, features = lam.shape
    counts = g.shape[1]
    log_e = np.zeros(counts)
    probs = np.zeros(counts)
    take = np.zeros((features, counts))
    count_part = np.empty(counts)
    for n in range(n_rows):
        low, high = smallest_count(g[n]), largest_count(g[n])
        for i in range(features):
            for k in range(min(i + 1, high), 0, -1):
                if k == i + 1:
                    take[i, k], log_e[k] = 1.0, lam[n, i] + log_e[k - 1]
                else:
                    take[i, k], log_e[k] = _mix(lam[n, i], log_e[k - 1], log_e[k])
        count_part[:] = g[n]
        _normalise(low, high, log_e, count_part, probs)
        u, spare = uniform_pair(seed, number, first + n, 0)
        k = low
        while k < high and u >= probs[k]:
            u -= probs[k]
            k += 1
        block = 0
        for i in range(features - 1, -1, -1):
            if i % 2:
                block += 1
                u, spare = uniform_pair(seed, number, first + n, block)
            else:
                u = spare
            rows[n, i] = u < take[i, k]
            k -= rows[n, i]
