"""Row updates with the features kept: entries that count, the number of non-zeros restricted.

A row z has k non-zeros and, with weights of `value_weights` and f(k)/e_k = exp(table[k]),

    log P(z | data) = table[k] + sum_{z_i > 0} log a_i(z_i) + b.z - z'Gz/2 + const.

All that is kept while a row is updated is the gain of one unit of each feature but for its own,

    gain_i = log rate_i + b_i - sum_{j != i} G_ij z_j,      square_i = G_ii,

so that entry i given all others is v with weight(v) of `value_weights`, and v = 0 with weight 1.

- value: 0 or v > 0, with log-odds log sum_{v>0} weight_i(v) + table[k+1] - table[k], k non-zeros
  elsewhere; then v. Where the law allows one of the two only, that one.
- relocation: the entry at i is taken out, its new place j is one of those that are free, with
  weight sum_{v>0} weight_j(v), and its value is drawn there: never carried along.
- whole rows, for laws with a gap: propose (see `whole_rows`) from

      q(z) proportional to exp(table[k]) prod_{z_i > 0} e^{o_i} q_i(z_i),
      q_i(v) = a_i(v) exp(s_i v - t_i v^2/2)/W_i,    o_i = log w_i + (log W_i - log w_i) clipped,

  w_i the prior odds, s_i and t_i those of a linear regression; the row over the proposal is
  exp(excess), excess(z) = b.z - z'Gz/2 - sum_{z_i > 0} [o_i - log W_i + s_i z_i - t_i z_i^2/2].

What the data leave no doubt of (`value_bounds`) is found in a pass over the features, and no random
numbers are drawn for it.

Missing entries as in `sweep_gaussian`. A row draws its random numbers one after another, from the
stream of its number. Rows hold whole numbers as floats. Growth must be at most one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import CERTAIN, FAR, pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, Gram, make_row, own_squares
from ribp.kernels.value_bounds import (
    Terms,
    fill_terms,
    least_log_weight,
    most_log_total,
    surely_keeps,
    surely_stays,
)
from ribp.kernels.value_weights import draw_value, log_total
from ribp.kernels.variates import begin_row, next_pair, next_uniform

_UNSEEN = 1e-12  # of G_ii over all columns: what is left after taking away is rounding
_CLIP = 10.0
_DAMPED = 0.3
# Rows of the work array, each over features.
GAIN, SQUARES, WEIGHTS, SLOPE, CURVATURE, LOG_W, INVERSE, RESERVE = range(8)


class Entries(NamedTuple):
    """The prior of each entry."""

    log_rates: NDArray[np.float64]
    """log lambda, or log r pi."""
    log_hazards: NDArray[np.float64]
    """log(-log P(0))."""
    log_odds: NDArray[np.float64]
    """log(1/P(0) - 1)."""
    growth: float
    """0, or 1/r."""


@jit
def clear_unseen(squares, diagonal):
    """Make squares zero where nothing but rounding is left of the diagonal."""
    for i in range(squares.shape[0]):
        if squares[i] <= _UNSEEN * diagonal[i]:
            squares[i] = 0.0


@jit
def fill_gain(z, log_rates, b, gram, gain, active):
    """Fill gain = log rate + b - G z (G without its diagonal), making rows of G.

    Also the list of non-zeros, `active`; returns how many there are.
    """
    nonzeros = list_ones(z, active)
    for j in range(z.shape[0]):
        gain[j] = log_rates[j] + b[j]
    for a in range(nonzeros):
        make_row(active[a], gram)
        row, value = gram.matrix[active[a]], z[active[a]]
        for j in range(z.shape[0]):
            gain[j] -= row[j] * value
    return nonzeros


@jit
def set_value(i, value, z, gain, gram):
    """Let z_i be `value`, and keep the gains."""
    by = value - z[i]
    if by == 0.0:
        return
    if z[i] == 0.0:
        make_row(i, gram)
    z[i] = value
    row = gram.matrix[i]
    for j in range(z.shape[0]):
        gain[j] -= row[j] * by


@jit
def value_log_odds(i, gain, squares, step, entries):
    """Return the log-odds of z_i > 0 against 0; `step` is table[k+1] - table[k]."""
    if math.isinf(step):
        return step
    return step + log_total(gain[i], squares[i], entries.growth, entries.log_odds[i])


@jit
def may_change_value(z, nonzeros, gain, terms, active, step):
    """Return whether any entry may become positive, zero, or another value."""
    squares, inverse, reserve = terms.squares, terms.inverse, terms.reserve
    for a in range(nonzeros):
        i, own = active[a], step[nonzeros - 1]
        if not surely_stays(z[i], gain[i], squares[i], inverse[i], reserve[i], own):
            return True
    if nonzeros == z.shape[0]:
        return False
    least, chances = -CERTAIN - step[nonzeros], 0
    for j in range(z.shape[0]):
        most = most_log_total(gain[j], squares[j], inverse[j], reserve[j])
        chances += (most >= least) & (z[j] == 0.0)
    return chances > 0


@jit
def _value_each(seed, place, z, nonzeros, gain, terms, gram, entries, step):
    """Draw every entry in order, given the others."""
    squares, inverse, reserve = terms.squares, terms.inverse, terms.reserve
    for i in range(z.shape[0]):
        others = nonzeros - (z[i] > 0.0)
        if surely_stays(z[i], gain[i], squares[i], inverse[i], reserve[i], step[others]):
            continue
        log_odds = value_log_odds(i, gain, squares, step[others], entries)
        u = next_uniform(seed, place)
        value = 0.0
        if math.log(u / (1.0 - u)) < log_odds:
            value = draw_value(
                seed, place, gain[i], squares[i], entries.growth, entries.log_hazards[i]
            )
        set_value(i, value, z, gain, gram)
        nonzeros = others + (value > 0.0)


@jit
def may_move(first, last, active, z, gain, terms, matrix):
    """Return whether any of the entries active[first : last] may have another place.

    That is, a place whose weight `pick` does not take for zero; `matrix` is that of the Gram.
    """
    squares, inverse, reserve, rivals = terms.squares, terms.inverse, terms.reserve, 0
    for a in range(first, last):
        i = active[a]
        value = z[i]
        least = least_log_weight(value, gain[i], squares[i]) - FAR
        for j in range(z.shape[0]):
            free = gain[j] + matrix[i, j] * value
            most = most_log_total(free, squares[j], inverse[j], reserve[j])
            rivals += (most >= least) & (z[j] == 0.0)
        if rivals > 0:
            return True
    return False


@jit
def relocation_log_weights(i, z, gain, terms, gram, entries, out):
    """Fill `out` with the log-weights of the places where the entry at i may go, or stay.

    Places that `pick` would take for zero may be given none.
    """
    row, squares, top = gram.matrix[i], terms.squares, -math.inf
    for j in range(z.shape[0]):
        free = z[j] == 0.0 or j == i
        out[j] = gain[j] + row[j] * z[i] if free else -math.inf
        if free:
            top = max(top, out[j] - 0.5 * squares[j])
    for j in range(z.shape[0]):
        if out[j] > -math.inf:
            most = most_log_total(out[j], squares[j], terms.inverse[j], terms.reserve[j])
            if most < top - FAR:
                out[j] = -math.inf
            else:
                out[j] = log_total(out[j], squares[j], entries.growth, entries.log_odds[j])


@jit
def all_keep(nonzeros, active, z, gain, squares):
    """Return whether all entries that are not zero surely keep their values."""
    for a in range(nonzeros):
        i = active[a]
        if not surely_keeps(z[i], gain[i], squares[i]):
            return False
    return True


@jit
def _relocate_each(seed, place, z, nonzeros, gain, terms, gram, entries, active, weights):
    """Give every non-zero entry a new place and value once, in random order."""
    for last in range(nonzeros - 1, -1, -1):
        u, v = next_pair(seed, place)
        i = take_out_one(u, active, last)
        active[last] = j = i
        if may_move(last, last + 1, active, z, gain, terms, gram.matrix):
            relocation_log_weights(i, z, gain, terms, gram, entries, weights)
            j = pick(weights, v)
            if j != i:
                set_value(i, 0.0, z, gain, gram)
        value = draw_value(
            seed, place, gain[j], terms.squares[j], entries.growth, entries.log_hazards[j]
        )
        set_value(j, value, z, gain, gram)


@jit
def fill_proposal(damped, b, squares, diagonal, guide, mean, precision, entries, work):
    """Fill slopes s, curvatures t, log W and the log-odds o of whole rows (in WEIGHTS)."""
    slope, curvature, log_w = work[SLOPE], work[CURVATURE], work[LOG_W]
    whole_rows.fill_shift(b, squares, diagonal, guide, mean, precision, slope)
    factor = _DAMPED if damped else 1.0
    for i in range(b.shape[0]):
        bend = 0.0
        if squares[i] > 0.0:
            bend = (1.0 / guide[i, i] - precision) * (squares[i] / diagonal[i])
        if bend > 0.0 and math.isfinite(slope[i]):
            slope[i] = factor * (slope[i] + 0.5 * bend)
            curvature[i] = factor * bend
        else:
            slope[i] = curvature[i] = 0.0
        gain = entries.log_rates[i] + slope[i]
        log_w[i] = log_total(gain, curvature[i], entries.growth, entries.log_odds[i])
        shift = log_w[i] - entries.log_odds[i]
        work[WEIGHTS, i] = entries.log_odds[i] + min(max(shift, -_CLIP), _CLIP)


@jit
def excess(z, b, squares, gram, work):
    """Return the log of the row's weight over that of the proposal; makes rows of G."""
    total = 0.0
    for i in range(z.shape[0]):
        if z[i] > 0.0:
            make_row(i, gram)
            bend = squares[i] - work[CURVATURE, i]
            total += z[i] * (b[i] - work[SLOPE, i] - 0.5 * z[i] * bend)
            total -= work[WEIGHTS, i] - work[LOG_W, i]
            for j in range(i):
                total -= gram.matrix[i, j] * z[i] * z[j]
    return total


