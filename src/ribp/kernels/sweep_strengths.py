"""Row updates with the features kept, entries with a strength: x = sum_i z_i s_i A_i + noise.

The strengths of a row are integrated out while its z moves, see `strength_support`, from which the
moves take two numbers a feature, g and rho:

- a flip of i has the log-odds theta_i + gain(g_i, rho_i) + table[k+1] - table[k]: O(1);
- moving the one in slot a to place j has the log-weight theta_j + gain of g_j and rho_j without
  slot a: O(I |S|) for all j;
- a whole row is proposed as in `whole_rows`, and accepted on the ratio of p(x | S).

Nearly all of them leave things as they are, so that is asked first. A step that stays with
probability p has the hazard -log p, and the steps of a sweep up to the first that does not are
those whose hazards add up to less than a clock, drawn once from the exponential law: log(1 + e^x)
for a flip with the log-odds x of a change, log(1 + sum of the weights of other places/own weight)
for a move. A hazard is at most e^x, or that sum, so if each is below its share of the clock nothing
changes, in whatever order: known from one pass over the features, without a logarithm or a
division (`may_flip`, `may_move`). Otherwise hazards are added up to the first change, and a new
clock runs from there.

When z has moved strengths are drawn: those of the old row are never used. Rows are built from
nothing at every sweep. A row draws its random numbers one after another.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels import whole_rows
from ribp.kernels.choose import FAR, pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.strength_support import (
    MEAN,
    OUT,
    RHO,
    VARIANCE,
    G,
    build,
    draw_strengths,
    fill_out,
    gain,
    least_gain,
    most_gain,
    new_support,
    reaches,
    slot_of,
    slot_terms,
    switch_off,
    switch_on,
)
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, Gram, own_squares
from ribp.kernels.variates import begin_row, exponential, next_pair

_DIAGONAL, _WEIGHTS, _SHIFT, _SPARE = range(4)  # rows of the work array, each over features


@jit
def own_terms(i, z, size, support, mu, tau):
    """Return g_i, rho_i and the slot of feature i, -1 if it is off."""
    terms = support.terms
    if not z[i]:
        return terms[G, i], terms[RHO, i], -1
    a = slot_of(i, size, support.slots)
    g, rho = slot_terms(terms[VARIANCE, a], terms[MEAN, a], mu, tau)
    return g, rho, a


@jit
def least_slot_gain(variance, m, mu, tau):
    """Return a number that the gain of the feature in a slot is not below."""
    g, rho = slot_terms(variance, m, mu, tau)
    return least_gain(g, rho, mu, tau)


@jit
def may_flip(far, z, size, theta, support, step, mu, tau):
    """Return whether any flip may have log-odds of a change of at least `far`."""
    slots, terms, variance, chances = support.slots, support.terms, tau * tau, 0
    for a in range(size):
        least = theta[slots[a]] + least_slot_gain(terms[VARIANCE, a], terms[MEAN, a], mu, tau)
        chances += not least + step[size - 1] > -far
    if chances > 0 or size == z.shape[0]:
        return chances > 0
    least = far - step[size]
    for j in range(z.shape[0]):
        near = reaches(terms[G, j], terms[RHO, j], mu, variance, least - theta[j])
        chances += near & (z[j] == 0)
    return chances > 0


@jit
def most_hazard(y):
    """Return a number that e^-y is not above, infinite for y <= 0: no exponential is needed."""
    return 1.0 / (1.0 + y * (1.0 + y * (0.5 + y / 6.0))) if y > 0.0 else math.inf


@jit
def most_hazards(first, z, size, theta, support, step, mu, tau):
    """Return a number that the hazards of flips from `first` on do not add up to more than."""
    slots, terms, total = support.slots, support.terms, 0.0
    for i in range(first, z.shape[0]):
        if not z[i]:
            most = theta[i] + most_gain(terms[G, i], terms[RHO, i], mu, tau)
            total += most_hazard(-most - step[size])
    for a in range(size):
        least = theta[slots[a]] + least_slot_gain(terms[VARIANCE, a], terms[MEAN, a], mu, tau)
        total += most_hazard(least + step[size - 1])
    return total


@jit
def first_flip(first, clock, z, size, theta, support, step, mu, tau):
    """Return the first feature from `first` on that flips; the number of features if none does."""
    if most_hazards(first, z, size, theta, support, step, mu, tau) < clock:
        return z.shape[0]
    for i in range(first, z.shape[0]):
        g, rho, _ = own_terms(i, z, size, support, mu, tau)
        log_odds = theta[i] + gain(g, rho, mu, tau) + step[size - z[i]]
        clock -= math.log1p(math.exp(-log_odds if z[i] else log_odds))
        if clock < 0.0:
            return i
    return z.shape[0]


@jit
def _flip_each(seed, place, clock, z, size, theta, support, gram, diagonal, step, mu, tau):
    """Flip every feature in order, given the first clock; return how many are on."""
    i = first_flip(0, clock, z, size, theta, support, step, mu, tau)
    while i < z.shape[0]:
        if z[i]:
            size = switch_off(slot_of(i, size, support.slots), size, support, mu, tau)
        else:
            size = switch_on(i, size, support, gram, diagonal, mu, tau)
        z[i] = 1 - z[i]
        clock = exponential(seed, place)
        i = first_flip(i + 1, clock, z, size, theta, support, step, mu, tau)
    return size


@jit
def may_move(far, first, last, z, size, theta, support, mu, tau):
    """Return whether any of the slots first, ..., last - 1 may move, and fill the row of that one.

    Where another place may have a log-weight of at least its own plus `far`; see `fill_out`.
    """
    slots, terms, variance = support.slots, support.terms, tau * tau
    for a in range(first, last):
        y, rivals = fill_out(a, size, support), 0
        least = theta[slots[a]] + least_slot_gain(terms[VARIANCE, a], terms[MEAN, a], mu, tau) + far
        for j in range(z.shape[0]):
            own = terms[OUT, j]
            g, rho = terms[G, j] + own * own, terms[RHO, j] + own * y
            rivals += reaches(g, rho, mu, variance, least - theta[j]) & (z[j] == 0)
        if rivals > 0:
            return True
    return False


@jit
def relocation_log_weights(a, z, theta, support, mu, tau, weights):
    """Fill the log-weights of the places where the one in slot a may go, after `may_move`."""
    terms, i = support.terms, support.slots[a]
    y = terms[MEAN, a] / math.sqrt(terms[VARIANCE, a])
    for j in range(z.shape[0]):
        own = terms[OUT, j]
        g, rho = terms[G, j] + own * own, terms[RHO, j] + own * y
        weights[j] = -math.inf if z[j] else theta[j] + gain(g, rho, mu, tau)
    g, rho = slot_terms(terms[VARIANCE, a], terms[MEAN, a], mu, tau)
    weights[i] = theta[i] + gain(g, rho, mu, tau)


@jit
def hazard_of_move(i, log_weights):
    """Return -log of the chance to stay at i, and give i no weight."""
    own, others = log_weights[i], 0.0
    log_weights[i] = -math.inf
    for j in range(log_weights.shape[0]):
        if log_weights[j] >= own - FAR:
            others += math.exp(log_weights[j] - own)
    return math.log1p(others)


@jit
def _relocate_each(
    seed, place, clock, z, size, theta, support, gram, diagonal, mu, tau, active, weights
):
    """Move every one once, in random order, given the first clock."""
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = next_pair(seed, place)
        i = take_out_one(u, active, last)
        a = slot_of(i, size, support.slots)
        if may_move(-FAR, a, a + 1, z, size, theta, support, mu, tau):
            relocation_log_weights(a, z, theta, support, mu, tau, weights)
            clock -= hazard_of_move(i, weights)
            if clock < 0.0:
                to = pick(weights, v)
                switch_off(a, size, support, mu, tau)
                switch_on(to, size - 1, support, gram, diagonal, mu, tau)
                z[i], z[to], clock = 0, 1, exponential(seed, place)


@jit
def fill_shift(b, squares, diagonal, guide, mean, precision, mu, tau, shift):
    """Fill the shift of log-odds of a whole row: the gain of `whole_rows.fill_shift`'s regression.

    There a feature alone has the likelihood precision L and the shift L (u - 1/2), u its peak; with
    a strength that is gain(L, L u).
    """
    whole_rows.fill_shift(b, squares, diagonal, guide, mean, precision, shift)
    for i in range(b.shape[0]):
        if squares[i] > 0.0:
            own = max(1.0 / guide[i, i] - precision, 0.0) * (squares[i] / diagonal[i])
            shift[i] = gain(own, shift[i] + 0.5 * own, mu, tau)


@jit
def _replace(
    seed, place, z, b, theta, support, gram, diagonal, common_diagonal, table,
    guide, mean, precision, mu, tau, shift, proposal,
):  # fmt: skip
    """Propose a whole row, and accept or reject it; return how many features are on."""
    features = z.shape[0]
    fill_shift(b, diagonal, common_diagonal, guide, mean, precision, mu, tau, shift)
    u = whole_rows.propose(seed, place[1], place[2], place[0], theta, table, shift, proposal)
    place[0] += 3 + features // 2
    _, before = build(z, b, support, gram, diagonal, mu, tau, True)
    size, after = build(proposal, b, support, gram, diagonal, mu, tau, True)
    for i in range(features):
        after += (z[i] - proposal[i]) * shift[i]
    if math.log(u) < after - before:
        z[:] = proposal
        return size
    size, _ = build(z, b, support, gram, diagonal, mu, tau, False)
    return size


@jit
def sweep(
    seed, number, first, products, observed, rows, loadings, common, diagonal,
    theta, tables, steps, law_of_row, moves, guide, mean, precision, mu, tau,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: z by its moves, then strengths.

    `rows` holds z s, zero where z is; its strengths are not looked at. Other arguments are those of
    `sweep_gaussian.sweep`, with N(mu, tau^2) strengths.
    """
    features = rows.shape[1]
    support, work = new_support(features), np.empty((4, features))
    own = np.empty_like(common)
    squares, weights = work[_DIAGONAL], work[_WEIGHTS]
    active, proposal = np.empty(features, np.int64), np.empty(features, np.int8)
    z, mask = np.empty(features, np.int8), np.empty(observed.shape[1], np.bool_)
    place = np.empty(3, np.int64)
    squares[:] = diagonal
    gram = Gram(common, mask, False, loadings, common)
    for n in range(rows.shape[0]):
        law, b = law_of_row[n], products[n]
        begin_row(place, number, first + n)
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            gram = Gram(own, mask, add, loadings, common)
        for i in range(features):
            z[i] = rows[n, i] != 0.0
        size, _ = build(z, b, support, gram, squares, mu, tau, False)
        u, v = next_pair(seed, place)
        clock = -math.log(u)
        far = math.log(clock / features)
        if moves[law, FLIPS] and may_flip(far, z, size, theta, support, steps[law], mu, tau):
            size = _flip_each(
                seed, place, clock, z, size, theta, support, gram, squares, steps[law], mu, tau
            )
        clock = -math.log(v)
        far = math.log(clock / (features * max(size, 1)))
        if moves[law, RELOCATIONS] and may_move(far, 0, size, z, size, theta, support, mu, tau):
            _relocate_each(
                seed, place, clock, z, size, theta, support, gram, squares, mu, tau, active, weights
            )
        if moves[law, WHOLE]:
            size = _replace(
                seed, place, z, b, theta, support, gram, squares, diagonal, tables[law],
                guide, mean, precision, mu, tau, work[_SHIFT], proposal,
            )  # fmt: skip
        draw_strengths(seed, place, size, support, work[_SPARE], rows[n])
