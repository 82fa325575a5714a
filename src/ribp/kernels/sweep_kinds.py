"""Row updates with the features kept: columns of any kind, rows independent of one another.

With the terms of a row (`kind_terms`), eta of its features, and a = A_i for a feature that is off,
-A_i for one that is on, a flip of i loses

    loss_i = sum m_t log(1 - p_t + p_t e_t) + sum exp(eta_l) (e_l - 1) + sum a_l (eta_l + a_l/2),
                                   e_t = exp(d_t a_l),  e_l = exp a_l,  p_t = g(d_t (eta_l - s_t)),

and log sum_r p_r e_r for unordered levels. So one eta, and one set of shares p, serves all
features, on or off, until a flip is made. The gain of having feature i is

    gain_i = sum c_l A_il - loss_i if i is off,    sum c_l A_il + loss_i if i is on,

where the sum does not depend on the features of a row. Noisy-OR columns that are 1 add log(1 +
q_il/(exp eta_l - 1)) to it, with q = 1 - exp(-A) and eta without i: it is added up anew for a
feature that is on, because eta - A_i would cancel.
The factors of terms with m = 1 lie between 1 and e whatever eta is: `every` of them, usually 64,
are multiplied before a logarithm is taken. Shares p follow from exp eta, which is a product of
exponentials of the background and of features: nor is an exponential taken. Where features are so
large that e has no place in a double, `every` is zero, and differences of logarithms are taken one
by one; so they are where exp eta has none.

- a flip of i has log-odds theta_i + table[k+1] - table[k] + gain_i, with k ones elsewhere;
- moving the one at i to place j has log-weight theta_j + gain_j over eta without i;
- a whole row is proposed and accepted by its `excess` (see `whole_rows`).

eta and exp eta are made anew after each change, so that errors do not build up. Random numbers of
a row are used as in `sweep_gaussian`. Functions that are called for every row take single arrays,
since compiled code counts references to each array that it takes from a tuple.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import CERTAIN, pick, shows
from ribp.kernels.jit import jit
from ribp.kernels.kind_terms import (
    AT,
    COEFFICIENT,
    COEFFICIENTS,
    ETA,
    EXPONENTIAL,
    HIT,
    LEVELS,
    LINE,
    ODDS,
    OFFSET,
    ORDERED,
    SIDE,
    SQUARE,
    TIMES,
    WEIGHTED,
    WIDTH,
    P,
    Q,
    bounded_exp,
    fill_latent,
    fill_shares,
    fill_terms,
    log_likelihood,
    log_sum_exp,
    softplus,
    toward,
)
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, own_squares

# Rows of the work array, each over features.
LINEAR, GAINS, PRODUCT, FACTOR, SQUARES, SHIFTS = range(6)
WORK = 6


class Latent(NamedTuple):
    """What latent columns have of features."""

    features: NDArray[np.float64]
    """A and exp A, (2, features, latent); the second is unused if `every` is zero."""
    loadings: NDArray[np.float64]
    """A', (latent, features)."""
    growth: NDArray[np.float64]
    """exp A' at l and exp -A' at ~l, counted from the end: (2 latent, features); unused if `every`
    is zero; q' for noisy-OR.

    The first is what features that are switched on do to terms with d = 1, and features that are
    switched off to those with d = -1. Unordered levels are contrasts to the first of them.
    """
    background: NDArray[np.float64]
    """b and exp b, (2, latent)."""
    every: int
    """Factors, at least two, that are multiplied before a logarithm is taken; 0 for differences."""


