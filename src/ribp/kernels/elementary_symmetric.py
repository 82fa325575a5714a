"""Elementary symmetric polynomials for all counts at once, and what follows from them.

Features are sorted by falling log-odds, w_1 >= w_2 >= ... >= w_I > 0, and added one at a time.
With e_j(i) the j-th elementary symmetric polynomial of the first i odds, the ratios

    y_i[j] = e_j(i) / (e_{j-1}(i) w_j)        lie in [1/j, i]   for every j <= i,

so they neither overflow nor underflow for ANY finite log-odds. Adding feature i with
d_j = w_i / w_j <= 1 gives, without branches, logarithms or subtractions,

    y_i[j] = (y_{i-1}[j] + d_j) * y_{i-1}[j-1] / (y_{i-1}[j-1] + d_{j-1}).

The bounds: removing the smallest member maps j-sets to (j-1)-sets, at most i-j+1 to one, and the
smallest member is at most w_j; adding the largest missing one of the top j maps back, at most j to
one. Relative errors grow like i * eps at worst (all terms are positive).

The same pass yields the chain that generates a row from the last feature to the first: with j ones
left among features 1..i, feature i is taken with probability

    take_i[j] = d_j / (y_{i-1}[j] + d_j)                 (= w_i e_{j-1}(i-1) / e_j(i)).

Pushing probability mass down this chain gives inclusion probabilities, which are the gradient of
log e_k; inverting its skips gives draws. Every pass costs O(I * K). All functions take `theta`
sorted in falling order and finite.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

_REACH = 500.0  # exp(+-500) is far inside the range of a double


@jit
def _add_features(theta, first, last, y, inverse, take):
    """Add features first..last-1 to the ratios `y`; row i - first of `take` is filled if there.

    `inverse[j]` holds exp(reference - theta_j) and is rebuilt whenever theta has fallen by more
    than 500 below the reference, so that d_j = exp(theta_i - reference) * inverse[j] is right or
    underflows harmlessly to 0.
    """
    if first >= last:
        return
    counts = y.shape[0] - 1
    keep = take.shape[0] > 0
    reference = theta[first]
    for j in range(1, min(first, counts) + 1):
        inverse[j] = math.exp(reference - theta[j - 1])
    for i in range(first, last):
        if theta[i] < reference - _REACH:
            reference = theta[i]
            for j in range(1, min(i, counts) + 1):
                inverse[j] = math.exp(reference - theta[j - 1])
        odds = math.exp(theta[i] - reference)
        if i < counts:
            inverse[i + 1] = 1.0 / odds
        top = min(i + 1, counts)
        skip = 1.0
        if keep:
            row = take[i - first]
            for j in range(1, top + 1):
                d = odds * inverse[j]
                old = y[j]
                total = old + d
                y[j] = total * skip
                part = 1.0 / total
                row[j] = d * part
                skip = old * part
        else:
            for j in range(1, top + 1):
                old = y[j]
                total = old + odds * inverse[j]
                y[j] = total * skip
                skip = old / total


@jit
def log_scaled_esp(theta, k_max):
    """Return log of e_k / (w_1 ... w_k), k = 0 .. k_max <= I: at least 0, at most k log I.

    Equals ``log_esp(theta, k_max) - np.append(0.0, np.cumsum(theta[:k_max]))`` where that does not
    cancel.
    """
    y = np.zeros(k_max + 1)
    _add_features(theta, 0, theta.shape[0], y, np.empty(k_max + 1), np.empty((0, 0)))
    out = np.zeros(k_max + 1)
    for j in range(1, k_max + 1):
        out[j] = out[j - 1] + math.log(y[j])
    return out


@jit
def log_esp(theta, k_max):
    """Return log e_0 .. log e_k_max, for k_max <= I.

    Equals ``np.log(np.abs(np.poly(-np.exp(theta))))[: k_max + 1]`` where that neither overflows
    nor cancels. The sum of theta is compensated, since its terms may cancel.
    """
    out = log_scaled_esp(theta, k_max)
    high = low = 0.0
    for j in range(1, k_max + 1):
        term = theta[j - 1]
        total = high + term
        low += (high - total) + term if abs(high) >= abs(term) else (term - total) + high
        high = total
        out[j] = high + (low + out[j])
    return out


@jit
def weighted_inclusion(theta, weights, block):
    """Return sum_k weights[k] eta_{i;k}: the gradient of sum_k weights[k] log e_k in theta.

    `weights` has length K + 1 <= I + 1. One forward pass keeps the ratios at the start of every
    block of `block` features; each block is then run again, keeping its chain, and the mass is
    pushed back through it. Memory O((I / block + block) * K), time O(I * K).
    Equals the sum over k of weights[k] times brute-force inclusion probabilities.
    """
    n, counts = theta.shape[0], weights.shape[0] - 1
    out = np.zeros(n)
    n_blocks = (n + block - 1) // block
    starts = np.zeros((n_blocks, counts + 1))
    y = np.zeros(counts + 1)
    inverse = np.empty(counts + 1)
    for b in range(n_blocks - 1):
        _add_features(theta, b * block, (b + 1) * block, y, inverse, np.empty((0, 0)))
        starts[b + 1] = y
    take = np.zeros((min(block, n), counts + 1))
    mass = weights.copy()
    for b in range(n_blocks - 1, -1, -1):
        first, last = b * block, min(n, (b + 1) * block)
        _add_features(theta, first, last, starts[b], inverse, take)
        for i in range(last - 1, first - 1, -1):
            row = take[i - first]
            total = 0.0
            moved = mass[0]
            for j in range(1, min(i + 1, counts) + 1):
                taken = mass[j] * row[j]
                total += taken
                mass[j - 1] = moved + taken
                moved = mass[j] - taken
            mass[min(i + 1, counts)] = moved
            out[i] = total
    return out


@jit
def skip_table(theta, k_max):
    """Return (table, logs): e_j(i) / (w_1 ... w_j) at [j, i], rising in i from 1 at i = j.

    The largest of j members among the first i features is at most m with probability
    ``table[j, m] / table[j, i]``; `draw_sets` inverts this. Where the values would not fit a
    double the table holds their logarithms instead, and `logs` is True.
    """
    n = theta.shape[0]
    table = np.zeros((k_max + 1, n + 1))
    y = np.zeros(k_max + 1)
    inverse = np.empty(k_max + 1)
    block = 256
    take = np.zeros((block, k_max + 1))
    for first in range(0, n, block):
        last = min(n, first + block)
        _add_features(theta, first, last, y, inverse, take)
        for j in range(1, k_max + 1):
            for i in range(max(first, j), last):
                table[j, i + 1] = table[j, i] - math.log1p(-take[i - first, j])
    logs = False
    for j in range(k_max + 1):
        logs = logs or table[j, n] > _REACH
    if not logs:
        for j in range(k_max + 1):
            for i in range(j, n + 1):
                table[j, i] = math.exp(table[j, i])
    return table, logs


@jit
def draw_sets(seed, sweep, counts, table, logs, names):
    """Draw for row n a set of counts[n] features, without rejection; sets are laid end to end.

    A set is drawn from its last (least likely) member to its first, one uniform and one binary
    search in `skip_table` each: O(counts * log I) a row. Sorted feature i is called names[i].
    """
    out = np.empty(counts.sum(), np.int32)
    place = 0
    for n in range(counts.shape[0]):
        end = table.shape[1] - 1
        spare = 0.0
        for j in range(counts[n], 0, -1):
            if (counts[n] - j) % 2 == 0:
                u, spare = uniform_pair(seed, sweep, n, (counts[n] - j) // 2)
            else:
                u = spare
            column = table[j]
            goal = column[end] + math.log(u) if logs else column[end] * u
            low, length = j, end - j + 1
            while length > 1:  # halve without a branch: the outcome is a coin toss
                half = length >> 1
                low += half * (column[low + half - 1] < goal)
                length -= half
            end = low - 1
            out[place] = names[end]
            place += 1
    return out


@jit
def switch_on(rows, counts, members):
    """Set ``rows[n, i] = 1`` for the members i of row n, laid end to end by `draw_sets`.

    Equals ``rows[np.repeat(np.arange(len(rows)), counts), members] = 1``.
    """
    at = 0
    for n in range(counts.shape[0]):
        for _ in range(counts[n]):
            rows[n, members[at]] = 1
            at += 1
