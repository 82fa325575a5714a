"""A few binary features for residuals, found afresh: seeds as in k-means++, then hard EM.

Residuals R (rows, dims) have unit noise. Sought are m features B and choices z_n in {0, 1}^m that
maximise

    sum_n [r_n . z_n B - |z_n B|^2/2 + z_n . odds],     least_n <= |z_n| <= most_n,

over observed entries. **Seeds**: a row is drawn in proportion to how much |r|^2 exceeds what noise
makes of it, over max(least, 1)^2, since it is the sum of all features that the row must still get;
its residual is a feature, and is taken from all rows that it suits. **EM**: every row takes the
best of its 2^m choices, then B solves the normal equations, from sums over rows with the same
choice, with a little ridge. It ends when no row changes. O(N D m + N 2^m) an iteration.

**Odds** are zero where counts are exact; where they are free, the log-odds of the share of rows.
The gain is the sum above, less (D/2) log(size + 1) for each feature (what integrating it out costs)
and, where counts are free, N log(1/(1 - share)).
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

_RIDGE = 0.1  # a precision, in units of a row: features are known to about three noises
_FIRST_ODDS = -2.0  # one row in eight, before anything is known


@jit
def _seeds(seed, number, residual, observed, least, most, features):
    """Fill `features` with rows that are badly explained; return whether there were any."""
    n_rows, dims = residual.shape
    complete = observed.shape[0] == 0
    left, weights = residual.copy(), np.zeros(n_rows)
    for i in range(features.shape[0]):
        total = 0.0
        for n in range(n_rows):
            excess = 0.0
            if most[n] > 0:
                for d in range(dims):
                    if complete or observed[n, d]:
                        excess += left[n, d] * left[n, d] - 1.0
                excess = max(excess, 0.0) / max(least[n], 1) ** 2
            weights[n] = excess
            total += excess
        if not total > 0.0:
            return False
        goal = total * uniform_pair(seed, number, i, 0)[0]
        at = 0
        for n in range(n_rows):
            if weights[n] > 0.0 and goal > 0.0:
                at = n
                goal -= weights[n]
        for d in range(dims):
            features[i, d] = left[at, d]
        for n in range(n_rows):
            if most[n] > 0:
                along = norm = 0.0
                for d in range(dims):
                    if complete or observed[n, d]:
                        along += left[n, d] * features[i, d]
                        norm += features[i, d] * features[i, d]
                if along > 0.5 * norm:
                    for d in range(dims):
                        if complete or observed[n, d]:
                            left[n, d] -= features[i, d]
    return True


@jit
def _choose(residual, observed, least, most, features, odds, ones, choice):
    """Give every row the best of its choices; return what they are worth in all, and changes."""
    n_rows, m = residual.shape[0], features.shape[0]
    complete = observed.shape[0] == 0
    along = residual @ np.ascontiguousarray(features.T)
    gram = features @ np.ascontiguousarray(features.T)
    scores = np.zeros(ones.shape[0])
    total, changes = 0.0, 0
    for n in range(n_rows):
        if not complete:
            for i in range(m):
                for j in range(i, m):
                    square = 0.0
                    for d in range(features.shape[1]):
                        square += observed[n, d] * (features[i, d] * features[j, d])
                    gram[i, j] = square
        floor, best, top = min(least[n], m), 0, -math.inf
        for c in range(ones.shape[0]):
            if c > 0:
                i = 0
                while not (c >> i) & 1:
                    i += 1
                rest = c & (c - 1)
                worth = odds[i] + along[n, i] - 0.5 * gram[i, i]
                for j in range(i + 1, m):
                    if (rest >> j) & 1:
                        worth -= gram[i, j]
                scores[c] = scores[rest] + worth
            if floor <= ones[c] <= most[n] and scores[c] > top:
                best, top = c, scores[c]
        total += top
        changes += choice[n] != best
        choice[n] = best
    return total, changes


@jit
def _solve(residual, observed, choice, ones, features, sizes):
    """Fill `features` with those that fit the choices best, and `sizes` with how many rows each."""
    n_rows, dims = residual.shape
    m = features.shape[0]
    complete = observed.shape[0] == 0
    sums, numbers = np.zeros((ones.shape[0], dims)), np.zeros((ones.shape[0], dims))
    members = np.zeros(ones.shape[0])
    for n in range(n_rows):
        c = choice[n]
        members[c] += 1.0
        for d in range(dims):
            sums[c, d] += residual[n, d]
        if not complete:
            for d in range(dims):
                numbers[c, d] += observed[n, d]
    sizes[:] = 0.0
    onto = np.zeros((m, dims))
    for c in range(1, ones.shape[0]):
        for i in range(m):
            if (c >> i) & 1:
                sizes[i] += members[c]
                onto[i] += sums[c]
    pairs = np.empty((m, m))
    for d in range(1 if complete else dims):
        pairs[:] = 0.0
        for i in range(m):
            pairs[i, i] = _RIDGE
        for c in range(1, ones.shape[0]):
            number = members[c] if complete else numbers[c, d]
            for i in range(m):
                for j in range(m):
                    if (c >> i) & 1 and (c >> j) & 1:
                        pairs[i, j] += number
        if complete:
            features[:] = np.linalg.solve(pairs, onto)
        else:
            features[:, d] = np.linalg.solve(pairs, np.ascontiguousarray(onto[:, d]))


@jit
def recreate(seed, number, residual, observed, least, most, m, iterations, free):
    """Return the gain of m features for residuals, and which rows have them.

    Parameters
    ----------
    seed, number
        The key of its random numbers.
    residual
        Shape (rows, dims), zero where missing.
    observed
        Shape (rows, dims), or (0, 0) if nothing is missing.
    least, most
        How many of the features each row must have (at most m are asked of it), and may have.
    m
        How many features: at least one.
    iterations
        Of EM, at most.
    free
        Whether counts are free.

    Returns
    -------
    gain, rows
        The gain, -inf if there was nothing to explain, and 0/1 rows, shape (rows, m).
    """
    n_rows, dims = residual.shape
    rows, features = np.zeros((n_rows, m), np.int8), np.zeros((m, dims))
    if not _seeds(seed, number, residual, observed, least, most, features):
        return -math.inf, rows
    ones = np.zeros(1 << m, np.int64)
    for c in range(1, ones.shape[0]):
        ones[c] = ones[c >> 1] + (c & 1)
    odds, sizes = np.full(m, _FIRST_ODDS if free else 0.0), np.zeros(m)
    choice = np.full(n_rows, -1)
    gain = 0.0
    for step in range(iterations):
        gain, changes = _choose(residual, observed, least, most, features, odds, ones, choice)
        _solve(residual, observed, choice, ones, features, sizes)
        if changes == 0 and step > 0:
            break
        if free and step < iterations - 1:
            for i in range(m):
                odds[i] = math.log((sizes[i] + 0.5) / (n_rows - sizes[i] + 0.5))
    for n in range(n_rows):
        for i in range(m):
            rows[n, i] = (choice[n] >> i) & 1
    for i in range(m):
        gain -= 0.5 * dims * math.log(sizes[i] + 1.0)
        if free:
            gain += n_rows * math.log((n_rows - sizes[i] + 0.5) / (n_rows + 1.0))
    return gain, rows
