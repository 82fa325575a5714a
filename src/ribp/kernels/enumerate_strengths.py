"""The posterior of a row whose entries have strengths, by visiting every row its law allows.

    p(x) = sum_S exp(table[|S|] + theta(S)) p(x | S),

p(x | S) and the moments m, M of the strengths from `strength_support`, sets as in `enumerate_rows`.
A set shares the rows of V and L^{-1} with its parent and appends one, O(I |S|); sets of the largest
size need only their last gain and m, M.

Positive strengths: p(x | S) has the factor P(N(m, M) > 0)/Phi(mu/tau)^|S|. With M = L L', a draw of
the strengths one after another, each given those before it and that it is positive, has a weight
prod_t Phi(c_t/L_tt), c_t the conditional mean, whose mean is that probability (Geweke,
Hajivassiliou and Keane). It is exact for one strength, and taken as one where nothing to speak of
is below zero. The draws of a set have a key of their own, so that its number is the same whenever
it is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.choose import FAR
from ribp.kernels.enumerate_rows import TOP, TOTAL, finish, next_set, own_gram, start, weigh
from ribp.kernels.jit import jit
from ribp.kernels.strength_support import (
    MEAN,
    RHO,
    G,
    Support,
    build,
    fill_covariance,
    gain,
    join,
    new_support,
    switch_on,
)
from ribp.kernels.sweep_gaussian import Gram
from ribp.kernels.truncated_normal import draw_positive, log_ndtr
from ribp.kernels.whole_rows import largest_count, smallest_count

_DRAWS = 64  # of positive strengths
_CLEAR = 8.0  # standard deviations above zero: 1e-15 is below
_RANGE = 1 << 12  # blocks of random numbers for one strength


@jit
def _key(members):
    """Return a number for a set: the counter of its random numbers."""
    key = 17
    for i in members:
        key = (key * 1_000_003 + i + 1) % 4_294_967_291
    return key


@jit
def positive_part(seed, members, m, m_matrix, root, out):
    """Fill the mean of N(m, M) given that all is positive; return the log of its mass.

    Also the relative variance of the mass, zero where it is exact.
    """
    size = m.shape[0]
    clear = True
    for t in range(size):
        out[t] = m[t]
        clear = clear and m[t] > _CLEAR * math.sqrt(m_matrix[t, t])
    if clear:
        return 0.0, 0.0
    for t in range(size):
        for r in range(t + 1):
            total = m_matrix[t, r]
            for q in range(r):
                total -= root[t, q] * root[r, q]
            root[t, r] = math.sqrt(max(total, 1e-300)) if r == t else total / root[r, r]
    if size == 1:
        at = m[0] / root[0, 0]
        mass = log_ndtr(at)
        density = math.exp(-0.5 * at * at - mass) / math.sqrt(2.0 * math.pi)
        out[0] = m[0] + root[0, 0] * density
        return mass, 0.0
    key, sums, draw = _key(members), np.zeros(size + 2), np.empty(size)
    log_weights, draws = np.empty(_DRAWS), np.empty((_DRAWS, size))
    for n in range(_DRAWS):
        log_weights[n] = 0.0
        for t in range(size):
            centre = m[t]
            for r in range(t):
                centre += root[t, r] * draw[r]
            at = centre / root[t, t]
            log_weights[n] += log_ndtr(at)
            value = draw_positive(seed, key, n, t * _RANGE, at)
            draw[t] = value - at
            draws[n, t] = root[t, t] * value
    top = log_weights.max()
    for n in range(_DRAWS):
        weight = math.exp(log_weights[n] - top)
        sums[size] += weight
        sums[size + 1] += weight * weight
        for t in range(size):
            sums[t] += weight * draws[n, t]
    for t in range(size):
        out[t] = sums[t] / sums[size]
    mean = sums[size] / _DRAWS
    variance = max(sums[size + 1] / _DRAWS / (mean * mean) - 1.0, 0.0) / _DRAWS
    return top + math.log(mean), variance


@jit
def _level(shared, kept, size):
    """Return the support of a set of some size: only `terms` are its own."""
    return Support(shared.slots, kept[size], shared.v, shared.inverse)


@jit
def strengths(
    seeds, data, observed, loadings, common, diagonal, mu, tau, positive, theta, table,
    log_sums, probs, sample, errors, sizes,
):  # fmt: skip
    """Fill log p(x) - log p(x | no features), P(z_i = 1 | x), a z, an error, and E[z_i s_i | x].

    The error is that of log p(x); zero unless strengths are positive. Arguments are those of
    `enumerate_rows.gaussian`, with the law of strengths.
    """
    features = theta.shape[0]
    smallest, largest = smallest_count(table), largest_count(table)
    shared, kept = new_support(features), np.empty((largest + 1, 6, features))
    b, squares, matrix = np.empty(features), np.empty(features), np.empty((features, features))
    m_matrix, root = np.empty_like(matrix), np.empty_like(matrix)
    mean, both = np.zeros(features), np.empty(2 * features)
    score, members, tally = np.zeros(largest + 1), np.empty(largest, np.int64), np.empty(4)
    nothing, mass = np.empty(0, np.bool_), log_ndtr(mu / tau) if positive else 0.0
    for n in range(data.shape[0]):
        own_gram(data[n], observed[n], loadings, common, diagonal, b, squares, matrix)
        gram = Gram(matrix, nothing, False, loadings, matrix)
        kept[0, G], kept[0, RHO] = squares, b
        start(tally, both, sample[n])
        size, variance = 0, 0.0
        while size >= 0:
            if table[size] > -math.inf:
                log_weight = table[size] + score[size]
                error = 0.0
                if size > 0 and (not positive or log_weight > tally[TOP] - FAR):
                    m = kept[size, MEAN]
                    for t in range(size):
                        mean[t] = m[t]
                    if positive:
                        fill_covariance(size, shared.inverse, m_matrix)
                        more, error = positive_part(
                            seeds[n], members[:size], m[:size], m_matrix[:size, :size], root, mean
                        )
                        log_weight += more
                before = tally[TOP]
                weigh(seeds[n], log_weight, members[:size], tally, both, sample[n])
                if tally[TOP] > before:
                    variance *= math.exp(2.0 * (before - tally[TOP]))
                weight = math.exp(log_weight - tally[TOP])
                variance += error * weight * weight
                for t in range(size):
                    both[features + members[t]] += weight * mean[t]
            size = next_set(members, size, features, smallest, largest)
            if size > 0:
                i, child = members[size - 1], _level(shared, kept, size)
                kept[size] = kept[size - 1]
                score[size] = score[size - 1] + theta[i] - mass
                score[size] += gain(kept[size, G, i], kept[size, RHO, i], mu, tau)
                if size < largest:
                    switch_on(i, size - 1, child, gram, squares, mu, tau)
                else:
                    join(i, size - 1, child, mu, tau)
        for i in range(features):
            probs[n, i] = both[i]
            sizes[n, i] = both[features + i] / tally[TOTAL] if tally[TOTAL] > 0.0 else math.nan
        log_sums[n] = finish(tally, probs[n])
        errors[n] = math.sqrt(variance) / max(tally[TOTAL], 1e-300)


@jit
def score_rows(
    seeds, data, observed, rows, loadings, common, diagonal, mu, tau, positive, scores, means
):
    """Fill log p(x | S) - log p(x | no features) and E[z s | x, S] of each row of `rows`."""
    features = rows.shape[1]
    support, mass = new_support(features), log_ndtr(mu / tau) if positive else 0.0
    b, squares, matrix = np.empty(features), np.empty(features), np.empty((features, features))
    root, m_matrix = np.empty_like(matrix), np.empty_like(matrix)
    mean, nothing = np.empty(features), np.empty(0, np.bool_)
    for n in range(rows.shape[0]):
        own_gram(data[n], observed[n], loadings, common, diagonal, b, squares, matrix)
        gram = Gram(matrix, nothing, False, loadings, matrix)
        size, score = build(rows[n], b, support, gram, squares, mu, tau, True)
        for t in range(size):
            mean[t] = support.terms[MEAN, t]
        if positive and size > 0:
            fill_covariance(size, support.inverse, m_matrix)
            more, _ = positive_part(
                seeds[n], support.slots[:size], support.terms[MEAN, :size],
                m_matrix[:size, :size], root, mean,
            )  # fmt: skip
            score += more - size * mass
        scores[n], means[n, :] = score, 0.0
        for t in range(size):
            means[n, support.slots[t]] = mean[t]
