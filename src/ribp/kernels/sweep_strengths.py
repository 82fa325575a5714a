"""Row updates with the features kept, entries with a strength: x = sum_i z_i s_i A_i + noise.

The strengths of a row are N(mu, tau^2), lambda = 1/tau^2, and integrated out while its z moves.
With G and b of `sweep_gaussian`, a support S has M = (G_SS + lambda)^{-1}, m = M (b_S + mu lambda),

    log p(x | S) - log p(x | none) = [m'M^{-1}m - |S| mu^2 lambda]/2 - log det(1 + tau^2 G_SS)/2,

and s_S | S, x ~ N(m, M). Two numbers a feature tell what it would add. With K = G_{.S} M,

    i off:              g_i = G_ii - K_i G_Si,      rho_i = b_i - G_iS m,
    i on, in slot a:    g_i = 1/M_aa - lambda,      rho_i = m_a/M_aa - mu lambda,
    gain(g, rho) = mu c + mu^2 g/2 + c^2/(2 (g + lambda)) - log(1 + tau^2 g)/2,     c = rho - mu g.

The gain is log p(x | S + i) - log p(x | S - i), whether or not i is on: a flip costs O(1), and
moving the one in slot a to a place j costs O(1) for each j, with g_j + K_ja^2/M_aa and
rho_j + K_ja m_a/M_aa in the place of g_j and rho_j. A switch changes K, M, m, g and rho by rank-one
steps, O(I |S|). Rows are built from nothing at every sweep. When z has moved, strengths are drawn:
those of the old row are never used.

Random numbers of a row: those of `sweep_gaussian`, then blocks for the strengths.
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
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, Gram, make_row, own_squares

_TINY = 1e-300  # a strength that is zero would take its feature away
_DIAGONAL, _WEIGHTS, _SHIFT, _SPARE = range(4)  # rows of the work array, each over features


class Support(NamedTuple):
    """What is kept of a row while its z moves; slots are the features that are on."""

    slots: NDArray[np.int64]
    """The feature in each slot."""
    g: NDArray[np.float64]
    """(features,), for features that are off."""
    rho: NDArray[np.float64]
    k: NDArray[np.float64]
    """K by slots, (slots, features)."""
    m_matrix: NDArray[np.float64]
    """M, (slots, slots)."""
    m: NDArray[np.float64]
    """(slots,)."""
    u: NDArray[np.float64]
    """Room for a row of K."""


@jit
def new_support(features):
    """Return room for the supports of rows."""
    square = (features, features)
    return Support(
        np.empty(features, np.int64), np.empty(features), np.empty(features),
        np.empty(square), np.empty(square), np.empty(features), np.empty(features),
    )  # fmt: skip


@jit
def gain(g, rho, mu, tau):
    """Return log p(x | S + i) - log p(x | S - i)."""
    return most_gain(g, rho, mu, tau) - 0.5 * math.log1p(tau * tau * max(g, 0.0))


@jit
def most_gain(g, rho, mu, tau):
    """Return a number that `gain` is not above, made without a logarithm."""
    g = max(g, 0.0)
    c = rho - mu * g
    variance = tau * tau
    return mu * c + 0.5 * mu * mu * g + 0.5 * c * c * variance / (1.0 + variance * g)


@jit
def own_terms(i, z, size, support, mu, tau):
    """Return g_i, rho_i and the slot of feature i, -1 if it is off."""
    if not z[i]:
        return support.g[i], support.rho[i], -1
    a = slot_of(i, size, support)
    inverse, precision = 1.0 / support.m_matrix[a, a], 1.0 / (tau * tau)
    return inverse - precision, support.m[a] * inverse - mu * precision, a


@jit
def slot_of(i, size, support):
    """Return the slot of a feature that is on."""
    for a in range(size):
        if support.slots[a] == i:
            return a
    return -1


@jit
def switch_on(i, size, support, gram, diagonal, mu, tau):
    """Give feature i a slot; return the number of slots."""
    make_row(i, gram)
    row, e, u, m_matrix = gram.matrix[i], support.k[size], support.u, support.m_matrix
    features, precision = row.shape[0], 1.0 / (tau * tau)
    v = support.g[i] + precision
    mean = (support.rho[i] + mu * precision) / v
    for j in range(features):
        e[j] = row[j]
    e[i] = diagonal[i]
    for t in range(size):
        u[t] = support.k[t, i]
        factor = row[support.slots[t]]
        for j in range(features):
            e[j] -= support.k[t, j] * factor
    for j in range(features):
        e[j] /= v
        support.g[j] -= e[j] * e[j] * v
        support.rho[j] -= e[j] * v * mean
    for t in range(size):
        for j in range(features):
            support.k[t, j] -= e[j] * u[t]
        for r in range(size):
            m_matrix[t, r] += u[t] * u[r] / v
        m_matrix[t, size] = m_matrix[size, t] = -u[t] / v
        support.m[t] -= u[t] * mean
    m_matrix[size, size], support.m[size], support.slots[size] = 1.0 / v, mean, i
    return size + 1


@jit
def switch_off(a, size, support, mu, tau):
    """Take the feature in slot a away; the last slot takes its place. Return how many are left."""
    column, m_matrix, last = support.k[a], support.m_matrix, size - 1
    i, own, precision = support.slots[a], support.m_matrix[a, a], 1.0 / (tau * tau)
    mean = support.m[a]
    for j in range(column.shape[0]):
        support.g[j] += column[j] * column[j] / own
        support.rho[j] += column[j] * mean / own
    support.g[i], support.rho[i] = 1.0 / own - precision, mean / own - mu * precision
    for t in range(size):
        support.u[t] = m_matrix[a, t] / own
    for t in range(size):
        if t != a:
            for j in range(column.shape[0]):
                support.k[t, j] -= column[j] * support.u[t]
            for r in range(size):
                if r != a:
                    m_matrix[t, r] -= support.u[t] * m_matrix[a, r]
            support.m[t] -= support.u[t] * mean
    if a != last:
        support.slots[a], support.m[a] = support.slots[last], support.m[last]
        for j in range(column.shape[0]):
            column[j] = support.k[last, j]
        for t in range(last):
            m_matrix[a, t] = m_matrix[t, a] = m_matrix[last, t]
        m_matrix[a, a] = m_matrix[last, last]
    return last


@jit
def build(z, b, support, gram, diagonal, mu, tau):
    """Make the support of z from nothing; return its size and log p(x | S) - log p(x | none)."""
    size, score = 0, 0.0
    for i in range(z.shape[0]):
        support.g[i], support.rho[i] = diagonal[i], b[i]
    for i in range(z.shape[0]):
        if z[i]:
            score += gain(support.g[i], support.rho[i], mu, tau)
            size = switch_on(i, size, support, gram, diagonal, mu, tau)
    return size, score


@jit
def may_move(a, z, size, theta, support, mu, tau):
    """Return whether any place but its own may have a weight that `pick` does not take for zero."""
    i, mean, column = support.slots[a], support.m[a], support.k[a]
    inverse = 1.0 / support.m_matrix[a, a]
    g, rho, _ = own_terms(i, z, size, support, mu, tau)
    least = theta[i] + gain(g, rho, mu, tau) - FAR
    rivals = 0
    for j in range(z.shape[0]):
        scaled = column[j] * inverse
        most = most_gain(support.g[j] + column[j] * scaled, support.rho[j] + scaled * mean, mu, tau)
        rivals += (theta[j] + most >= least) & (z[j] == 0)
    return rivals > 0


@jit
def relocation_log_weights(a, z, size, theta, support, mu, tau, out):
    """Fill `out` with the log-weights of the places where the one in slot a may go."""
    i, own, mean, column = support.slots[a], support.m_matrix[a, a], support.m[a], support.k[a]
    for j in range(z.shape[0]):
        g = support.g[j] + column[j] * column[j] / own
        rho = support.rho[j] + column[j] * mean / own
        out[j] = -math.inf if z[j] else theta[j] + gain(g, rho, mu, tau)
    g, rho, _ = own_terms(i, z, size, support, mu, tau)
    out[i] = theta[i] + gain(g, rho, mu, tau)


@jit
def _flip_each(seed, number, row, z, size, theta, support, gram, diagonal, step, mu, tau):
    """Flip every feature in order; return how many are on. step[k] = table[k+1] - table[k]."""
    for i in range(z.shape[0]):
        g, rho, a = own_terms(i, z, size, support, mu, tau)
        if a < 0 and theta[i] + most_gain(g, rho, mu, tau) + step[size] < -CERTAIN:
            continue  # it stays off, as nearly all do: no logarithm is needed to know
        log_odds = theta[i] + gain(g, rho, mu, tau) + step[size - z[i]]
        if (log_odds if z[i] else -log_odds) > CERTAIN:
            continue
        if coin(seed, number, row, i, log_odds) != (z[i] != 0):
            if z[i]:
                size = switch_off(a, size, support, mu, tau)
            else:
                size = switch_on(i, size, support, gram, diagonal, mu, tau)
            z[i] = 1 - z[i]
    return size


@jit
def _relocate_each(
    seed, number, row, z, size, theta, support, gram, diagonal, mu, tau, active, weights
):
    """Move every one once, in random order."""
    features = z.shape[0]
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, features // 2 + 1 + last)
        i = take_out_one(u, active, last)
        a = slot_of(i, size, support)
        if may_move(a, z, size, theta, support, mu, tau):
            relocation_log_weights(a, z, size, theta, support, mu, tau, weights)
            place = pick(weights, v)
            if place != i:
                switch_off(a, size, support, mu, tau)
                switch_on(place, size - 1, support, gram, diagonal, mu, tau)
                z[i], z[place] = 0, 1


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
    seed, number, row, z, b, theta, support, gram, diagonal, common_diagonal, table,
    guide, mean, precision, mu, tau, shift, proposal,
):  # fmt: skip
    """Propose a whole row, and accept or reject it; return how many features are on."""
    features = z.shape[0]
    fill_shift(b, diagonal, common_diagonal, guide, mean, precision, mu, tau, shift)
    block = features // 2 + 1 + features
    u = whole_rows.propose(seed, number, row, block, theta, table, shift, proposal)
    _, before = build(z, b, support, gram, diagonal, mu, tau)
    size, after = build(proposal, b, support, gram, diagonal, mu, tau)
    for i in range(features):
        after += (z[i] - proposal[i]) * shift[i]
    if math.log(u) < after - before:
        z[:] = proposal
        return size
    size, _ = build(z, b, support, gram, diagonal, mu, tau)
    return size


@jit
def draw_strengths(seed, number, row, block, size, support, root, normals, out):
    """Fill `out` with strengths of the features that are on, N(m, M), and zero for all others."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(0, size, 2):
        u, v = uniform_pair(seed, number, row, block + t // 2)
        radius, angle = math.sqrt(-2.0 * math.log(u)), 2.0 * math.pi * v
        normals[t] = radius * math.cos(angle)
        if t + 1 < size:
            normals[t + 1] = radius * math.sin(angle)
    for t in range(size):
        value = support.m[t]
        for r in range(t + 1):
            total = support.m_matrix[t, r]
            for q in range(r):
                total -= root[t, q] * root[r, q]
            root[t, r] = math.sqrt(max(total, 0.0)) if r == t else total / max(root[r, r], _TINY)
            value += root[t, r] * normals[r]
        out[support.slots[t]] = value if value != 0.0 else _TINY


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
    own, root = np.empty_like(common), np.empty((features, features))
    squares, weights = work[_DIAGONAL], work[_WEIGHTS]
    active, proposal = np.empty(features, np.int64), np.empty(features, np.int8)
    z, mask = np.empty(features, np.int8), np.empty(observed.shape[1], np.bool_)
    squares[:] = diagonal
    gram = Gram(common, mask, False, loadings, common)
    block = 2 * features + features // 2 + 4  # behind those of `sweep_gaussian`
    for n in range(rows.shape[0]):
        row, law, b = first + n, law_of_row[n], products[n]
        if observed.shape[0] > 0:
            mask[:] = observed[n]
            add = own_squares(mask, loadings, diagonal, squares)
            gram = Gram(own, mask, add, loadings, common)
        for i in range(features):
            z[i] = rows[n, i] != 0.0
        size, _ = build(z, b, support, gram, squares, mu, tau)
        if moves[law, FLIPS]:
            size = _flip_each(
                seed, number, row, z, size, theta, support, gram, squares, steps[law], mu, tau
            )
        if moves[law, RELOCATIONS]:
            _relocate_each(
                seed, number, row, z, size, theta, support, gram, squares, mu, tau, active, weights
            )
        if moves[law, WHOLE]:
            size = _replace(
                seed, number, row, z, b, theta, support, gram, squares, diagonal, tables[law],
                guide, mean, precision, mu, tau, work[_SHIFT], proposal,
            )  # fmt: skip
        draw_strengths(seed, number, row, block, size, support, root, work[_SPARE], rows[n])
