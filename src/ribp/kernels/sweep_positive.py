"""Row updates with the features kept, entries with a positive strength: s ~ N(mu, tau^2), s > 0.

Positive strengths cannot all be integrated out: one is at a time, given the others. With G and b of
`sweep_gaussian`, lambda = 1/tau^2, v = G_ii + lambda and

    c_i = b_i - sum_{j != i} G_ij s_j z_j,      t = (c_i + mu lambda)/v^{1/2},

having feature i, its strength integrated out, against not having it, has the log-odds

    theta_i + gain(G_ii, c_i) + log Phi(t) - log Phi(mu/tau)        (and the prior of the count),

gain that of `strength_support`; then s_i ~ N((c_i + mu lambda)/v, 1/v) above zero. Only c is kept
while a row is updated: O(1) a flip, O(I) a relocation and O(I) a change. A flip that leaves a
feature on leaves its strength, a relocation draws a new one.

Whole rows: z is proposed as in `sweep_gaussian`, its strengths one after another in the order of
features, each given those before it; the ratio of target and proposal is the product of the weights
exp(gain) Phi(t)/Phi(mu/tau) on the way, times exp(-shift.z).

Random numbers of a row: those of `sweep_gaussian`, then a range of blocks for each strength.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import CERTAIN, FAR, coin, pick, surely_tails
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair
from ribp.kernels.strength_support import gain
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, Gram, make_row, own_squares
from ribp.kernels.sweep_strengths import fill_shift
from ribp.kernels.truncated_normal import draw_positive, log_ndtr

_RANGE = 1 << 12  # blocks for one strength; a draw needs two, and the next range hardly ever
# Rows of the work array, each over features.
_REST, _DIAGONAL, _WEIGHTS, _SHIFT, _PROPOSAL, _FACTOR, _LOSS = range(7)


class Terms(NamedTuple):
    """What a feature's weight is made of, whatever is left for it; each over features."""

    g: NDArray[np.float64]
    """G_ii."""
    factor: NDArray[np.float64]
    """tau^2/(1 + tau^2 G_ii)."""
    loss: NDArray[np.float64]
    """log(1 + tau^2 G_ii)/2 + log Phi(mu/tau)."""


@jit
def fill_terms(terms, tau, log_mass):
    """Fill all that follows from G_ii."""
    variance = tau * tau
    for i in range(terms.g.shape[0]):
        g = max(terms.g[i], 0.0)
        terms.factor[i] = variance / (1.0 + variance * g)
        terms.loss[i] = 0.5 * math.log1p(variance * g) + log_mass


@jit
def log_weight(g, c, mu, tau, log_mass):
    """Return log p(x | i on) - log p(x | i off) given the other strengths.

    `log_mass` is log Phi(mu/tau).
    """
    variance = tau * tau
    t = (c * variance + mu) / (tau * math.sqrt(1.0 + variance * g))
    return gain(g, c, mu, tau) + log_ndtr(t) - log_mass


@jit
def most_weight(g, factor, loss, c, mu, tau):
    """Return a number that `log_weight` is not above, without a logarithm or a normal tail."""
    away = c - mu * g
    gained = mu * away + 0.5 * mu * mu * g + 0.5 * away * away * factor
    at_zero = -0.5 * mu * mu / (tau * tau)
    return (gained if c * tau * tau + mu > 0.0 else at_zero) - loss


@jit
def draw_strength(seed, number, row, block, g, c, mu, tau):
    """Draw a strength given the others of its row."""
    deviation = tau / math.sqrt(1.0 + tau * tau * g)
    centre = (c * tau * tau + mu) / (1.0 + tau * tau * g)
    return deviation * draw_positive(seed, number, row, block, centre / deviation)


@jit
def change(i, new, y, rest, gram):
    """Give feature i another strength, or none, and all others what is left for them."""
    if y[i] == 0.0:
        make_row(i, gram)
    step = new - y[i]
    y[i] = new
    row = gram.matrix[i]
    for j in range(y.shape[0]):
        rest[j] -= step * row[j]


@jit
def fill_rest(y, b, gram, rest):
    """Fill c = b - G y, G without its diagonal; return how many features are on."""
    ones = 0
    for j in range(y.shape[0]):
        rest[j] = b[j]
    for i in range(y.shape[0]):
        if y[i] != 0.0:
            ones += 1
            make_row(i, gram)
            row = gram.matrix[i]
            for j in range(y.shape[0]):
                rest[j] -= y[i] * row[j]
    return ones


@jit
def _flip_each(seed, number, row, block, y, ones, theta, rest, gram, terms, step, mu, tau, mass):
    """Flip every feature in order; return how many are on."""
    diagonal, factor, loss, drawn, draws = terms.g, terms.factor, terms.loss, -1, (0.0, 0.0)
    for i in range(y.shape[0]):
        on = y[i] != 0.0
        prior = theta[i] + step[ones - on]
        if not on:
            most = prior + most_weight(diagonal[i], factor[i], loss[i], rest[i], mu, tau)
            if most < -CERTAIN:
                continue
            if drawn != i // 2:
                drawn, draws = i // 2, uniform_pair(seed, number, row, i // 2)
            if surely_tails(draws[i % 2], most):
                continue
        log_odds = prior + log_weight(diagonal[i], rest[i], mu, tau, mass)
        if coin(seed, number, row, i, log_odds) != on:
            new = 0.0
            if not on:
                at = block + i * _RANGE
                new = draw_strength(seed, number, row, at, diagonal[i], rest[i], mu, tau)
            change(i, new, y, rest, gram)
            ones += -1 if on else 1
    return ones


