"""The posterior of a row of units with known features, by visiting every row its law allows.

    p(x) = sum_z exp(table[J]) prod_i a_i(z_i) p(x | z),      table[J] = log f(J) - log c_J,

J the sum of z and a_i(v) = rate_i^v prod_{u<v} (1+g u)/(1+u) (`value_weights`). Multisets are
visited depth first, as lists of members that do not fall: each is its parent with one more unit at
j, the last member or a later one, which multiplies the weight by

    exp(gain_j) (1 + g v)/(1 + v),       gain_j = log rate_j + b_j - (Gz)_j - G_jj/2,

v units being there already. The gains of every level are kept: a row of the largest sum costs O(1),
any other O(I). Sums and draws as in `enumerate_rows`, whose weights of members are here those of
different members. What is less than e^-FAR of the largest weight is left out.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.choose import FAR
from ribp.kernels.enumerate_rows import CHOICES, GOAL, TOP, TOTAL, own_gram, start
from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair
from ribp.kernels.whole_rows import largest_count


@jit
def next_row(members, size, features, largest):
    """Step to the next multiset, depth first; return its size, or -1 after the last."""
    if size < largest:
        members[size] = members[size - 1] if size > 0 else 0
        return size + 1
    while size > 0:
        if members[size - 1] + 1 < features:
            members[size - 1] += 1
            return size
        size -= 1
    return -1


@jit
def units_at_end(members, size):
    """Return how many of the units before the last are at the same place."""
    number = 0
    while number + 1 < size and members[size - 2 - number] == members[size - 1]:
        number += 1
    return number


@jit
def weigh(seed, log_weight, members, tally, probs, means, z):
    """Add the weight of a row to the tally and to the sums of its members; make it z if chosen."""
    if log_weight < tally[TOP] - FAR:
        return
    if log_weight > tally[TOP]:
        factor = math.exp(tally[TOP] - log_weight)
        tally[TOP] = log_weight
        tally[TOTAL] *= factor
        tally[GOAL] *= factor
        for i in range(probs.shape[0]):
            probs[i] *= factor
            means[i] *= factor
    weight = math.exp(log_weight - tally[TOP])
    tally[TOTAL] += weight
    for at in range(members.shape[0]):
        means[members[at]] += weight
        if at == 0 or members[at] != members[at - 1]:
            probs[members[at]] += weight
    if tally[TOTAL] >= tally[GOAL]:
        u, _ = uniform_pair(seed, 0, 0, int(tally[CHOICES]))
        tally[GOAL] = tally[TOTAL] / u
        tally[CHOICES] += 1.0
        z[:] = 0.0
        for i in members:
            z[i] += 1.0


@jit
def units(
    seeds, data, observed, loadings, common, diagonal, log_rates, growth, table,
    log_sums, probs, sample, means,
):  # fmt: skip
    """Fill log p(x) - log p(x | z = 0), P(z_i > 0 | x), a draw of z and E[z_i | x] of every row.

    Row n has its own seed, and `data`, `observed`, ... are those of `enumerate_rows.own_gram`.
    """
    features, largest = log_rates.shape[0], largest_count(table)
    b, squares, matrix = np.empty(features), np.empty(features), np.empty((features, features))
    gain, score = np.empty((largest + 1, features)), np.zeros(largest + 1)
    members, tally = np.empty(largest, np.int64), np.empty(4)
    for n in range(data.shape[0]):
        own_gram(data[n], observed[n], loadings, common, diagonal, b, squares, matrix)
        for i in range(features):
            gain[0, i] = log_rates[i] + b[i] - 0.5 * squares[i]
        start(tally, probs[n], sample[n])
        means[n, :] = 0.0
        size = 0
        while size >= 0:
            if size > 0:
                j, v = members[size - 1], units_at_end(members, size)
                score[size] = score[size - 1] + gain[size - 1, j]
                score[size] += math.log((1.0 + growth * v) / (1.0 + v))
                if size < largest:
                    for i in range(features):
                        gain[size, i] = gain[size - 1, i] - matrix[j, i]
                    gain[size, j] -= squares[j]
            if table[size] > -math.inf:
                log_weight = table[size] + score[size]
                weigh(seeds[n], log_weight, members[:size], tally, probs[n], means[n], sample[n])
            size = next_row(members, size, features, largest)
        log_sums[n] = _finish(tally, probs[n], means[n])


@jit
def _finish(tally, probs, means):
    """Turn sums into probabilities and means, NaN if no row is possible; return log p(x)."""
    if tally[TOTAL] == 0.0:
        probs[:] = math.nan
        means[:] = math.nan
        return -math.inf
    for i in range(probs.shape[0]):
        probs[i] = min(probs[i] / tally[TOTAL], 1.0)
        means[i] /= tally[TOTAL]
    return tally[TOP] + math.log(tally[TOTAL])
