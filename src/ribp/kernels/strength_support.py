"""The features that a row has, their strengths integrated out: x = sum_i z_i s_i A_i + noise.

The strengths of a row are N(mu, tau^2), lambda = 1/tau^2. With G and b of `sweep_gaussian`, a
support S has M = (G_SS + lambda)^{-1}, m = M (b_S + mu lambda),

    log p(x | S) - log p(x | none) = [m'M^{-1}m - |S| mu^2 lambda]/2 - log det(1 + tau^2 G_SS)/2,

and s_S | S, x ~ N(m, M). Features have slots, in the order in which they came, and G_SS + lambda =
L L' in this order. Kept are, by slots, the rows of V = L^{-1} G_S. (over all features) and of
L^{-1}, and y = L^{-1} (b_S + mu lambda). Two numbers a feature tell what it would add:

    i off:              g_i = G_ii - sum_t V_ti^2,      rho_i = b_i - sum_t V_ti y_t,
    i on, in slot a:    g_i = 1/M_aa - lambda,          rho_i = m_a/M_aa - mu lambda,
    gain(g, rho) = mu c + mu^2 g/2 + c^2/(2 (g + lambda)) - log(1 + tau^2 g)/2,     c = rho - mu g:

the gain is log p(x | S + i) - log p(x | S - i), whether or not i is on. M_aa = sum_t (L^{-1})_ta^2
and m_a = sum_t (L^{-1})_ta y_t.

- Switching i on appends a row: L_tt = (g_i + lambda)^{1/2}, L_tr = V_ri, V_t = (G_i - sum_r L_tr
  V_r)/L_tt, y_t = (rho_i + mu lambda)/L_tt; then g -= V_t^2 and rho -= V_t y_t. O(I |S|).
- Rotations of neighbouring rows change the order of slots. That of slot a goes to the end, where
  V_t = K_a/M_aa^{1/2} and y_t = m_a/M_aa^{1/2}, K = G_.S M; switching it off takes this row away.
- Without slot a, g_j and rho_j are g_j + V_tj^2 and rho_j + V_tj y_t for this row, which is
  sum_r (L^{-1})_ra V_r/M_aa^{1/2} before any rotation.
- Strengths are drawn as L^{-T} (y + standard normal variates).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones
from ribp.kernels.sweep_gaussian import make_row
from ribp.kernels.variates import normal_pair

_TINY = 1e-300  # a strength that is zero would take its feature away


G, RHO, Y, VARIANCE, MEAN, OUT = range(6)  # rows of `Support.terms`


class Support(NamedTuple):
    """What is kept of a row while its z moves; slots are the features that are on.

    A few arrays, since each costs ten nanoseconds whenever it is handed to a function.
    """

    slots: NDArray[np.int64]
    """The feature in each slot."""
    terms: NDArray[np.float64]
    """(6, features): over features g and rho (of those that are off) and room for the row of a slot
    that is taken out; over slots y, M_aa and m."""
    v: NDArray[np.float64]
    """V, (slots, features)."""
    inverse: NDArray[np.float64]
    """L^{-1}, (slots, slots), below and on the diagonal."""


@jit
def new_support(features):
    """Return room for the supports of rows."""
    square = (features, features)
    return Support(
        np.empty(features, np.int64), np.empty((6, features)), np.empty(square), np.empty(square)
    )


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
def least_gain(g, rho, mu, tau):
    """Return a number that `gain` is not below: log(1 + t^2) <= t."""
    return most_gain(g, rho, mu, tau) - 0.5 * tau * math.sqrt(max(g, 0.0))


@jit
def reaches(g, rho, mu, variance, least):
    """Return whether `most_gain` is at least `least`, made without a division."""
    g = max(g, 0.0)
    c = rho - mu * g
    return c * c * variance + (mu * (2.0 * c + mu * g) - 2.0 * least) * (1.0 + variance * g) >= 0.0


@jit
def slot_of(i, size, slots):
    """Return the slot of a feature that is on."""
    for a in range(size):
        if slots[a] == i:
            return a
    return -1


@jit
def slot_terms(variance, m, mu, tau):
    """Return g and rho of the feature in a slot, given its M_aa and m_a."""
    inverse, precision = 1.0 / variance, 1.0 / (tau * tau)
    return inverse - precision, m * inverse - mu * precision


@jit
def _fill_slot(t, support):
    """Fill row t of L^{-1}, given its diagonal, and add what it adds to M_ss and m_s."""
    terms, v, inverse, i = support.terms, support.v, support.inverse, support.slots[t]
    scale, y = inverse[t, t], terms[Y, t]
    for s in range(t):
        total = 0.0
        for r in range(s, t):
            total += v[r, i] * inverse[r, s]
        value = -total * scale
        inverse[t, s] = value
        terms[VARIANCE, s] += value * value
        terms[MEAN, s] += value * y
    terms[VARIANCE, t], terms[MEAN, t] = scale * scale, scale * y


@jit
def join(i, size, support, mu, tau):
    """Give feature i a slot as far as strengths are concerned: rows of V are left as they are."""
    terms, precision = support.terms, 1.0 / (tau * tau)
    scale = 1.0 / math.sqrt(max(terms[G, i], 0.0) + precision)
    support.slots[size], support.inverse[size, size] = i, scale
    terms[Y, size] = (terms[RHO, i] + mu * precision) * scale
    _fill_slot(size, support)


@jit
def append(size, last, support, gram, diagonal, mu, tau):
    """Switch on the features that stand in slots[size : last], one after another; return `last`."""
    matrix, v, terms, inverse = gram.matrix, support.v, support.terms, support.inverse
    features = v.shape[1]
    for at in range(size, last):
        i = support.slots[at]
        if gram.mask.shape[0] > 0:
            make_row(i, gram)
        join(i, at, support, mu, tau)
        scale, mean = inverse[at, at], terms[Y, at]
        for j in range(features):
            v[at, j] = matrix[i, j]
        v[at, i] = diagonal[i]
        for t in range(at):
            factor = v[t, i]
            for j in range(features):
                v[at, j] -= v[t, j] * factor
        for j in range(features):
            value = v[at, j] * scale
            v[at, j] = value
            terms[G, j] -= value * value
            terms[RHO, j] -= value * mean
    return last


@jit
def switch_on(i, size, support, gram, diagonal, mu, tau):
    """Give feature i a slot; return the number of slots."""
    support.slots[size] = i
    return append(size, size + 1, support, gram, diagonal, mu, tau)


@jit
def to_the_end(a, size, support):
    """Let the feature in slot a have the last slot, all behind it one less."""
    slots, terms, v, inverse = support.slots, support.terms, support.v, support.inverse
    i, own, y = slots[a], 1.0 / inverse[a, a], terms[Y, a]
    for t in range(a + 1, size):
        scale, of_t = 1.0 / inverse[t, t], v[t - 1, slots[t]]
        length = math.sqrt(scale * scale + of_t * of_t)
        cosine, sine = scale / length, of_t / length
        for j in range(v.shape[1]):
            first, second = v[t - 1, j], v[t, j]
            v[t - 1, j] = cosine * second + sine * first
            v[t, j] = cosine * first - sine * second
        terms[Y, t - 1], y = cosine * terms[Y, t] + sine * y, cosine * y - sine * terms[Y, t]
        slots[t - 1], inverse[t - 1, t - 1], own = slots[t], 1.0 / length, own * cosine
    slots[size - 1], inverse[size - 1, size - 1], terms[Y, size - 1] = i, 1.0 / own, y


@jit
def switch_off(a, size, support, mu, tau):
    """Take the feature in slot a away; return how many are left."""
    to_the_end(a, size, support)
    terms, v, last = support.terms, support.v, size - 1
    i, mean, scale = support.slots[last], terms[Y, last], 1.0 / support.inverse[last, last]
    precision = 1.0 / (tau * tau)
    for j in range(v.shape[1]):
        terms[G, j] += v[last, j] * v[last, j]
        terms[RHO, j] += v[last, j] * mean
    terms[G, i], terms[RHO, i] = scale * scale - precision, mean * scale - mu * precision
    for t in range(last):
        _fill_slot(t, support)
    return last


@jit
def fill_out(a, size, support):
    """Fill the row that slot a would have at the end; return its y."""
    terms, v, inverse = support.terms, support.v, support.inverse
    scale = 1.0 / math.sqrt(terms[VARIANCE, a])
    factor = inverse[a, a] * scale
    for j in range(v.shape[1]):
        terms[OUT, j] = v[a, j] * factor
    for t in range(a + 1, size):
        factor = inverse[t, a] * scale
        for j in range(v.shape[1]):
            terms[OUT, j] += v[t, j] * factor
    return terms[MEAN, a] * scale


@jit
def build(z, b, support, gram, diagonal, mu, tau, scored):
    """Make the support of z from nothing; return its size and log p(x | S) - log p(x | none).

    Zero in the place of the latter unless it is `scored`.
    """
    slots, terms, score = support.slots, support.terms, 0.0
    for i in range(z.shape[0]):
        terms[G, i], terms[RHO, i] = diagonal[i], b[i]
    size = list_ones(z, slots)
    if not scored:
        return append(0, size, support, gram, diagonal, mu, tau), 0.0
    for t in range(size):
        score += gain(terms[G, slots[t]], terms[RHO, slots[t]], mu, tau)
        append(t, t + 1, support, gram, diagonal, mu, tau)
    return size, score


@jit
def fill_covariance(size, inverse, out):
    """Fill M = L^{-T} L^{-1}."""
    for s in range(size):
        for r in range(s + 1):
            total = 0.0
            for t in range(s, size):
                total += inverse[t, s] * inverse[t, r]
            out[s, r] = out[r, s] = total


@jit
def draw_strengths(seed, place, size, support, normals, out):
    """Fill `out` with strengths of the features that are on, N(m, M), and zero for all others."""
    terms, inverse, slots = support.terms, support.inverse, support.slots
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(0, size, 2):
        normals[t], other = normal_pair(seed, place)
        if t + 1 < size:
            normals[t + 1] = other
    for s in range(size):
        value = terms[MEAN, s]
        for t in range(s, size):
            value += inverse[t, s] * normals[t]
        out[slots[s]] = value if value != 0.0 else _TINY
