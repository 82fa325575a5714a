"""Row updates with the features kept: Poisson data, features with gamma strengths, exposures.

    x_d ~ Poisson(r (offset_d + sum_i y_i A_id)),   y_i = z_i s_i,   s_i ~ Gamma(a, rate a), a > 1,

r the exposure of the row. Splitting counts over features would pin them, so place and strength move
as one block, the other features kept, with q_j and Z_j of `strength_fits` in the place of the
conditional of s_j and its integral. Where a rate of the others is zero and a count is not, being
off has no weight.

- flip: on with odds w_j Z_j exp(table[k+1] - table[k]); then s ~ q_j;
- relocation: the feature at i is taken out, place j has the weight w_j Z_j, then s ~ q_j.
  Both are accepted with W(new)/W(old), W(j, s) = exp(l_j(s))/(q_j(s) Z_j), W(off) = 1.
- strengths: a slice step on log s for every feature that is on, since the left tail of q may be
  lighter than that of the target;
- whole rows, for laws with a gap: a set of features as in `whole_rows`, then strengths one after
  another, each from its q with those before as drawn and those to come at one.

Rows hold y. A row draws its random numbers one after another, from the stream of its number.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels import whole_rows
from ribp.kernels.choose import pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.strength_fits import (
    LOG_Z,
    RATE,
    SHAPE,
    fill_fits,
    log_conditional,
    log_excess,
    log_gamma_density,
)
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, own_squares
from ribp.kernels.sweep_poisson import PositiveCounts, fill_totals, list_counts
from ribp.kernels.variates import begin_row, log_gamma_variate, next_pair, next_uniform

# Rows of the work array, each over features: first the fits, then TOTALS, which hold r sum_d A_id.
TOTALS, SQUARES, SHIFT, WEIGHTS, TRIAL = range(6, 11)


@jit
def fill_rates(y, skipped, data, rates):
    """Fill the rates where counts are positive, without the feature `skipped` (-1 for none).

    Returns whether one of them is zero.
    """
    at = data.at
    for t in range(at.shape[0]):
        rates[t] = data.offset[at[t]]
    for i in range(y.shape[0]):
        if y[i] > 0.0 and i != skipped:
            for t in range(at.shape[0]):
                rates[t] += y[i] * data.loadings[at[t], i]
    zero = False
    for t in range(at.shape[0]):
        zero = zero or rates[t] == 0.0
    return zero


@jit
def on_log_odds(prior, log_z, zero):
    """Return the log-odds of a proposal to be on; `zero`: off is impossible."""
    if math.isinf(prior):
        return prior
    if log_z == -math.inf:
        return log_z
    return math.inf if zero else prior + log_z


@jit
def end_of_run(first, y):
    """Return where the features that are off from `first` on come to an end."""
    last = first + 1
    while last < y.shape[0] and y[last] == 0.0:
        last += 1
    return last


@jit
def _flip_each(seed, place, y, theta, step, data, a, rates, work):
    """Propose to have each feature or not, in order; runs of those that are off are fit at once."""
    ones, known, zero = 0, 0, False
    for i in range(y.shape[0]):
        ones += y[i] > 0.0
    for i in range(y.shape[0]):
        on = y[i] > 0.0
        if on or i >= known:
            zero, known = fill_rates(y, i, data, rates), i + 1 if on else end_of_run(i, y)
            fill_fits(i, known, rates, data, a, work)
        others = ones - on
        u, accept = next_pair(seed, place)
        log_odds = on_log_odds(theta[i] + step[others], work[LOG_Z, i], zero)
        new, gained = 0.0, 0.0
        if math.log(u / (1.0 - u)) < log_odds:
            new = math.exp(log_gamma_variate(seed, place, work[SHAPE, i])) / work[RATE, i]
            gained += log_excess(new, i, rates, data, a, work)
        if on:
            gained -= log_excess(y[i], i, rates, data, a, work)
        if math.log(accept) < gained and (on or new > 0.0):
            y[i], known = new, i + 1
        ones = others + (y[i] > 0.0)


@jit
def fill_places(i, y, theta, data, a, rates, work):
    """Fill fits and log-weights of the places where the feature at i may go."""
    fill_rates(y, i, data, rates)
    fill_fits(0, y.shape[0], rates, data, a, work)
    for j in range(y.shape[0]):
        work[WEIGHTS, j] = theta[j] + work[LOG_Z, j] if y[j] == 0.0 or j == i else -math.inf


@jit
def _relocate_each(seed, place, y, theta, data, a, rates, active, work):
    """Propose a new place and strength for every feature that is on, in random order."""
    for last in range(list_ones(y, active) - 1, -1, -1):
        u, v = next_pair(seed, place)
        i = take_out_one(u, active, last)
        fill_places(i, y, theta, data, a, rates, work)
        j = pick(work[WEIGHTS], v)
        new = math.exp(log_gamma_variate(seed, place, work[SHAPE, j])) / work[RATE, j]
        gained = log_excess(new, j, rates, data, a, work)
        gained -= log_excess(y[i], i, rates, data, a, work)
        if math.log(next_uniform(seed, place)) < gained:
            y[i] = 0.0
            y[j] = new


@jit
def _slice_each(seed, place, y, data, a, rates):
    """Make a slice step on log s for every feature that is on."""
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            fill_rates(y, i, data, rates)
            y[i] = slice_strength(seed, place, y[i], i, rates, data, a)


@jit
def slice_strength(seed, place, s, j, rates, data, a):
    """Return the next strength: step out from log s, then shrink. The density has a factor s."""
    u, v = next_pair(seed, place)
    level = log_conditional(s, j, rates, data, a) + math.log(s) + math.log(u)
    left, right = s * math.exp(-v), s * math.exp(1.0 - v)
    while log_conditional(left, j, rates, data, a) + math.log(left) > level:
        left /= math.e
    while log_conditional(right, j, rates, data, a) + math.log(right) > level:
        right *= math.e
    while True:
        new = left * (right / left) ** next_uniform(seed, place)
        if log_conditional(new, j, rates, data, a) + math.log(new) > level or new == s:
            return new
        if new < s:
            left = new
        else:
            right = new


@jit
def in_turn(seed, place, y, drawn, data, a, rates, work):
    """Return the log density of the strengths of y, one after another; drawn first if asked."""
    total, trial = 0.0, work[TRIAL]
    for i in range(y.shape[0]):
        trial[i] = 1.0 if y[i] > 0.0 else 0.0
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            fill_rates(trial, i, data, rates)
            fill_fits(i, i + 1, rates, data, a, work)
            if drawn:
                y[i] = math.exp(log_gamma_variate(seed, place, work[SHAPE, i])) / work[RATE, i]
            total += log_gamma_density(y[i], work[SHAPE, i], work[RATE, i])
            trial[i] = y[i]
    return total


@jit
def log_weight(y, shift, data, a, rates):
    """Return log-likelihood(y) + log p(s) - shift.z, up to a constant."""
    fill_rates(y, -1, data, rates)
    total = 0.0
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            total += log_gamma_density(y[i], a, a) - y[i] * data.totals[i] - shift[i]
    for t in range(data.at.shape[0]):
        total += data.x[t] * (math.log(rates[t]) if rates[t] > 0.0 else -math.inf)
    return total


@jit
def _replace(
    seed, place, y, b, theta, table, data, a, diagonal, guide, mean, precision, rates, work, support
):
    """Propose a whole row, and accept or reject it."""
    shift = work[SHIFT]
    whole_rows.fill_shift(b, work[SQUARES], diagonal, guide, mean, precision, shift)
    u = whole_rows.propose(seed, place[1], place[2], place[0], theta, table, shift, support)
    place[0] += 3 + y.shape[0] // 2
    proposal = support.astype(np.float64)
    after = -in_turn(seed, place, proposal, True, data, a, rates, work)
    before = -in_turn(seed, place, y, False, data, a, rates, work)
    after += log_weight(proposal, shift, data, a, rates)
    if after > -math.inf and math.log(u) < after - before - log_weight(y, shift, data, a, rates):
        y[:] = proposal


@jit
def sweep(
    seed, number, first, products, data, observed, rows, loadings, totals, offset, exposures,
    shape, theta, tables, steps, law_of_row, moves, scaled, diagonal, guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ...: flips, relocations, whole rows, then strengths.

    Arguments as in `sweep_poisson.sweep`; rows hold strengths, 0 where off, `exposures` r of each
    row, and `shape` is a.
    """
    features, dims = rows.shape[1], data.shape[1]
    work = np.empty((11, features))
    rates, counts, at = np.empty(dims), np.empty(dims), np.empty(dims, np.int64)
    active, support = np.empty(features, np.int64), np.empty(features, np.int8)
    mask, place = np.empty(observed.shape[1], np.bool_), np.empty(3, np.int64)
    work[SQUARES] = diagonal
    for n in range(rows.shape[0]):
        law, y = law_of_row[n], rows[n]
        begin_row(place, number, first + n)
        work[TOTALS] = totals
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            fill_totals(mask, loadings, work[TOTALS])
            own_squares(mask, scaled, diagonal, work[SQUARES])
        for i in range(features):
            work[TOTALS, i] *= exposures[n]
        m = list_counts(data[n], mask, at, counts)
        own = PositiveCounts(at[:m], counts[:m], offset, loadings, work[TOTALS])
        if moves[law, FLIPS]:
            _flip_each(seed, place, y, theta, steps[law], own, shape, rates, work)
        if moves[law, RELOCATIONS]:
            _relocate_each(seed, place, y, theta, own, shape, rates, active, work)
        if moves[law, WHOLE]:
            _replace(
                seed, place, y, products[n], theta, tables[law], own, shape, diagonal, guide, mean,
                precision, rates, work, support,
            )  # fmt: skip
        _slice_each(seed, place, y, own, shape, rates)
