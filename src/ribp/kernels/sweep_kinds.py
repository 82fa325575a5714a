"""Row updates with the features kept: columns of any kind, rows independent of one another.

With the terms of a row (`kind_terms`), eta of its features, and a = A_i for a feature that is off,
-A_i for one that is on, a flip of i loses

    loss_i = sum m_t log(1 - p_t + p_t e_l) + sum exp(eta_l) (e_l - 1) + sum a_l (eta_l + a_l/2),
                                                                e = exp a,  p_t = g(eta_l - s_t),

and log sum_r p_r e_r for unordered levels. So one eta, and one set of shares p, serves all
features, on or off, until a flip is made. The gain of having feature i is

    gain_i = sum c_l A_il - loss_i if i is off,    sum c_l A_il + loss_i if i is on,

where the sum does not depend on the features of a row. Noisy-OR columns that are 1 add log(1 +
q_il/(exp eta_l - 1)) to it, with q = 1 - exp(-A) and eta without i: it is added up anew for a
feature that is on, because eta - A_i would cancel.
The factors of terms with m = 1 lie between 1 and e whatever eta is: `every` of them, usually 64,
are multiplied before a logarithm is taken. Where features are so large that e has no place in a
double, `every` is zero and differences of logarithms are taken one by one.

- a flip of i has log-odds theta_i + table[k+1] - table[k] + gain_i, with k ones elsewhere;
- moving the one at i to place j has log-weight theta_j + gain_j over eta without i;
- a whole row is proposed and accepted by its `excess` (see `whole_rows`).

eta is made anew after each change, so that errors do not build up. Random numbers of a row are
used as in `sweep_gaussian`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import coin, pick
from ribp.kernels.jit import jit
from ribp.kernels.kind_terms import (
    AT,
    COEFFICIENT,
    COEFFICIENTS,
    EXPONENTIAL,
    HIT,
    LEVELS,
    LINE,
    OFFSET,
    ORDERED,
    SQUARE,
    TIMES,
    WEIGHTED,
    WIDTH,
    P,
    Q,
    bounded_exp,
    fill_eta,
    fill_shares,
    fill_terms,
    log_likelihood,
    log_sum_exp,
    softplus,
)
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, own_squares

# Rows of the work array, each over features.
LINEAR, GAINS, SQUARES, SHIFTS = range(4)
WORK = 4


class Latent(NamedTuple):
    """What latent columns have of features."""

    features: NDArray[np.float64]
    """A, (features, latent)."""
    loadings: NDArray[np.float64]
    """A', (latent, features)."""
    growth: NDArray[np.float64]
    """exp A and exp -A, (2, features, latent), not used where `every` is zero; q for noisy-OR."""
    background: NDArray[np.float64]
    every: int
    """Factors that are multiplied before a logarithm is taken; 0 to take differences."""


@jit
def fill_linear(terms, loadings, linear):
    """Fill sum_l c_l A_il: ``coefficients @ loadings``."""
    for i in range(linear.shape[0]):
        linear[i] = 0.0
    whole, real = terms.whole, terms.real
    for t in range(terms.ends[COEFFICIENTS]):
        value, row = real[COEFFICIENT, t], loadings[whole[LINE, t]]
        for i in range(linear.shape[0]):
            linear[i] += value * row[i]


@jit
def fill_gains(first, z, eta, terms, latent, work, shares):
    """Fill work[GAINS, first:] with the gains of having features; eta is that of z."""
    if latent.every > 0:
        fill_shares(eta, terms, shares)
        _lose_by_factors(first, z, terms, latent.growth, latent.every, shares, work)
    else:
        _lose_by_differences(first, z, eta, terms, latent.features, shares, work)
    if terms.ends[EXPONENTIAL] < terms.ends[SQUARE]:
        _lose_squares(first, z, eta, terms, latent.features, work)
    for j in range(first, z.shape[0]):
        loss = work[GAINS, j]
        work[GAINS, j] = work[LINEAR, j] + (loss if z[j] else -loss)
    if terms.ends[SQUARE] < terms.ends[HIT]:
        _gain_hits(first, z, eta, terms, latent, work)


