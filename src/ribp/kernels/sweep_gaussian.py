"""Row updates with the features kept: linear-Gaussian data, rows independent of one another.

With G = sum_d A_d A_d'/s_d^2 and b = sum_d x_d A_d/s_d^2 over the columns d in which a row is
observed, it has, up to a constant,

    log-likelihood(z) = b.z - z'Gz/2 = linear.z - sum_{i<j} z_i z_j G_ij,   linear_i = b_i - G_ii/2.

All that is kept while a row is updated is the gain of having each feature given all others,

    gain_i = theta_i + linear_i - sum_{j != i} G_ij z_j,

whether or not i is on. The matrices G here have a zero diagonal, so that a switch of feature i
changes `gain` by plus or minus row i, O(I), and

- a flip of i has log-odds gain_i + table[k+1] - table[k], with k ones elsewhere: O(1);
- moving the one at i to place j has log-weight gain_j + G_ij, and gain_i for staying: O(I);
- a whole row is proposed and accepted by its `excess` (see `whole_rows`).

A row with missing entries has a G of its own, of which only the rows of features that are on are
ever needed. They are made as features are switched on: missing columns are taken away from the
common G, or observed ones added up, whichever are fewer.

Random numbers of a row: blocks 0 .. I/2 for flips, the next I for relocations, then whole rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import CERTAIN, FAR, coin, pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair

FLIPS, RELOCATIONS, WHOLE = range(3)  # what is done to the rows of a law: columns of `moves`
_LARGEST_LOSS = 1e6  # of digits, by taking columns away
# Rows of the work array, each over features.
GAIN, LINEAR, SQUARES, WEIGHTS, SHIFT = range(5)


class Gram(NamedTuple):
    """G of one data row, zero on the diagonal; row i is there while feature i is on."""

    matrix: NDArray[np.float64]
    """(features, features); the common one if nothing is missing."""
    mask: NDArray[np.bool_]
    """Which columns are observed; empty if nothing is missing."""
    add: bool
    """Whether to add up columns that are observed, or to take away the others."""
    loadings: NDArray[np.float64]
    """A'/s, (dims, features)."""
    common: NDArray[np.float64]
    """G over all columns."""


@jit
def own_squares(mask, loadings, diagonal, out):
    """Fill `out` with G_ii over the observed columns; return whether rows of G should be added up.

    `diagonal` holds G_ii over all columns. Columns are not taken away where that costs digits.
    """
    dims, features = loadings.shape
    number = 0
    for d in range(dims):
        number += mask[d]
    add = 2 * number < dims
    if not add:
        for i in range(features):
            out[i] = diagonal[i]
        _add_squares(mask, False, loadings, -1.0, out)
        for i in range(features):
            add = add or diagonal[i] > _LARGEST_LOSS * (1.0 + out[i])
    if add:
        for i in range(features):
            out[i] = 0.0
        _add_squares(mask, True, loadings, 1.0, out)
    return add


@jit
def _add_squares(mask, value, loadings, sign, out):
    for d in range(loadings.shape[0]):
        if mask[d] == value:
            for i in range(loadings.shape[1]):
                out[i] += sign * loadings[d, i] * loadings[d, i]


@jit
def make_row(i, gram):
    """Make row i of the Gram matrix; nothing to do if no entry is missing."""
    mask, add, loadings, row = gram.mask, gram.add, gram.loadings, gram.matrix[i]
    if mask.shape[0] == 0:
        return
    for j in range(row.shape[0]):
        row[j] = 0.0 if add else gram.common[i, j]
    for d in range(mask.shape[0]):
        if mask[d] == add:
            scaled = loadings[d, i] if add else -loadings[d, i]
            for j in range(row.shape[0]):
                row[j] += scaled * loadings[d, j]
    row[i] = 0.0


@jit
def fill_gain(z, theta, linear, gram, gain):
    """Fill gain = theta + linear - G z, making rows of G; return the number of ones."""
    ones = 0
    for j in range(z.shape[0]):
        gain[j] = theta[j] + linear[j]
    for i in range(z.shape[0]):
        if z[i]:
            ones += 1
            make_row(i, gram)
            row = gram.matrix[i]
            for j in range(z.shape[0]):
                gain[j] -= row[j]
    return ones


@jit
def switch(i, z, gain, gram):
    """Switch feature i on or off; return the change in the number of ones."""
    if not z[i]:
        make_row(i, gram)
    sign = -1 if z[i] else 1
    z[i] += np.int8(sign)
    row = gram.matrix[i]
    for j in range(z.shape[0]):
        gain[j] -= sign * row[j]
    return sign


@jit
def may_move(i, z, gain, gram):
    """Return whether any place but i has a weight that `pick` does not take for zero."""
    row, least = gram.matrix[i], gain[i] - FAR
    rivals = 0
    for j in range(z.shape[0]):
        rivals += (gain[j] + row[j] >= least) & (z[j] == 0)
    return rivals > 0