@jit
def _replace(
    seed, place, z, b, squares, gram, diagonal, table, guide, mean, precision, entries, work,
    support,
):  # fmt: skip
    """Propose a whole row, and accept or reject it."""
    damped = next_uniform(seed, place) < 0.5
    fill_proposal(damped, b, squares, diagonal, guide, mean, precision, entries, work)
    whole_rows.draw(seed, place[1], place[2], place[0], work[WEIGHTS], table, support)
    place[0] += 2 + z.shape[0] // 2
    proposal = np.zeros(z.shape[0])
    for i in range(z.shape[0]):
        if support[i]:
            gain = entries.log_rates[i] + work[SLOPE, i]
            proposal[i] = draw_value(
                seed, place, gain, work[CURVATURE, i], entries.growth, entries.log_hazards[i]
            )
    gained = excess(proposal, b, squares, gram, work) - excess(z, b, squares, gram, work)
    if math.log(next_uniform(seed, place)) < gained:
        z[:] = proposal


@jit
def summed_values(weights, slope, bend, growth, out):
    """Fill the log of sum_{v>0} a_i(v) exp(s_i v - t_i v^2/2), `weights` of `entry_weights`."""
    for i in range(out.shape[0]):
        out[i] = log_total(weights[0, i] + slope[i], bend[i], growth, weights[2, i])


