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
LINEAR, GAINS, PRODUCT, FACTOR, ON, OFF, SQUARES, SHIFTS = range(8)
WORK = 8


class Latent(NamedTuple):
    """What latent columns have of features."""

    features: NDArray[np.float64]
    """A, (features, latent)."""
    loadings: NDArray[np.float64]
    """A', (latent, features)."""
    growth: NDArray[np.float64]
    """exp A' and exp -A', (2, latent, features); unused if `every` is zero; q' for noisy-OR."""
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
def fill_gains(z, eta, terms, latent, work, shares):
    """Fill work[GAINS] with the gains of having features; eta is that of z."""
    if latent.every > 0:
        fill_shares(eta, terms, shares)
        _lose_by_factors(z, terms, latent.growth, latent.every, shares, work)
    else:
        _lose_by_differences(z, eta, terms, latent.features, shares, work)
    if terms.ends[EXPONENTIAL] < terms.ends[SQUARE]:
        _lose_squares(z, eta, terms, latent.features, work)
    for j in range(z.shape[0]):
        loss = work[GAINS, j]
        work[GAINS, j] = work[LINEAR, j] + (loss if z[j] else -loss)
    if terms.ends[SQUARE] < terms.ends[HIT]:
        _gain_hits(z, eta, terms, latent, work)


@jit
def _lose_squares(z, eta, terms, features, work):
    """Add what squares lose by flips."""
    whole, ends = terms.whole, terms.ends
    for j in range(z.shape[0]):
        for t in range(ends[EXPONENTIAL], ends[SQUARE]):
            at = whole[AT, t]
            a = -features[j, at] if z[j] else features[j, at]
            work[GAINS, j] += a * (eta[at] + 0.5 * a)


@jit
def _gain_hits(z, eta, terms, latent, work):
    """Add what features are worth to noisy-OR columns that are 1."""
    whole, ends, growth = terms.whole, terms.ends, latent.growth
    loadings, background = latent.loadings, latent.background
    for t in range(ends[SQUARE], ends[HIT]):
        at = whole[AT, t]
        odds = 1.0 / math.expm1(eta[at])
        for j in range(z.shape[0]):
            own = odds
            if z[j]:
                rate = background[at]
                for i in range(z.shape[0]):
                    if z[i] and i != j:
                        rate += loadings[at, i]
                own = 1.0 / math.expm1(rate)
            work[GAINS, j] += math.log1p(own * growth[0, at, j])


@jit
def _lose_by_factors(z, terms, growth, every, shares, work):
    """Fill work[GAINS] with what terms lose by flips, from their shares.

    The innermost loops are over features, all of them, and become vector instructions.
    """
    whole, real, ends, left = terms.whole, terms.real, terms.ends, every
    loss, product, factor = work[GAINS], work[PRODUCT], work[FACTOR]
    on, off = work[ON], work[OFF]
    for j in range(z.shape[0]):
        loss[j], product[j], on[j] = 0.0, 1.0, 1.0 if z[j] else 0.0
        off[j] = 1.0 - on[j]
    for t in range(ends[ORDERED]):
        at, p, q = whole[AT, t], real[P, t], real[Q, t]
        for j in range(z.shape[0]):
            product[j] *= q + p * (off[j] * growth[0, at, j] + on[j] * growth[1, at, j])
        left = _take_logarithms(left, every, product, loss)
    for t in range(ends[ORDERED], ends[LEVELS]):
        for j in range(z.shape[0]):
            factor[j] = 0.0
        for at in range(whole[AT, t], whole[AT, t] + whole[WIDTH, t]):
            p = shares[at]
            for j in range(z.shape[0]):
                factor[j] += p * (off[j] * growth[0, at, j] + on[j] * growth[1, at, j])
        for j in range(z.shape[0]):
            product[j] *= factor[j]
        left = _take_logarithms(left, every, product, loss)
    _take_logarithms(1, every, product, loss)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        at, p, q = whole[AT, t], real[P, t], real[Q, t]
        for j in range(z.shape[0]):
            e = off[j] * growth[0, at, j] + on[j] * growth[1, at, j]
            loss[j] += real[TIMES, t] * math.log(q + p * e)
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        at, rate = whole[AT, t], real[P, t]
        for j in range(z.shape[0]):
            loss[j] += rate * (off[j] * growth[0, at, j] + on[j] * growth[1, at, j] - 1.0)


@jit
def _take_logarithms(left, every, product, loss):
    """Add logarithms of products to losses if no factor is left; return how many are left."""
    if left > 1:
        return left - 1
    for j in range(loss.shape[0]):
        loss[j] += math.log(product[j])
        product[j] = 1.0
    return every


@jit
def _lose_by_differences(z, eta, terms, features, shares, work):
    """Fill the same where exp a has no place in a double."""
    whole, real, ends = terms.whole, terms.real, terms.ends
    for j in range(z.shape[0]):
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
            fill_gains(z, eta, terms, latent, work, shares)
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
    fill_gains(z, eta, terms, latent, work, shares)
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