@jit
def relocation_log_weights(i, z, gain, gram, out):
    """Fill `out` with the log-weights of the places where the one at i may go."""
    row = gram.matrix[i]
    for j in range(z.shape[0]):
        out[j] = -math.inf if z[j] else gain[j] + row[j]
    out[i] = gain[i]


@jit
def _flip_each(seed, number, row, z, ones, gain, gram, step):
    """Flip every feature in order; return the number of ones. step[k] = table[k+1] - table[k]."""
    for i in range(z.shape[0]):
        log_odds = gain[i] + step[ones - z[i]]
        if (log_odds if z[i] else -log_odds) > CERTAIN:
            continue  # it stays as it is: by far the most common case, and one branch only
        if coin(seed, number, row, i, log_odds) != (z[i] != 0):
            ones += switch(i, z, gain, gram)
    return ones


@jit
def _relocate_each(seed, number, row, z, gain, gram, active, weights):
    """Move every one once, in random order."""
    features = z.shape[0]
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, features // 2 + 1 + last)
        i = take_out_one(u, active, last)
        if may_move(i, z, gain, gram):
            relocation_log_weights(i, z, gain, gram, weights)
            place = pick(weights, v)
            if place != i:
                switch(i, z, gain, gram)
                switch(place, z, gain, gram)


@jit
def excess(z, linear, shift, gram):
    """Return log-likelihood(z) - shift.z; makes the rows of G that it needs."""
    total = 0.0
    for i in range(z.shape[0]):
        if z[i]:
            make_row(i, gram)
            total += linear[i] - shift[i]
            for j in range(i):
                if z[j]:
                    total -= gram.matrix[i, j]
    return total


@jit
def _replace(
    seed, number, row, z, b, gram, diagonal, theta, table, guide, mean, precision, work, proposal
):
    """Propose a whole row, and accept or reject it."""
    features, linear, shift = z.shape[0], work[LINEAR], work[SHIFT]
    whole_rows.fill_shift(b, work[SQUARES], diagonal, guide, mean, precision, shift)
    u = whole_rows.propose(
        seed, number, row, features // 2 + 1 + features, theta, table, shift, proposal
    )
    gained = excess(proposal, linear, shift, gram) - excess(z, linear, shift, gram)
    if math.log(u) < gained:
        z[:] = proposal


@jit
def sweep(
    seed, number, first, products, observed, rows, loadings, common, diagonal,
    theta, tables, steps, law_of_row, moves, guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: flips, relocations, then whole rows.

    `products` holds b of each row, and `observed` is empty if nothing is missing. `common` is G
    without its `diagonal`. Law number law_of_row[n] has tables[., k] = log f(k) - log e_k, steps[.,
    k] = tables[., k+1] - tables[., k], and the moves of its rows; `guide`, `mean` and `precision`
    are those of `whole_rows.fill_shift`.
    """
    features = rows.shape[1]
    work, own = np.empty((5, features)), np.empty_like(common)
    gain, linear, squares = work[GAIN], work[LINEAR], work[SQUARES]
    active, proposal = np.empty(features, np.int64), np.empty(features, np.int8)
    mask = np.empty(observed.shape[1], np.bool_)
    squares[:] = diagonal
    gram = Gram(common, mask, False, loadings, common)
    for n in range(rows.shape[0]):
        row, law, z = first + n, law_of_row[n], rows[n]
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            gram = Gram(own, mask, add, loadings, common)
        for i in range(features):
            linear[i] = products[n, i] - 0.5 * squares[i]
        ones = fill_gain(z, theta, linear, gram, gain)
        if moves[law, FLIPS]:
            _flip_each(seed, number, row, z, ones, gain, gram, steps[law])
        if moves[law, RELOCATIONS]:
            _relocate_each(seed, number, row, z, gain, gram, active, work[WEIGHTS])
        if moves[law, WHOLE]:
            _replace(
                seed, number, row, z, products[n], gram, diagonal,
                theta, tables[law], guide, mean, precision, work, proposal,
            )  # fmt: skip


@jit
def add_statistics(data, rows, pairs, sums):
    """Add Z'Z to `pairs` and Z'X to `sums`: ``pairs += rows.T @ rows; sums += rows.T @ data``.

    Entries of rows may have any size.
    """
    features, dims = sums.shape
    active = np.empty(features, np.int64)
    for n in range(rows.shape[0]):
        ones = list_ones(rows[n], active)
        x = data[n]
        for a in range(ones):
            size = np.float64(rows[n, active[a]])
            for c in range(ones):
                pairs[active[a], active[c]] += size * rows[n, active[c]]
            out = sums[active[a]]
            for d in range(dims):
                out[d] += size * x[d]