@jit
def _lose_squares(first, z, eta, terms, features, work):
    """Add what squares lose by flips."""
    whole, ends = terms.whole, terms.ends
    for j in range(first, z.shape[0]):
        for t in range(ends[EXPONENTIAL], ends[SQUARE]):
            at = whole[AT, t]
            a = -features[j, at] if z[j] else features[j, at]
            work[GAINS, j] += a * (eta[at] + 0.5 * a)


@jit
def _gain_hits(first, z, eta, terms, latent, work):
    """Add what features are worth to noisy-OR columns that are 1."""
    whole, ends, features, growth = terms.whole, terms.ends, latent.features, latent.growth
    for j in range(first, z.shape[0]):
        for t in range(ends[SQUARE], ends[HIT]):
            at = whole[AT, t]
            rate = latent.background[at] if z[j] else eta[at]
            for i in range(z.shape[0]):
                if z[j] and z[i] and i != j:
                    rate += features[i, at]
            work[GAINS, j] += math.log1p(growth[0, j, at] / math.expm1(rate))


@jit
def _lose_by_factors(first, z, terms, growth, every, shares, work):
    """Fill work[GAINS, first:] with what terms lose by flips, from their shares."""
    whole, real, ends = terms.whole, terms.real, terms.ends
    ordered, levels = ends[ORDERED], ends[LEVELS]
    for j in range(first, z.shape[0]):
        on, loss, t = z[j], 0.0, 0
        while t < levels:
            end = min(t + every, ordered if t < ordered else levels)
            if t < ordered:
                loss += math.log(_ordered(t, end, on, j, growth, whole, real))
            else:
                loss += math.log(_levels(t, end, on, j, growth, whole, shares))
            t = end
        for t in range(levels, ends[WEIGHTED]):
            factor = real[Q, t] + real[P, t] * growth[on, j, whole[AT, t]]
            loss += real[TIMES, t] * math.log(factor)
        for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
            loss += real[P, t] * (growth[on, j, whole[AT, t]] - 1.0)
        work[GAINS, j] = loss


@jit
def _ordered(begin, end, on, j, growth, whole, real):
    """Return the product of factors; four products at once, since each waits for its last."""
    a = b = c = d = 1.0
    rest = end - (end - begin) % 4
    for t in range(begin, rest, 4):
        a *= real[Q, t] + real[P, t] * growth[on, j, whole[AT, t]]
        b *= real[Q, t + 1] + real[P, t + 1] * growth[on, j, whole[AT, t + 1]]
        c *= real[Q, t + 2] + real[P, t + 2] * growth[on, j, whole[AT, t + 2]]
        d *= real[Q, t + 3] + real[P, t + 3] * growth[on, j, whole[AT, t + 3]]
    for t in range(rest, end):
        a *= real[Q, t] + real[P, t] * growth[on, j, whole[AT, t]]
    return (a * b) * (c * d)


@jit
def _levels(begin, end, on, j, growth, whole, shares):
    """Return the product of factors of unordered levels."""
    product = 1.0
    for t in range(begin, end):
        at, factor = whole[AT, t], 0.0
        for k in range(at, at + whole[WIDTH, t]):
            factor += shares[k] * growth[on, j, k]
        product *= factor
    return product


@jit
def _lose_by_differences(first, z, eta, terms, features, shares, work):
    """Fill the same where exp a has no place in a double."""
    whole, real, ends = terms.whole, terms.real, terms.ends
    for j in range(first, z.shape[0]):
        other, loss = eta - features[j] if z[j] else eta + features[j], 0.0
        for t in range(ends[WEIGHTED]):
            at, shift = whole[AT, t], real[OFFSET, t]
            if ends[ORDERED] <= t < ends[LEVELS]:
                before = log_sum_exp(eta, at, whole[WIDTH, t], shares)
                after = log_sum_exp(other, at, whole[WIDTH, t], shares)
            else:
                before, after = softplus(eta[at] - shift), softplus(other[at] - shift)
            loss += real[TIMES, t] * (after - before)
        for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
            at = whole[AT, t]
            loss += bounded_exp(other[at]) - bounded_exp(eta[at])
        work[GAINS, j] = loss


