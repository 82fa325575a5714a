"""Row updates with the features kept: entries that count, the sum of a row restricted.

A row z is J units, each at a place. With rate and growth g of `value_weights`, and c_J = [x^J] of
the product of the polynomials sum_v a_i(v) x^v, rows have the prior f(J)/c_J prod_i a_i(z_i); with
labels on the units, of which J!/prod z_i! ways lead to one row,

    log P(units) = table[J] + sum_i log prod_{u < z_i} rate_i (1 + g u),
    table[J] = log f(J) - log(J! c_J).

For Poisson entries (g = 0) each unit has its place with probability proportional to the rate,
whatever the others do. All that is kept is what one more unit of each feature adds to the data,

    ahead_j = log rate_j + b_j - (Gz)_j - G_jj/2,

and one more unit at j has the weight exp(ahead_j) (1 + g z_j): no factorials, they are the orders.

- moving a unit: take one out at random, put it at j with that weight: O(I). Every unit once, in
  random order.
- birth or death, one half each at every J: a birth at j with that weight is accepted with
  probability exp(table[J+1] - table[J]) Q, Q the sum of the weights; the death of a random unit
  with exp(table[J-1] - table[J])/Q, Q of the row without it. A death proposed at J = 0 is rejected.
- values: an entry given all others, v = 0, 1, 2, ..., wherever f allows the sum. From a row whose
  units are all at one place any J is reached in one step: with unit moves this crosses every gap.

Most rows have one form that the data leave no doubt of. One pass over the features tells whether a
birth or a death, or the move of a unit, has any chance beside the least uniform; where none has, no
random numbers are drawn. Since z_j <= J, log(1 + g z_j) <= g J, and Q is at least the weight of the
place that the unit left, and at most I times the largest: no logarithm is needed.

Rows hold whole numbers as floats; any growth will do. Missing entries and random numbers as in
`sweep_nonzeros`.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.choose import CERTAIN, FAR, pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import take_out_one
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, Gram, make_row, own_squares
from ribp.kernels.variates import begin_row, next_pair, next_uniform

BIRTHS = 2  # births or deaths that are tried in a sweep


@jit
def fill_ahead(z, log_rates, b, squares, gram, ahead):
    """Fill log rate + b - G z - G_jj/2 (G with its diagonal); return the sum of z."""
    total = 0.0
    for j in range(z.shape[0]):
        ahead[j] = log_rates[j] + b[j] - 0.5 * squares[j]
    for i in range(z.shape[0]):
        if z[i] > 0.0:
            make_row(i, gram)
            row, units = gram.matrix[i], z[i]
            for j in range(z.shape[0]):
                ahead[j] -= row[j] * units
            ahead[i] -= squares[i] * units
            total += units
    return total


@jit
def add_units(i, by, z, squares, ahead, gram):
    """Add `by` units at i, and keep `ahead`."""
    if z[i] == 0.0:
        make_row(i, gram)
    z[i] += by
    row = gram.matrix[i]
    for j in range(z.shape[0]):
        ahead[j] -= by * row[j]
    ahead[i] -= by * squares[i]


@jit
def unit_log_weights(i, z, squares, ahead, gram, growth, out):
    """Fill `out` with the log-weights of places for a unit taken out at i; -1: for a new one."""
    for j in range(z.shape[0]):
        out[j] = ahead[j]
    if i >= 0:
        row = gram.matrix[i]
        for j in range(z.shape[0]):
            out[j] += row[j]
        out[i] += squares[i]
    if growth > 0.0:
        for j in range(z.shape[0]):
            units = z[j] - (j == i)
            if units > 0.0:
                out[j] += math.log1p(growth * units)


@jit
def log_sum(log_weights):
    """Return log sum exp of weights that are not all zero: ``logsumexp(log_weights)``."""
    top = -math.inf
    for j in range(log_weights.shape[0]):
        top = max(top, log_weights[j])
    total = 0.0
    for j in range(log_weights.shape[0]):
        if log_weights[j] >= top - FAR:
            total += math.exp(log_weights[j] - top)
    return top + math.log(total)


@jit
def list_units(z, units):
    """Fill `units` with the place of each unit; return how many: ``np.repeat(np.arange(I), z)``."""
    number = 0
    for i in range(z.shape[0]):
        for _ in range(int(z[i])):
            units[number] = i
            number += 1
    return number


@jit
def may_move(first, last, z, total, squares, ahead, matrix, growth):
    """Return whether a unit at any of the places first, ..., last - 1 may go elsewhere.

    That is, where `pick` does not take the weight for zero; `matrix` is that of the Gram.
    """
    for i in range(first, last):
        if z[i] > 0.0:
            least, rivals = ahead[i] + squares[i] - FAR - growth * total, 0
            for j in range(z.shape[0]):
                rivals += ahead[j] + matrix[i, j] >= least
            if rivals > (ahead[i] >= least):
                return True
    return False


@jit
def _move_each(seed, place, z, total, squares, ahead, gram, growth, units, weights):
    """Move every unit once, in random order."""
    for last in range(list_units(z, units) - 1, -1, -1):
        u, v = next_pair(seed, place)
        i = take_out_one(u, units, last)
        if may_move(i, i + 1, z, total, squares, ahead, gram.matrix, growth):
            unit_log_weights(i, z, squares, ahead, gram, growth, weights)
            j = pick(weights, v)
            if j != i:
                add_units(i, -1.0, z, squares, ahead, gram)
                add_units(j, 1.0, z, squares, ahead, gram)


@jit
def may_change_sum(z, total, squares, ahead, growth, step):
    """Return whether a birth or a death may be accepted by some uniform."""
    at, never = int(total), math.inf
    birth, death = never, -never  # what is ahead of a birth, and behind a death, must pass these
    if at < step.shape[0] and math.isfinite(step[at]):
        birth = -CERTAIN - step[at] - growth * total - math.log(z.shape[0])
    if at > 0 and math.isfinite(step[at - 1]):
        death = CERTAIN - step[at - 1]
    chances = 0
    for j in range(z.shape[0]):
        behind = ahead[j] + squares[j]
        chances += (ahead[j] >= birth) | ((behind <= death) & (z[j] > 0.0))
    return chances > 0


@jit
def random_unit(u, z, total):
    """Return the place of one of the units, chosen by the uniform u."""
    goal = u * total
    i = 0
    while goal >= z[i]:
        goal -= z[i]
        i += 1
    return i


@jit
def _birth_or_death(seed, place, z, total, squares, ahead, gram, growth, step, weights):
    """Try a birth or a death, one half each; return the number of units."""
    u, v = next_pair(seed, place)
    w, accept = next_pair(seed, place)
    birth = u < 0.5
    at = int(total) if birth else int(total) - 1
    if at < 0 or at >= step.shape[0] or not math.isfinite(step[at]):
        return total
    i = -1 if birth else random_unit(v, z, total)
    unit_log_weights(i, z, squares, ahead, gram, growth, weights)
    gained = step[at] + log_sum(weights)
    if birth and math.log(accept) < gained:
        add_units(pick(weights, w), 1.0, z, squares, ahead, gram)
        return total + 1.0
    if not birth and math.log(accept) < -gained:
        add_units(i, -1.0, z, squares, ahead, gram)
        return total - 1.0
    return total


@jit
def value_log_weights(i, z, others, squares, ahead, table, growth, out):
    """Fill `out` with the log-weights of z_i = 0, 1, ..., given `others` units elsewhere."""
    gain = ahead[i] + squares[i] * (z[i] + 0.5)
    inside = 0.0  # of the labels, but for a constant
    for v in range(out.shape[0]):
        out[v] = table[others + v] + inside + v * (gain - 0.5 * squares[i] * v)
        inside += math.log((1.0 + growth * v) * (others + v + 1.0) / (v + 1.0))


@jit
def _value_each(seed, place, z, total, squares, ahead, gram, table, growth, weights):
    """Draw every entry in order, given the others."""
    for i in range(z.shape[0]):
        others = int(total - z[i])
        possible = weights[: table.shape[0] - others]
        value_log_weights(i, z, others, squares, ahead, table, growth, possible)
        by = pick(possible, next_uniform(seed, place)) - z[i]
        if by != 0.0:
            add_units(i, by, z, squares, ahead, gram)
            total += by


@jit
def sweep(
    seed, number, first, products, observed, rows, loadings, common, diagonal,
    log_rates, growth, tables, steps, law_of_row, moves,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: births, units, then values.

    Arguments as in `sweep_gaussian.sweep`, with rows of floats and the tables above, over sums 0,
    1, ... up to the largest that a law allows. `moves` has births and deaths, moves of units and
    values in the places of flips, relocations and whole rows.
    """
    features, sums = rows.shape[1], tables.shape[1]
    work, own = np.empty((3, features)), np.empty_like(common)
    ahead, squares, weights = work[0], work[1], work[2]
    units, values = np.empty(sums, np.int64), np.empty(sums)
    mask, place = np.empty(observed.shape[1], np.bool_), np.empty(3, np.int64)
    squares[:] = diagonal
    gram = Gram(common, mask, False, loadings, common)
    for n in range(rows.shape[0]):
        law, z = law_of_row[n], rows[n]
        begin_row(place, number, first + n)
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            gram = Gram(own, mask, add, loadings, common)
        total = fill_ahead(z, log_rates, products[n], squares, gram, ahead)
        if moves[law, FLIPS] and may_change_sum(z, total, squares, ahead, growth, steps[law]):
            for _ in range(BIRTHS):
                total = _birth_or_death(
                    seed, place, z, total, squares, ahead, gram, growth, steps[law], weights
                )
        if moves[law, RELOCATIONS] and may_move(
            0, features, z, total, squares, ahead, gram.matrix, growth
        ):
            _move_each(seed, place, z, total, squares, ahead, gram, growth, units, weights)
        if moves[law, WHOLE]:
            _value_each(seed, place, z, total, squares, ahead, gram, tables[law], growth, values)
