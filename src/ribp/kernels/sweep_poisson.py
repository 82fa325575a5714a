"""Row updates with the features kept: Poisson data, rows independent of one another.

With rates r_d = offset_d + sum_i z_i A_id, and sums over the columns d in which a row is observed,

    log-likelihood(z) = sum_d x_d log r_d - r_d = sum_{x_d > 0} x_d log r_d - sum_i z_i a_i + const,

a_i = sum_d A_id; it is -inf where a rate is zero and a count is not. With r the rates without
feature i, the gain of having it is

    gain_i = sum_t x_t log(1 + A_it / r_t) - a_i,           over the columns t with x_t > 0 only.

- a flip of i has log-odds theta_i + table[k+1] - table[k] + gain_i, with k ones elsewhere;
- moving the one at i to place j has log-weight theta_j + gain_j over the rates without i;
- a whole row is proposed and accepted by its `excess` (see `whole_rows`).

Rates are sums of positive terms, made anew after each change, so that nothing cancels. Logarithms
are most of the work: `log1p` here is written so that the loop over features compiles to vector
instructions. The loadings are A', shape (dims, features). Random numbers of a row are used as in
`sweep_gaussian`, and those for splits from block 3 I + 8 on.

Splits: given rows, a count x_d is the sum of independent Poisson counts of the features that are on
and of the offset, and given x_d these are multinomial with probabilities z_i A_id/r_d (rows may
hold strengths in place of ones). Their sums over rows are all that features need to know.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels import whole_rows
from ribp.kernels.choose import binomial, coin, pick
from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones, take_out_one
from ribp.kernels.random import uniform_pair
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE, own_squares

_TINY = 1e-200  # rates below this are no denominators
_ONE_BY_ONE = 4.0  # counts up to this are split one by one
_EXPONENT = np.int64(52)  # where a double has it
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # sqrt(1/2), bit by bit
_LOG_2 = math.log(2.0)
# Rows of the work array, each over features.
TOTALS, GAINS, SQUARES, SHIFT = range(4)


class PositiveCounts(NamedTuple):
    """What a row's likelihood needs."""

    at: NDArray[np.int64]
    """The observed columns t with positive counts."""
    x: NDArray[np.float64]
    """The counts there."""
    offset: NDArray[np.float64]
    """Rates that every row has, (dims,)."""
    loadings: NDArray[np.float64]
    """A', (dims, features)."""
    totals: NDArray[np.float64]
    """a_i, the sum of A_i over observed columns, (features,)."""


@jit
def list_counts(x, mask, at, counts):
    """List the observed columns with positive counts; return their number.

    `mask` is empty if nothing is missing. Equals ``at = np.flatnonzero(mask & (x > 0))``.
    """
    number = 0
    for d in range(x.shape[0]):
        if x[d] > 0.0 and (mask.shape[0] == 0 or mask[d]):
            at[number] = d
            counts[number] = x[d]
            number += 1
    return number


@jit
def fill_totals(mask, loadings, totals):
    """Fill a_i = sum_d A_id over the observed columns: ``totals[:] = mask @ loadings``."""
    for i in range(totals.shape[0]):
        totals[i] = 0.0
    for d in range(loadings.shape[0]):
        if mask[d]:
            for i in range(totals.shape[0]):
                totals[i] += loadings[d, i]


@jit
def fill_rates(z, skipped, data, rates):
    """Fill the rates where counts are positive, without the feature `skipped` (-1 for none)."""
    at = data.at
    for t in range(at.shape[0]):
        rates[t] = data.offset[at[t]]
    for i in range(z.shape[0]):
        if z[i] and i != skipped:
            for t in range(at.shape[0]):
                rates[t] += data.loadings[at[t], i]


@jit
def log1p(q):
    """Return log(1 + q), q >= 0, within 2 eps: e log 2 + 2 atanh(s), s = (m-1)/(m+1).

    1 + q = 2^e m with m in [sqrt(1/2), sqrt(2)); |s| < 0.172, so ten terms of atanh are enough.
    """
    bits = np.float64(1.0 + q).view(np.int64)
    e = (bits - _ROOT_HALF) >> _EXPONENT
    part = q if e == 0 else np.int64(bits - (e << _EXPONENT)).view(np.float64) - 1.0
    s = part / (part + 2.0)
    v = s * s
    tail = 1 / 11 + v * (1 / 13 + v * (1 / 15 + v * (1 / 17 + v * (1 / 19 + v / 21))))
    return e * _LOG_2 + 2.0 * (
        s + s * v * (1 / 3 + v * (1 / 5 + v * (1 / 7 + v * (1 / 9 + v * tail))))
    )


