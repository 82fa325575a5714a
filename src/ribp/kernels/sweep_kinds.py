"""Row updates with the features kept: columns of any kind, rows independent of one another.

With the terms of a row (`kind_terms`), and eta without feature i, the gain of having it is

    gain_i = sum c_l A_il - sum m_t log(1 - p_t + p_t E_il) - sum exp(eta_l) (E_il - 1)
             - sum A_il (eta_l + A_il/2),                       E = exp A,  p_t = g(eta_l - s_t),

and log sum_r p_r E_ir for unordered levels; noisy-OR columns that are 1 add log(1 + q_il/(exp eta_l
- 1)), where q = 1 - exp(-A) has the place of E. The first sum does not depend on the features of a
row.
The factors of terms with m = 1 lie between 1 and E whatever eta is: `every` of them, usually eight,
are multiplied before a logarithm is taken. Where features are so large that E has no place in a
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
LINEAR, GAINS, PRODUCT, SUM, SQUARES, SHIFTS = range(6)


class Latent(NamedTuple):
    """What latent columns have of features."""

    features: NDArray[np.float64]
    """A, (features, latent)."""
    loadings: NDArray[np.float64]
    """A', (latent, features)."""
    growth: NDArray[np.float64]
    """exp A', (latent, features); not used where `every` is zero."""
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
def take_logarithms(product, gains):
    """Take the logarithms of what was multiplied off the gains, and begin anew."""
    for j in range(gains.shape[0]):
        gains[j] -= math.log(product[j])
        product[j] = 1.0


@jit
def fill_gains(first, last, eta, terms, latent, work, shares):
    """Fill work[GAINS, first:last] over eta without those features."""
    gains = work[GAINS, first:last]
    for j in range(gains.shape[0]):
        gains[j] = work[LINEAR, first + j]
    if latent.every > 0:
        _multiply(first, last, eta, terms, latent, work, shares)
    else:
        _subtract(first, last, eta, terms, latent, work, shares)
    for t in range(terms.ends[EXPONENTIAL], terms.ends[SQUARE]):
        value, row = eta[terms.at[t]], latent.loadings[terms.at[t], first:last]
        for j in range(gains.shape[0]):
            gains[j] -= row[j] * (value + 0.5 * row[j])
    for t in range(terms.ends[SQUARE], terms.ends[HIT]):
        odds, row = 1.0 / math.expm1(eta[terms.at[t]]), latent.growth[terms.at[t], first:last]
        for j in range(gains.shape[0]):
            gains[j] += math.log1p(odds * row[j])


@jit
def _multiply(first, last, eta, terms, latent, work, shares):
    """Take what terms lose by a feature off its gain, by products of factors."""
    gains, product, sums = work[GAINS, first:last], work[PRODUCT, first:last], work[SUM, first:last]
    ends, left = terms.ends, latent.every
    for j in range(gains.shape[0]):
        product[j] = 1.0
    for t in range(ends[ORDERED]):
        p, q = share_of(eta[terms.at[t]] - terms.shift[t])
        row = latent.growth[terms.at[t], first:last]
        for j in range(gains.shape[0]):
            product[j] *= q + p * row[j]
        left -= 1
        if left == 0:
            take_logarithms(product, gains)
            left = latent.every
    for t in range(ends[ORDERED], ends[LEVELS]):
        at = terms.at[t]
        log_mean_exp(eta, at, terms.width[t], shares)
        for j in range(gains.shape[0]):
            sums[j] = 0.0
        for r in range(terms.width[t]):
            p, row = shares[r], latent.growth[at + r, first:last]
            for j in range(gains.shape[0]):
                sums[j] += p * row[j]
        for j in range(gains.shape[0]):
            product[j] *= sums[j]
        left -= 1
        if left == 0:
            take_logarithms(product, gains)
            left = latent.every
    take_logarithms(product, gains)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        p, q = share_of(eta[terms.at[t]] - terms.shift[t])
        times, row = terms.times[t], latent.growth[terms.at[t], first:last]
        for j in range(gains.shape[0]):
            gains[j] -= times * math.log(q + p * row[j])
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        rate, row = bounded_exp(eta[terms.at[t]]), latent.growth[terms.at[t], first:last]
        for j in range(gains.shape[0]):
            gains[j] -= rate * (row[j] - 1.0)


@jit
def _subtract(first, last, eta, terms, latent, work, shares):
    """Do the same by differences."""
    ends = terms.ends
    for j in range(first, last):
        a = latent.features[j]
        for t in range(ends[WEIGHTED]):
            at = terms.at[t]
            if ends[ORDERED] <= t < ends[LEVELS]:
                before = log_mean_exp(eta, at, terms.width[t], shares)
                after = log_mean_exp(eta + a, at, terms.width[t], shares)
            else:
                before = softplus(eta[at] - terms.shift[t])
                after = softplus(eta[at] + a[at] - terms.shift[t])
            work[GAINS, j] -= terms.times[t] * (after - before)
        for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
            at = terms.at[t]
            work[GAINS, j] -= bounded_exp(eta[at] + a[at]) - bounded_exp(eta[at])


@jit
def flip_each(seed, number, row, z, beta, theta, step, terms, latent, eta, trial, work, shares):
    """Flip every feature in order, gains times beta. step[k] = table[k+1] - table[k]."""
    features, ones, stale = z.shape[0], 0, True
    for i in range(features):
        ones += z[i]
    for i in range(features):
        if z[i]:
            fill_eta(z, i, latent.features, latent.background, trial)
            fill_gains(i, i + 1, trial, terms, latent, work, shares)
        elif stale:  # gains of all features to come that are off
            fill_eta(z, -1, latent.features, latent.background, eta)
            fill_gains(i, features, eta, terms, latent, work, shares)
            stale = False
        on = coin(seed, number, row, i, theta[i] + step[ones - z[i]] + beta * work[GAINS, i])
        if on != (z[i] != 0):
            ones += 1 if on else -1
            z[i] = on
            stale = True


@jit
def relocation_log_weights(i, z, beta, theta, terms, latent, eta, work, shares):
    """Fill work[GAINS] with the log-weights of the places where the one at i may go."""
    fill_eta(z, i, latent.features, latent.background, eta)
    fill_gains(0, z.shape[0], eta, terms, latent, work, shares)
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
    fill_eta(z, -1, latent.features, latent.background, eta)
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
    work, shares = np.empty((6, features)), np.empty(size)
    eta, trial, active = np.empty(size), np.empty(size), np.empty(features, np.int64)
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
                seed, number, row, z, 1.0, theta, steps[law], terms, latent, eta, trial, work,
                shares,
            )  # fmt: skip
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
