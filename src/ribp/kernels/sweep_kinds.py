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
The factors of terms with m = 1 lie between 1 and e whatever eta is: `every` of them, usually eight,
are multiplied before a logarithm is taken. Where features are so large that e has no place in a
double, `every` is zero and differences of logarithms are taken one by one.

- a flip of i has log-odds theta_i + table[k+1] - table[k] + gain_i, with k ones elsewhere;
- moving the one at i to place j has log-weight theta_j + gain_j over eta without i;
- a whole row is proposed and accepted by its `excess` (see `whole_rows`).

eta is made anew after each change, so that nothing cancels. Random numbers of a row are used as in
`sweep_gaussian`.
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
    COEFFICIENTS,
    EXPONENTIAL,
    HIT,
    LEVELS,
    ORDERED,
    SQUARE,
    WEIGHTED,
    bounded_exp,
    fill_eta,
    fill_terms,
    log_likelihood,
    log_mean_exp,
    share_of,
    softplus,
)
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, own_squares

# Rows of the work array, each over features.
LINEAR, GAINS, LOSS, PRODUCT, SUM, SQUARES, SHIFTS = range(7)
WORK = 7


class Latent(NamedTuple):
    """What latent columns have of features."""

    features: NDArray[np.float64]
    """A, (features, latent)."""
    loadings: NDArray[np.float64]
    """A', (latent, features)."""
    growth: NDArray[np.float64]
    """exp A', (latent, features); not used where `every` is zero. q' if columns are noisy-OR."""
    shrinkage: NDArray[np.float64]
    """exp -A', likewise."""
    background: NDArray[np.float64]
    every: int
    """Factors that are multiplied before a logarithm is taken; 0 to take differences."""


@jit
def fill_linear(terms, loadings, linear):
    """Fill sum_l c_l A_il: ``coefficients @ loadings``."""
    for i in range(linear.shape[0]):
        linear[i] = 0.0
    for t in range(terms.ends[COEFFICIENTS]):
        value, row = terms.coefficient[t], loadings[terms.line[t]]
        for i in range(linear.shape[0]):
            linear[i] += value * row[i]


@jit
def take_logarithms(product, loss):
    """Add the logarithms of what was multiplied to the losses, and begin anew."""
    for j in range(loss.shape[0]):
        loss[j] += math.log(product[j])
        product[j] = 1.0


@jit
def fill_gains(first, z, eta, terms, latent, work, shares):
    """Fill work[GAINS, first:] with the gains of having features; eta is that of z."""
    loss, gains = work[LOSS], work[GAINS]
    for j in range(first, z.shape[0]):
        loss[j] = 0.0
    if latent.every > 0:
        _multiply(first, z, eta, terms, latent, work, shares)
    else:
        _subtract(first, z, eta, terms, latent, work, shares)
    for t in range(terms.ends[EXPONENTIAL], terms.ends[SQUARE]):
        value, row = eta[terms.at[t]], latent.loadings[terms.at[t]]
        for j in range(first, z.shape[0]):
            a = -row[j] if z[j] else row[j]
            loss[j] += a * (value + 0.5 * a)
    for j in range(first, z.shape[0]):
        gains[j] = work[LINEAR, j] + (loss[j] if z[j] else -loss[j])
    for t in range(terms.ends[SQUARE], terms.ends[HIT]):
        at = terms.at[t]
        odds, growth = 1.0 / math.expm1(eta[at]), latent.growth[at]
        for j in range(first, z.shape[0]):
            if z[j]:
                rest = _rate_without(j, z, latent.loadings[at], latent.background[at])
                gains[j] += math.log1p(growth[j] / math.expm1(rest))
            else:
                gains[j] += math.log1p(odds * growth[j])


@jit
def _rate_without(j, z, loadings, rate):
    """Add what features other than j have of one column to a rate."""
    for i in range(z.shape[0]):
        if z[i] and i != j:
            rate += loadings[i]
    return rate


@jit
def _multiply(first, z, eta, terms, latent, work, shares):
    """Add what terms lose by flips, by products of factors."""
    loss, product, sums = work[LOSS, first:], work[PRODUCT, first:], work[SUM, first:]
    on, growth, shrinkage = z[first:], latent.growth[:, first:], latent.shrinkage[:, first:]
    ends, left, size = terms.ends, latent.every, z.shape[0] - first
    for j in range(size):
        product[j] = 1.0
    for t in range(ends[LEVELS]):
        at = terms.at[t]
        if t < ends[ORDERED]:
            p, q = share_of(eta[at] - terms.shift[t])
            up, down = growth[at], shrinkage[at]
            for j in range(size):
                product[j] *= q + p * (down[j] if on[j] else up[j])
        else:
            log_mean_exp(eta, at, terms.width[t], shares)
            for j in range(size):
                sums[j] = 0.0
            for r in range(terms.width[t]):
                p, up, down = shares[r], growth[at + r], shrinkage[at + r]
                for j in range(size):
                    sums[j] += p * (down[j] if on[j] else up[j])
            for j in range(size):
                product[j] *= sums[j]
        left -= 1
        if left == 0:
            take_logarithms(product, loss)
            left = latent.every
    take_logarithms(product, loss)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        p, q = share_of(eta[terms.at[t]] - terms.shift[t])
        up, down = growth[terms.at[t]], shrinkage[terms.at[t]]
        for j in range(size):
            loss[j] += terms.times[t] * math.log(q + p * (down[j] if on[j] else up[j]))
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        rate = bounded_exp(eta[terms.at[t]])
        up, down = growth[terms.at[t]], shrinkage[terms.at[t]]
        for j in range(size):
            loss[j] += rate * ((down[j] if on[j] else up[j]) - 1.0)


@jit
def _subtract(first, z, eta, terms, latent, work, shares):
    """Do the same by differences."""
    ends = terms.ends
    for j in range(first, z.shape[0]):
        a = -latent.features[j] if z[j] else latent.features[j]
        for t in range(ends[WEIGHTED]):
            at = terms.at[t]
            if ends[ORDERED] <= t < ends[LEVELS]:
                before = log_mean_exp(eta, at, terms.width[t], shares)
                after = log_mean_exp(eta + a, at, terms.width[t], shares)
            else:
                before = softplus(eta[at] - terms.shift[t])
                after = softplus(eta[at] + a[at] - terms.shift[t])
            work[LOSS, j] += terms.times[t] * (after - before)
        for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
            at = terms.at[t]
            work[LOSS, j] += bounded_exp(eta[at] + a[at]) - bounded_exp(eta[at])


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