@jit
def fill_gains(first, last, rates, data, gains):
    """Fill gains[first:last] over the rates without those features; return if a rate is zero.

    Zero rates count as x log A, not as infinite: right for comparing features.
    """
    out = gains[first:last]
    zero = False
    for j in range(out.shape[0]):
        out[j] = -data.totals[first + j]
    for t in range(data.at.shape[0]):
        x, rate, row = data.x[t], rates[t], data.loadings[data.at[t], first:last]
        if rate > _TINY:
            inverse = 1.0 / rate
            for j in range(out.shape[0]):
                out[j] += x * log1p(row[j] * inverse)
        else:
            zero = zero or rate == 0.0
            before = math.log(rate) if rate > 0.0 else 0.0
            for j in range(out.shape[0]):
                after = rate + row[j]
                out[j] += x * (math.log(after) - before) if after > 0.0 else -math.inf
    return zero


@jit
def flip_log_odds(i, prior, zero, gains):
    """Return the log-odds of feature i given those before data; `zero` is that of `fill_gains`."""
    if math.isinf(prior):
        return prior
    return math.inf if zero and gains[i] > -math.inf else prior + gains[i]


@jit
def _flip_each(seed, number, row, z, theta, step, data, rates, trial, gains):
    """Flip every feature in order. step[k] = table[k+1] - table[k]."""
    features = z.shape[0]
    ones = 0
    for i in range(features):
        ones += z[i]
    stale = True
    zero = False
    for i in range(features):
        if z[i]:
            fill_rates(z, i, data, trial)
            of_i = fill_gains(i, i + 1, trial, data, gains)
        else:
            if stale:  # gains of all features to come that are off
                fill_rates(z, -1, data, rates)
                zero = fill_gains(i, features, rates, data, gains)
                stale = False
            of_i = zero
        prior = theta[i] + step[ones - z[i]]
        on = coin(seed, number, row, i, flip_log_odds(i, prior, of_i, gains))
        if on != (z[i] != 0):
            ones += 1 if on else -1
            z[i] = on
            stale = True