@jit
def may_move(i, y, theta, rest, gram, terms, mu, tau, mass):
    """Return whether any place but i may have a weight that `pick` does not take for zero."""
    row, own = gram.matrix[i], y[i]
    least = theta[i] + log_weight(terms.g[i], rest[i], mu, tau, mass) - FAR
    rivals = 0
    for j in range(y.shape[0]):
        free = rest[j] + own * row[j]
        most = most_weight(terms.g[j], terms.factor[j], terms.loss[j], free, mu, tau)
        rivals += (theta[j] + most >= least) & (y[j] == 0.0)
    return rivals > 0


@jit
def relocation_log_weights(i, y, theta, rest, gram, diagonal, mu, tau, mass, out):
    """Fill `out` with the log-weights of the places where the one at i may go, i taken out."""
    row = gram.matrix[i]
    for j in range(y.shape[0]):
        out[j] = -math.inf
        if j == i or y[j] == 0.0:
            free = rest[j] + y[i] * row[j]
            out[j] = theta[j] + log_weight(diagonal[j], free, mu, tau, mass)


@jit
def _relocate_each(
    seed, number, row, block, y, theta, rest, gram, terms, mu, tau, mass, active, weights
):
    """Move every one once, in random order; each gets a new strength."""
    features, diagonal = y.shape[0], terms.g
    for last in range(list_ones(y, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, features // 2 + 1 + last)
        i = take_out_one(u, active, last)
        place = i
        if may_move(i, y, theta, rest, gram, terms, mu, tau, mass):
            relocation_log_weights(i, y, theta, rest, gram, diagonal, mu, tau, mass, weights)
            place = pick(weights, v)
            if place != i:
                change(i, 0.0, y, rest, gram)
        at = block + (features + last) * _RANGE
        new = draw_strength(seed, number, row, at, diagonal[place], rest[place], mu, tau)
        change(place, new, y, rest, gram)


@jit
def excess(seed, number, row, block, y, fresh, b, gram, diagonal, shift, mu, tau, mass, rest):
    """Return the log ratio of target and proposal of a row; if it is fresh, draw its strengths."""
    total = 0.0
    for j in range(y.shape[0]):
        rest[j] = b[j]
    for i in range(y.shape[0]):
        if y[i] != 0.0:
            total += log_weight(diagonal[i], rest[i], mu, tau, mass) - shift[i]
            if fresh:
                at = block + (2 * y.shape[0] + i) * _RANGE
                y[i] = draw_strength(seed, number, row, at, diagonal[i], rest[i], mu, tau)
            make_row(i, gram)
            other = gram.matrix[i]
            for j in range(y.shape[0]):
                rest[j] -= y[i] * other[j]
    return total


@jit
def _replace(
    seed, number, row, block, y, b, theta, gram, diagonal, common_diagonal, table,
    guide, mean, precision, mu, tau, mass, work, proposal,
):  # fmt: skip
    """Propose a whole row with its strengths, and accept or reject it."""
    features, shift, other = y.shape[0], work[_SHIFT], work[_PROPOSAL]
    fill_shift(b, diagonal, common_diagonal, guide, mean, precision, mu, tau, shift)
    first = features // 2 + 1 + features
    u = whole_rows.propose(seed, number, row, first, theta, table, shift, proposal)
    for i in range(features):
        other[i] = proposal[i]
    given = (b, gram, diagonal, shift, mu, tau, mass, work[_REST])
    before = excess(seed, number, row, block, y, False, *given)
    after = excess(seed, number, row, block, other, True, *given)
    if math.log(u) < after - before:
        y[:] = other


@jit
def sweep(
    seed, number, first, products, observed, rows, loadings, common, diagonal,
    theta, tables, steps, law_of_row, moves, guide, mean, precision, mu, tau,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: flips, relocations, then whole rows.

    `rows` holds z s, zero where z is. Other arguments are those of `sweep_strengths.sweep`.
    """
    features = rows.shape[1]
    work, own = np.empty((7, features)), np.empty_like(common)
    rest, squares = work[_REST], work[_DIAGONAL]
    terms = Terms(squares, work[_FACTOR], work[_LOSS])
    active, proposal = np.empty(features, np.int64), np.empty(features, np.int8)
    mask, mass = np.empty(observed.shape[1], np.bool_), log_ndtr(mu / tau)
    squares[:] = diagonal
    fill_terms(terms, tau, mass)
    gram = Gram(common, mask, False, loadings, common)
    block = 2 * features + features // 2 + 4  # behind those of `sweep_gaussian`
    for n in range(rows.shape[0]):
        row, law, b, y = first + n, law_of_row[n], products[n], rows[n]
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            gram = Gram(own, mask, add, loadings, common)
            fill_terms(terms, tau, mass)
        ones = fill_rest(y, b, gram, rest)
        if moves[law, FLIPS]:
            _flip_each(
                seed, number, row, block, y, ones, theta, rest, gram, terms, steps[law],
                mu, tau, mass,
            )  # fmt: skip
        if moves[law, RELOCATIONS]:
            _relocate_each(
                seed, number, row, block, y, theta, rest, gram, terms, mu, tau, mass,
                active, work[_WEIGHTS],
            )  # fmt: skip
        if moves[law, WHOLE]:
            _replace(
                seed, number, row, block, y, b, theta, gram, squares, diagonal, tables[law],
                guide, mean, precision, mu, tau, mass, work, proposal,
            )  # fmt: skip