@jit
def flip_each(seed, number, row, z, beta, theta, step, terms, latent, eta, work, shares):
    """Flip every feature in order, gains times beta. step[k] = table[k+1] - table[k]."""
    features, ones, stale = z.shape[0], 0, True
    for i in range(features):
        ones += z[i]
    for i in range(features):
        if stale:
            fill_eta(z, latent.features, latent.background, eta)
            fill_gains(i, z, eta, terms, latent, work, shares)
        on = coin(seed, number, row, i, theta[i] + step[ones - z[i]] + beta * work[GAINS, i])
        stale = on != (z[i] != 0)
        if stale:
            ones += 1 if on else -1
            z[i] = on


@jit
def relocation_log_weights(i, z, beta, theta, terms, latent, eta, work, shares):
    """Fill work[GAINS] with the log-weights of the places where the one at i may go."""
    z[i] = 0
    fill_eta(z, latent.features, latent.background, eta)
    fill_gains(0, z, eta, terms, latent, work, shares)
    z[i] = 1
    for j in range(z.shape[0]):
        if z[j] and j != i:
            work[GAINS, j] = -math.inf
        else:
            work[GAINS, j] = theta[j] + beta * work[GAINS, j]


@jit
def relocate_each(seed, number, row, z, beta, theta, terms, latent, eta, work, shares, active):
    """Move every one once, in random order."""
    features = z.shape[0]
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, features // 2 + 1 + last)
        i = take_out_one(u, active, last)
        relocation_log_weights(i, z, beta, theta, terms, latent, eta, work, shares)
        place = pick(work[GAINS], v)
        if place >= 0:
            z[i] = 0
            z[place] = 1


@jit
def excess(z, shift, terms, latent, eta, shares):
    """Return log-likelihood(z) - shift.z up to a constant; fills the eta of z."""
    fill_eta(z, latent.features, latent.background, eta)
    total = log_likelihood(eta, terms, shares)
    for i in range(z.shape[0]):
        if z[i]:
            total -= shift[i]
    return total


@jit
def sweep(
    seed, number, first, products, data, observed, rows, columns, terms, latent,
    theta, tables, steps, law_of_row, moves, scaled, diagonal, guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: flips, relocations, then whole rows.

    Laws and `observed` as in `sweep_gaussian.sweep`; `terms` is work space. For whole rows,
    `products`, `scaled`, `diagonal` and `guide` belong to Gaussian data, a column for each latent
    one, of about the same moments.
    """
    features, size = rows.shape[1], latent.background.shape[0]
    incomplete = observed.shape[0] > 0
    work, shares = np.empty((WORK, features)), np.empty(size)
    eta, active = np.empty(size), np.empty(features, np.int64)
    proposal = np.empty(features, np.int8)
    mask, latent_mask = np.empty(observed.shape[1], np.bool_), np.ones(size, np.bool_)
    for n in range(rows.shape[0]):
        row, law, z = first + n, law_of_row[n], rows[n]
        if incomplete:
            mask[:] = observed[n]
        fill_terms(data[n], mask, columns, terms)
        fill_linear(terms, latent.loadings, work[LINEAR])
        if moves[law, FLIPS]:
            flip_each(
                seed, number, row, z, 1.0, theta, steps[law], terms, latent, eta, work, shares
            )
        if moves[law, RELOCATIONS]:
            relocate_each(
                seed, number, row, z, 1.0, theta, terms, latent, eta, work, shares, active
            )
        if moves[law, WHOLE]:
            shift = work[SHIFTS]
            work[SQUARES, :] = diagonal
            if incomplete:
                spread_mask(mask, columns, latent_mask)
                own_squares(latent_mask, scaled, diagonal, work[SQUARES])
            whole_rows.fill_shift(
                products[n], work[SQUARES], diagonal, guide, mean, precision, shift
            )
            block = features // 2 + 1 + features
            u = whole_rows.propose(seed, number, row, block, theta, tables[law], shift, proposal)
            gain = excess(proposal, shift, terms, latent, eta, shares)
            gain -= excess(z, shift, terms, latent, eta, shares)
            if math.log(u) < gain:
                z[:] = proposal


@jit
def spread_mask(mask, columns, latent_mask):
    """Fill which latent columns belong to a column that is observed."""
    for c in range(columns.place.shape[0]):
        wide = columns.width[c] if columns.form[c] == LEVELS else 1
        for r in range(wide):
            latent_mask[columns.at[c] + r] = mask[columns.place[c]]