@jit
def draw_values(seed, weights, slope, bend, growth, rows):
    """Give each entry of rows that is not zero a value v with weight a_i(v) exp(s v - t v^2/2)."""
    place = np.empty(3, np.int64)
    for n in range(rows.shape[0]):
        begin_row(place, 0, n)
        for i in range(rows.shape[1]):
            if rows[n, i] > 0.0:
                gain = weights[0, i] + slope[i]
                rows[n, i] = draw_value(seed, place, gain, bend[i], growth, weights[1, i])


@jit
def sweep(
    seed, number, first, products, observed, rows, loadings, common, diagonal,
    log_rates, log_hazards, log_odds, growth, tables, steps, law_of_row, moves,
    guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: values, relocations, then whole rows.

    Arguments as in `sweep_gaussian.sweep`; rows are floats, and the prior of entries is that of
    `Entries`. Tables are log f(k) - log e_k of their odds.
    """
    features = rows.shape[1]
    work, own = np.empty((8, features)), np.empty_like(common)
    gain, squares = work[GAIN], work[SQUARES]
    active, support = np.empty(features, np.int64), np.empty(features, np.int8)
    mask, place = np.empty(observed.shape[1], np.bool_), np.empty(3, np.int64)
    entries = Entries(log_rates, log_hazards, log_odds, growth)
    squares[:] = diagonal
    terms = Terms(squares, work[INVERSE], work[RESERVE])
    fill_terms(terms)
    gram = Gram(common, mask, False, loadings, common)
    for n in range(rows.shape[0]):
        law, z, b = law_of_row[n], rows[n], products[n]
        begin_row(place, number, first + n)
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            clear_unseen(squares, diagonal)
            fill_terms(terms)
            gram = Gram(own, mask, add, loadings, common)
        nonzeros = fill_gain(z, log_rates, b, gram, gain, active)
        if moves[law, FLIPS] and may_change_value(z, nonzeros, gain, terms, active, steps[law]):
            _value_each(seed, place, z, nonzeros, gain, terms, gram, entries, steps[law])
            nonzeros = list_ones(z, active)
        if moves[law, RELOCATIONS] and (
            not all_keep(nonzeros, active, z, gain, squares)
            or may_move(0, nonzeros, active, z, gain, terms, gram.matrix)
        ):
            _relocate_each(
                seed, place, z, nonzeros, gain, terms, gram, entries, active, work[WEIGHTS]
            )
        if moves[law, WHOLE]:
            _replace(
                seed, place, z, b, squares, gram, diagonal, tables[law], guide, mean, precision,
                entries, work, support,
            )  # fmt: skip
