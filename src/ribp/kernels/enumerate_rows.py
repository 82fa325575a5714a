"""The posterior of a row with known features, by visiting every row its count law allows.

    p(x) = sum_z exp(table[|z|] + theta.z + log-likelihood(z)),      table[k] = log f(k) - log e_k.

Sets are visited depth first, as growing lists of members: each is its parent with one more member
j, larger than all others. Counts above the largest one that the law allows are never reached, nor
sets from which too few features are left to reach the smallest; counts in a gap are passed through.

- Gaussian data: gain_j, what a member j would add to theta.z + log p(x | z) (see `sweep_gaussian`),
  is kept for every level of the tree: a set of the largest size costs O(1), any other O(I).
- Poisson data: the rates are kept for every level, and each allowed set costs a sum of logarithms.

Weights are added up relative to the largest so far; whenever a larger one comes all sums are scaled
down. The same stream of weights w_1, w_2, ... gives a draw of z without a second visit: with W the
sum when a set was last chosen, the next choice falls on the first set for which the sum exceeds
W/u, u uniform. For the set chosen last this means, as it must,

    P(it survives until the sum is T) = prod_m (1 - w_m/W_m) = W/T,          W_m = w_1 + ... + w_m.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_gaussian import Gram, make_row, own_squares
from ribp.kernels.sweep_poisson import fill_totals, list_counts
from ribp.kernels.whole_rows import largest_count, smallest_count

_NOTHING = -746.0  # e to that power is zero
TOP, TOTAL, GOAL, CHOICES = range(4)  # of a tally: largest log-weight, sum, next choice, how many


@jit
def own_gram(x, mask, loadings, common, diagonal, b, squares, matrix):
    """Fill b, the G_ii and G (zero on its diagonal) of a row over its observed columns.

    `x` holds (data - offset)/s, zero where missing, and `loadings` A'/s; `common` is G over all
    columns without its `diagonal`. Equals ``b = x @ loadings`` and, with L = loadings[mask],
    ``G = L.T @ L``.
    """
    dims, features = loadings.shape
    number = 0
    for i in range(features):
        b[i], squares[i] = 0.0, diagonal[i]
        for j in range(features):
            matrix[i, j] = common[i, j]
    for d in range(dims):
        number += mask[d]
        for i in range(features):
            b[i] += x[d] * loadings[d, i]
    if number == dims:
        return
    add = own_squares(mask, loadings, diagonal, squares)
    gram = Gram(matrix, mask, add, loadings, common)
    for i in range(features):
        make_row(i, gram)


@jit
def next_set(members, size, features, smallest, largest):
    """Step to the next set, depth first; return its size, or -1 after the last.

    Its first size - 1 members are as before. Only sets that can grow to the smallest count are
    visited.
    """
    if size < largest:
        j = members[size - 1] + 1 if size > 0 else 0
        if j < features and features - j >= smallest - size:
            members[size] = j
            return size + 1
    while size > 0:
        j = members[size - 1] + 1
        if j < features and features - j > smallest - size:
            members[size - 1] = j
            return size
        size -= 1
    return -1


@jit
def weigh(seed, log_weight, members, tally, sums, z):
    """Add the weight of a set to the tally and to the sums of its members; make it z if chosen."""
    if log_weight == -math.inf:
        return
    if log_weight > tally[TOP]:
        factor = math.exp(tally[TOP] - log_weight)
        tally[TOP] = log_weight
        tally[TOTAL] *= factor
        tally[GOAL] *= factor
        for i in range(sums.shape[0]):
            sums[i] *= factor
    weight = math.exp(log_weight - tally[TOP])
    tally[TOTAL] += weight
    for i in members:
        sums[i] += weight
    if tally[TOTAL] >= tally[GOAL]:
        u, _ = uniform_pair(seed, 0, 0, int(tally[CHOICES]))
        tally[GOAL] = tally[TOTAL] / u
        tally[CHOICES] += 1.0
        z[:] = 0
        for i in members:
            z[i] = 1


@jit
def start(tally, sums, z):
    """Empty the tally."""
    tally[:] = 0.0
    tally[TOP] = -math.inf
    sums[:] = 0.0
    z[:] = 0


@jit
def finish(tally, sums):
    """Turn sums into probabilities, NaN if no set is possible; return the logarithm of p(x)."""
    if tally[TOTAL] == 0.0:
        sums[:] = math.nan
        return -math.inf
    for i in range(sums.shape[0]):
        sums[i] = min(sums[i] / tally[TOTAL], 1.0)
    return tally[TOP] + math.log(tally[TOTAL])


@jit
def gaussian(
    seeds, data, observed, loadings, common, diagonal, theta, table, log_sums, probs, sample
):
    """Fill log p(x) - log p(x | z = 0), P(z_i = 1 | x) and a draw of z for every row.

    Row n has its own seed, and `data`, `observed`, ... are those of `own_gram`.
    """
    features = theta.shape[0]
    smallest, largest = smallest_count(table), largest_count(table)
    b, squares, matrix = np.empty(features), np.empty(features), np.empty((features, features))
    gain, score = np.empty((largest + 1, features)), np.zeros(largest + 1)
    members, tally = np.empty(largest, np.int64), np.empty(4)
    for n in range(data.shape[0]):
        own_gram(data[n], observed[n], loadings, common, diagonal, b, squares, matrix)
        for i in range(features):
            gain[0, i] = theta[i] + b[i] - 0.5 * squares[i]
        start(tally, probs[n], sample[n])
        size = 0
        while size >= 0:
            if table[size] > -math.inf:
                log_weight = table[size] + score[size]
                weigh(seeds[n], log_weight, members[:size], tally, probs[n], sample[n])
            if size == largest - 1:  # most sets are of the largest size: these come next
                for j in range(members[size - 1] + 1 if size > 0 else 0, features):
                    log_weight = table[largest] + (score[size] + gain[size, j])
                    if log_weight - tally[TOP] >= _NOTHING:
                        members[size] = j
                        weigh(seeds[n], log_weight, members, tally, probs[n], sample[n])
            size = next_set(members, size, features, smallest, largest - 1)
            if size > 0:
                j = members[size - 1]
                score[size] = score[size - 1] + gain[size - 1, j]
                for i in range(j + 1, features):
                    gain[size, i] = gain[size - 1, i] - matrix[j, i]
        log_sums[n] = finish(tally, probs[n])


@jit
def poisson(
    seeds, data, observed, exposures, loadings, offset, theta, table, log_sums, probs, sample
):
    """Fill log p(x) up to a constant, P(z_i = 1 | x) and a draw of z for every row.

    Row n has its rates times exposures[n] = r. The constant is sum_d x_d log r - r offset_d -
    log x_d! over observed columns; `loadings` are A'.
    """
    dims, features = loadings.shape
    smallest, largest = smallest_count(table), largest_count(table)
    totals, counts, at = np.empty(features), np.empty(dims), np.empty(dims, np.int64)
    rates, score = np.empty((largest + 1, dims)), np.zeros(largest + 1)
    members, tally = np.empty(largest, np.int64), np.empty(4)
    for n in range(data.shape[0]):
        fill_totals(observed[n], loadings, totals)
        m = list_counts(data[n], observed[n], at, counts)
        for t in range(m):
            rates[0, t] = offset[at[t]]
        start(tally, probs[n], sample[n])
        size = 0
        while size >= 0:
            if table[size] > -math.inf:
                log_weight = table[size] + score[size]
                for t in range(m):
                    rate = rates[size, t]
                    log_weight += counts[t] * (math.log(rate) if rate > 0.0 else -math.inf)
                weigh(seeds[n], log_weight, members[:size], tally, probs[n], sample[n])
            size = next_set(members, size, features, smallest, largest)
            if size > 0:
                j = members[size - 1]
                score[size] = score[size - 1] + theta[j] - exposures[n] * totals[j]
                for t in range(m):
                    rates[size, t] = rates[size - 1, t] + loadings[at[t], j]
        log_sums[n] = finish(tally, probs[n])