def with_odds(background: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return b and exp b, which may be infinite."""
    with np.errstate(over="ignore"):
        return np.stack([background, np.exp(background)])


@jit
def fill_linear(whole, real, ends, loadings, work):
    """Fill work[LINEAR] with sum_l c_l A_il: ``coefficients @ loadings``."""
    for i in range(work.shape[1]):
        work[LINEAR, i] = 0.0
    for t in range(ends[COEFFICIENTS]):
        value, at = real[COEFFICIENT, t], whole[LINE, t]
        for i in range(work.shape[1]):
            work[LINEAR, i] += value * loadings[at, i]


@jit
def fill_gains(
    first, z, eta, whole, real, ends, features, loadings, growth, background, every, work, shares
):
    """Fill work[GAINS] with the gains of having features from `first` on; eta is that of z."""
    if ends[EXPONENTIAL] == 0:
        work[GAINS, first:] = 0.0
    elif every > 0:
        fill_shares(eta, whole, real, ends)
        _lose_by_factors(first, eta, whole, real, ends, growth, every, work)
        total = 0.0
        for j in range(first, z.shape[0]):
            if z[j]:
                work[GAINS, j] = _lost_by(j, eta, whole, real, ends, growth, every)
            total += work[GAINS, j]
        if not math.isfinite(total):  # exp eta has no place in a double
            _lose_by_differences(first, z, eta[ETA], whole, real, ends, features, shares, work)
    else:
        _lose_by_differences(first, z, eta[ETA], whole, real, ends, features, shares, work)
    if ends[EXPONENTIAL] < ends[SQUARE]:
        _lose_squares(first, z, eta, whole, ends, features, work)
    for j in range(first, z.shape[0]):
        loss = work[GAINS, j]
        work[GAINS, j] = work[LINEAR, j] + (loss if z[j] else -loss)
    if ends[SQUARE] < ends[HIT]:
        _gain_hits(first, z, eta, whole, ends, loadings, growth, background, work)


@jit
def _lose_squares(first, z, eta, whole, ends, features, work):
    """Add what squares lose by flips."""
    for j in range(first, z.shape[0]):
        for t in range(ends[EXPONENTIAL], ends[SQUARE]):
            at = whole[AT, t]
            a = -features[ETA, j, at] if z[j] else features[ETA, j, at]
            work[GAINS, j] += a * (eta[ETA, at] + 0.5 * a)


@jit
def _gain_hits(first, z, eta, whole, ends, loadings, growth, background, work):
    """Add what features are worth to noisy-OR columns that are 1."""
    for t in range(ends[SQUARE], ends[HIT]):
        at = whole[AT, t]
        odds = 1.0 / math.expm1(eta[ETA, at])
        for j in range(first, z.shape[0]):
            own = odds
            if z[j]:
                rate = background[ETA, at]
                for i in range(z.shape[0]):
                    if z[i] and i != j:
                        rate += loadings[at, i]
                own = 1.0 / math.expm1(rate)
            work[GAINS, j] += math.log1p(own * growth[at, j])


@jit
def _lose_by_factors(first, eta, whole, real, ends, growth, every, work):
    """Fill work[GAINS] with what terms lose if features are switched on.

    The innermost loops are over features and become vector instructions, if indices cannot be
    negative. They take two terms, or three levels, at a time: each pass has a price of its own.
    """
    low, high, multiplied = np.uint64(first), np.uint64(work.shape[1]), 0
    for j in range(low, high):
        work[GAINS, j], work[PRODUCT, j] = 0.0, 1.0
    for t in range(0, ends[ORDERED], 2):
        a, p, q, b, p_b, q_b = whole[SIDE, t], real[P, t], real[Q, t], 0, 0.0, 1.0
        if t + 1 < ends[ORDERED]:
            b, p_b, q_b = whole[SIDE, t + 1], real[P, t + 1], real[Q, t + 1]
        for j in range(low, high):
            work[PRODUCT, j] *= (q + p * growth[a, j]) * (q_b + p_b * growth[b, j])
        multiplied += 2
        if multiplied + 2 > every:
            multiplied = _take_logarithms(low, high, work)
    for t in range(ends[ORDERED], ends[LEVELS]):
        begin, wide, part = whole[AT, t], whole[WIDTH, t], real[P, t]
        q = part * eta[ODDS, begin]
        for at in range(begin + 1, begin + wide, 3):
            a, b, c, last = at, at, at, begin + wide - 1
            p, p_b, p_c = part * eta[ODDS, a], 0.0, 0.0
            if at < last:
                b, p_b = at + 1, part * eta[ODDS, at + 1]
            if at + 1 < last:
                c, p_c = at + 2, part * eta[ODDS, at + 2]
            if wide <= 4:
                for j in range(low, high):
                    work[PRODUCT, j] *= (q + p * growth[a, j]) + (
                        p_b * growth[b, j] + p_c * growth[c, j]
                    )
            else:
                for j in range(low, high):
                    work[FACTOR, j] = (q if at == begin + 1 else work[FACTOR, j]) + (
                        p * growth[a, j] + p_b * growth[b, j] + p_c * growth[c, j]
                    )
        if wide > 4:
            for j in range(low, high):
                work[PRODUCT, j] *= work[FACTOR, j]
        multiplied += 1
        if multiplied + 2 > every:
            multiplied = _take_logarithms(low, high, work)
    _take_logarithms(low, high, work)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        a, p, q, times = whole[AT, t], real[P, t], real[Q, t], real[TIMES, t]
        for j in range(low, high):
            work[GAINS, j] += times * math.log(q + p * growth[a, j])
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        a, p = whole[AT, t], real[P, t]
        for j in range(low, high):
            work[GAINS, j] += p * (growth[a, j] - 1.0)


@jit
def _take_logarithms(low, high, work):
    """Add logarithms of products to losses, and begin them anew; return 0."""
    for j in range(low, high):
        work[GAINS, j] += math.log(work[PRODUCT, j])
        work[PRODUCT, j] = 1.0
    return 0


@jit
def _lost_by(j, eta, whole, real, ends, growth, every):
    """Return what terms lose if feature j is switched off: few features are on."""
    loss, product, other, multiplied = 0.0, 1.0, 1.0, 0
    for t in range(0, ends[ORDERED], 2):  # two products, neither of which waits for the other
        product *= real[Q, t] + real[P, t] * growth[~whole[SIDE, t], j]
        if t + 1 < ends[ORDERED]:
            other *= real[Q, t + 1] + real[P, t + 1] * growth[~whole[SIDE, t + 1], j]
        multiplied += 2
        if multiplied + 2 > every:
            loss += math.log(product * other)
            product, other, multiplied = 1.0, 1.0, 0
    product *= other
    for t in range(ends[ORDERED], ends[LEVELS]):
        a = whole[AT, t]
        factor = eta[ODDS, a]
        for r in range(a + 1, a + whole[WIDTH, t]):
            factor += eta[ODDS, r] * growth[~r, j]
        product *= real[P, t] * factor
        multiplied += 1
        if multiplied >= every:
            loss, product, multiplied = loss + math.log(product), 1.0, 0
    loss += math.log(product)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        factor = real[Q, t] + real[P, t] * growth[~whole[AT, t], j]
        loss += real[TIMES, t] * math.log(factor)
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        loss += real[P, t] * (growth[~whole[AT, t], j] - 1.0)
    return loss


@jit
def _lose_by_differences(first, z, eta, whole, real, ends, features, shares, work):
    """Fill work[GAINS] with what terms lose by flips, where exp a has no place in a double."""
    for j in range(first, z.shape[0]):
        a, loss = features[ETA, j], 0.0
        other = eta - a if z[j] else eta + a
        for t in range(ends[WEIGHTED]):
            at, shift = whole[AT, t], real[OFFSET, t]
            if ends[ORDERED] <= t < ends[LEVELS]:
                before = log_sum_exp(eta, at, whole[WIDTH, t], shares)
                after = log_sum_exp(other, at, whole[WIDTH, t], shares)
            else:
                down = t < ends[ORDERED] and whole[SIDE, t] < 0
                before = softplus(toward(eta[at] - shift, down))
                after = softplus(toward(other[at] - shift, down))
            loss += (real[TIMES, t] if t >= ends[LEVELS] else 1.0) * (after - before)
        for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
            at, shift = whole[AT, t], real[OFFSET, t]
            loss += bounded_exp(other[at] - shift) - bounded_exp(eta[at] - shift)
        work[GAINS, j] = loss


@jit
def flip_each(
    seed, number, row, z, beta, theta, step, whole, real, ends, features, loadings, growth,
    background, every, eta, work, shares,
):  # fmt: skip
    """Flip every feature in order, gains times beta. step[k] = table[k+1] - table[k]."""
    ones, stale, block, u, v = 0, True, -1, 0.5, 0.5
    for i in range(z.shape[0]):
        ones += z[i]
    for i in range(z.shape[0]):
        if stale:
            fill_latent(z, features, background, eta)
            fill_gains(
                i, z, eta, whole, real, ends, features, loadings, growth, background, every, work,
                shares,
            )  # fmt: skip
        log_odds = theta[i] + step[ones - z[i]] + beta * work[GAINS, i]
        on = log_odds > CERTAIN
        if abs(log_odds) <= CERTAIN:
            if block != i // 2:  # two coins of a block
                block = i // 2
                u, v = uniform_pair(seed, number, row, block)
            on = shows(v if i % 2 else u, log_odds)
        stale = on != (z[i] != 0)
        if stale:
            ones += 1 if on else -1
            z[i] = on


@jit
def relocation_log_weights(
    i, z, beta, theta, whole, real, ends, features, loadings, growth, background, every, eta, work,
    shares,
):  # fmt: skip
    """Fill work[GAINS] with the log-weights of the places where the one at i may go."""
    z[i] = 0
    fill_latent(z, features, background, eta)
    fill_gains(
        0, z, eta, whole, real, ends, features, loadings, growth, background, every, work, shares
    )
    z[i] = 1
    for j in range(z.shape[0]):
        if z[j] and j != i:
            work[GAINS, j] = -math.inf
        else:
            work[GAINS, j] = theta[j] + beta * work[GAINS, j]


@jit
def relocate_each(
    seed, number, row, z, beta, theta, whole, real, ends, features, loadings, growth, background,
    every, eta, work, shares, active,
):  # fmt: skip
    """Move every one once, in random order."""
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, z.shape[0] // 2 + 1 + last)
        i = take_out_one(u, active, last)
        relocation_log_weights(
            i, z, beta, theta, whole, real, ends, features, loadings, growth, background, every,
            eta, work, shares,
        )  # fmt: skip
        place = pick(work[GAINS], v)
        if place >= 0:
            z[i] = 0
            z[place] = 1


@jit
def excess(z, shift, whole, real, ends, features, background, eta, shares):
    """Return log-likelihood(z) - shift.z up to a constant; fills the eta of z."""
    fill_latent(z, features, background, eta)
    total = log_likelihood(eta[ETA], whole, real, ends, shares)
    for i in range(z.shape[0]):
        if z[i]:
            total -= shift[i]
    return total


@jit
def sweep(
    seed, number, first, products, data, observed, exposures, rows, columns, terms, latent,
    theta, tables, steps, law_of_row, moves, scaled, diagonal, guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: flips, relocations, then whole rows.

    Laws and `observed` as in `sweep_gaussian.sweep`; `exposures` are logarithms, one for each row;
    `terms` is work space. For whole rows,
    `products`, `scaled`, `diagonal` and `guide` belong to Gaussian data, a column for each latent
    one, of about the same moments.
    """
    place, form, at, width, begin, thresholds, numbers = columns
    whole, real, ends = terms
    features, loadings, growth, background, every = latent
    number_of, size = rows.shape[1], background.shape[1]
    incomplete = observed.shape[0] > 0
    work, shares = np.empty((WORK, number_of)), np.empty(size)
    eta, active = np.empty((2, size)), np.empty(number_of, np.int64)
    proposal = np.empty(number_of, np.int8)
    mask, latent_mask = np.empty(observed.shape[1], np.bool_), np.ones(size, np.bool_)
    for n in range(rows.shape[0]):
        row, law, z = first + n, law_of_row[n], rows[n]
        if incomplete:
            mask[:] = observed[n]
        fill_terms(
            data[n], mask, exposures[n], place, form, at, width, begin, thresholds, numbers, whole,
            real, ends,
        )  # fmt: skip
        fill_linear(whole, real, ends, loadings, work)
        if moves[law, FLIPS]:
            flip_each(
                seed, number, row, z, 1.0, theta, steps[law], whole, real, ends, features,
                loadings, growth, background, every, eta, work, shares,
            )  # fmt: skip
        if moves[law, RELOCATIONS]:
            relocate_each(
                seed, number, row, z, 1.0, theta, whole, real, ends, features, loadings, growth,
                background, every, eta, work, shares, active,
            )  # fmt: skip
        if moves[law, WHOLE]:
            shift = work[SHIFTS]
            work[SQUARES, :] = diagonal
            if incomplete:
                spread_mask(mask, columns, latent_mask)
                own_squares(latent_mask, scaled, diagonal, work[SQUARES])
            whole_rows.fill_shift(
                products[n], work[SQUARES], diagonal, guide, mean, precision, shift
            )
            block = number_of // 2 + 1 + number_of
            u = whole_rows.propose(seed, number, row, block, theta, tables[law], shift, proposal)
            gain = excess(proposal, shift, whole, real, ends, features, background, eta, shares)
            gain -= excess(z, shift, whole, real, ends, features, background, eta, shares)
            if math.log(u) < gain:
                z[:] = proposal


@jit
def spread_mask(mask, columns, latent_mask):
    """Fill which latent columns belong to a column that is observed."""
    for c in range(columns.place.shape[0]):
        wide = columns.width[c] if columns.form[c] == LEVELS else 1
        for r in range(wide):
            latent_mask[columns.at[c] + r] = mask[columns.place[c]]