@jit
def _relocate_each(seed, number, row, z, theta, data, rates, weights, active):
    """Move every one once, in random order."""
    features = z.shape[0]
    for last in range(list_ones(z, active) - 1, -1, -1):
        u, v = uniform_pair(seed, number, row, features // 2 + 1 + last)
        i = take_out_one(u, active, last)
        relocation_log_weights(i, z, theta, data, rates, weights)
        place = pick(weights, v)
        if place >= 0:
            z[i] = 0
            z[place] = 1


@jit
def relocation_log_weights(i, z, theta, data, rates, out):
    """Fill `out` with the log-weights of the places where the one at i may go."""
    fill_rates(z, i, data, rates)
    fill_gains(0, z.shape[0], rates, data, out)
    for j in range(z.shape[0]):
        out[j] = -math.inf if z[j] and j != i else out[j] + theta[j]


@jit
def excess(z, shift, data, rates):
    """Return log-likelihood(z) - shift.z up to a constant; fills the rates of z."""
    fill_rates(z, -1, data, rates)
    total = 0.0
    for i in range(z.shape[0]):
        if z[i]:
            total -= data.totals[i] + shift[i]
    for t in range(data.at.shape[0]):
        total += data.x[t] * (math.log(rates[t]) if rates[t] > 0.0 else -math.inf)
    return total


@jit
def _replace(
    seed, number, row, z, b, data, theta, table, squares, diagonal, guide, mean, precision,
    rates, shift, proposal,
):  # fmt: skip
    """Propose a whole row, and accept or reject it."""
    block = z.shape[0] // 2 + 1 + z.shape[0]
    whole_rows.fill_shift(b, squares, diagonal, guide, mean, precision, shift)
    u = whole_rows.propose(seed, number, row, block, theta, table, shift, proposal)
    after = excess(proposal, shift, data, rates)
    if after > -math.inf and math.log(u) < after - excess(z, shift, data, rates):
        z[:] = proposal


@jit
def sweep(
    seed, number, first, products, data, observed, rows, loadings, totals, offset, exposures,
    theta, tables, steps, law_of_row, moves, scaled, diagonal, guide, mean, precision,
):  # fmt: skip
    """Update rows number first, first + 1, ... in place: flips, relocations, then whole rows.

    Laws and `observed` as in `sweep_gaussian.sweep`. Row n has its rates times exposures[n], which
    multiplies a_i and changes no gain otherwise; `exposures` is empty if all are one. For whole
    rows, `products`, `scaled` (A'/s), `diagonal` and `guide` belong to Gaussian data of about the
    same moments.
    """
    features, dims = rows.shape[1], data.shape[1]
    incomplete = observed.shape[0] > 0
    work = np.empty((4, features))
    squares = work[SQUARES]
    rates, trial, counts = np.empty(dims), np.empty(dims), np.empty(dims)
    at, active = np.empty(dims, np.int64), np.empty(features, np.int64)
    proposal = np.empty(features, np.int8)
    mask = np.empty(observed.shape[1], np.bool_)
    work[TOTALS] = totals
    squares[:] = diagonal
    for n in range(rows.shape[0]):
        row, law, z = first + n, law_of_row[n], rows[n]
        if incomplete:
            mask[:] = observed[n]
            fill_totals(mask, loadings, work[TOTALS])
        if exposures.shape[0] > 0:
            for i in range(features):
                work[TOTALS, i] = exposures[n] * (work[TOTALS, i] if incomplete else totals[i])
        m = list_counts(data[n], mask, at, counts)
        own = PositiveCounts(at[:m], counts[:m], offset, loadings, work[TOTALS])
        if moves[law, FLIPS]:
            _flip_each(seed, number, row, z, theta, steps[law], own, rates, trial, work[GAINS])
        if moves[law, RELOCATIONS]:
            _relocate_each(seed, number, row, z, theta, own, rates, work[GAINS], active)
        if moves[law, WHOLE]:
            if incomplete:
                own_squares(mask, scaled, diagonal, squares)
            _replace(
                seed, number, row, z, products[n], own, theta, tables[law],
                squares, diagonal, guide, mean, precision, trial, work[SHIFT], proposal,
            )  # fmt: skip


@jit
def split_count(seed, number, row, block, x, weights, left, parts):
    """Fill `parts` with a multinomial split of x; return the first block that was not used.

    Small counts are split one by one; of others, part a is binomial given the parts before it.
    `left` is work space: left[a] = the sum of weights[a:].
    """
    last = weights.shape[0] - 1
    left[last] = weights[last]
    for a in range(last - 1, -1, -1):
        left[a] = left[a + 1] + weights[a]
    parts[:] = 0.0
    if x <= _ONE_BY_ONE:
        for _unit in range(int(x)):
            u, _ = uniform_pair(seed, number, row, block)
            block += 1
            a = 0
            while a < last and u * left[0] < left[a + 1]:
                a += 1
            parts[a] += 1.0
        return block
    for a in range(last):
        if x > 0.0 and weights[a] > 0.0:
            parts[a], block = binomial(seed, number, row, block, x, weights[a] / left[a])
            x -= parts[a]
    parts[last] = x
    return block


@jit
def split(
    seed, number, first, data, observed, rows, loadings, offset, exposures, splits, rest, exposure
):
    """Split the counts of rows number first, first + 1, ... and add them up.

    The shares of features are added to `splits` (features, dims), those of the offset to `rest`
    (dims,); `exposure` (features, dims) grows by what rows that are observed in the column have of
    the feature: one each, or a strength, times the exposure of the row (`exposures` is empty if all
    are one).
    """
    features, dims = exposure.shape
    work = np.empty((3, features + 1))
    active = np.empty(features, np.int64)
    complete = observed.shape[0] == 0
    for n in range(rows.shape[0]):
        ones = list_ones(rows[n], active)
        weights, left, parts = work[0, : ones + 1], work[1, : ones + 1], work[2, : ones + 1]
        block = 3 * features + 8
        own = exposures[n] if exposures.shape[0] > 0 else 1.0
        for d in range(dims):
            if not (complete or observed[n, d]):
                continue
            for a in range(ones):
                has = float(rows[n, active[a]])
                exposure[active[a], d] += has * own
                weights[a] = has * loadings[d, active[a]]
            if data[n, d] > 0.0:
                weights[ones] = offset[d]
                block = split_count(
                    seed, number, first + n, block, data[n, d], weights, left, parts
                )
                for a in range(ones):
                    splits[active[a], d] += parts[a]
                rest[d] += parts[ones]
