"""Features given rows, columns of any kind: sums over rows, before a step and after it.

For one feature (or the background, which all rows have) and one latent column l of every column,
over the rows that have the feature and show the column,

    G = sum l'(x; eta),      H = sum -l''(x; eta),      gain = sum l(x; eta + a) - l(x; eta),

G and H first at eta, then at eta + a with the gain: all that a Newton-Metropolis step of size a
needs. With p and q = 1 - p shares of a term before the step (`kind_terms`), f = q + p exp a, they
are p exp(a)/f and q/f after it, and the gain is c a - m log f: one exponential and one logarithm a
term. For one of several unordered levels p is its probability.

`own_log_likelihoods` does the same for what columns have of their own: at several candidates.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.kind_terms import (
    BASE,
    EXPONENTIAL,
    LEVELS,
    ORDERED,
    PER_COUNT,
    SHIFT,
    SQUARE,
    WEIGHTED,
    bounded_exp,
    fill_eta,
    fill_level_shares,
    share_of,
    softplus,
)

_MODEST, _ROWS = 20.0, 8  # eta and thresholds whose exponentials can be multiplied, rows of them
SLOPE, BENT, GAIN = range(3)
"""Places of what is added up."""


@jit
def add_logistic(value, times, p, q, step, growth, two, sums, c):
    """Add a term x eta - m sp(eta - s) to the sums of column c; `growth` is exp(step)."""
    if two:
        f = q + p * growth
        part = 1.0 / f
        after = p * growth * part
        sums[c, GAIN] += value * step - times * math.log(f)
        sums[c, SLOPE] += value - times * after
        sums[c, BENT] += times * after * q * part
    else:
        sums[c, SLOPE] += value - times * p
        sums[c, BENT] += times * p * q


@jit
def add_sums(
    which, two, data, observed, exposures, rows, columns, features, background, level, steps, sums
):
    """Add what rows with feature `which` (-1 for all rows) say of its entries.

    Parameters
    ----------
    which, two
        The feature; whether sums are wanted after the steps, or before.
    data, observed, exposures, rows
        Of a block; `observed` is empty if nothing is missing, exposures are logarithms.
    columns, features, background
        As in `sweep_kinds`; `features` is A, (features, latent).
    level
        Which level of each column with unordered levels, (columns,).
    steps
        a of each column, and exp a; (2, columns).
    sums
        What is added to, (columns, 3).
    """
    place, form, ats, width, begin, thresholds, numbers = columns
    eta, shares = np.empty(background.shape[0]), np.empty(background.shape[0])
    for n in range(rows.shape[0]):
        if which >= 0 and not rows[n, which]:
            continue
        fill_eta(rows[n], features, background, eta)
        for c in range(place.shape[0]):
            d, at = place[c], ats[c]
            if observed.shape[0] > 0 and not observed[n, d]:
                continue
            x, v, step, growth = data[n, d], eta[at], steps[0, c], steps[1, c]
            if form[c] == ORDERED:
                here = int(x)
                if here > 0:
                    p, q = share_of(v - thresholds[0, begin[c] + here - 1])
                    add_logistic(1.0, 1.0, p, q, step, growth, two, sums, c)
                if here < width[c] - 1:
                    p, q = share_of(v - thresholds[0, begin[c] + here])
                    add_logistic(0.0, 1.0, p, q, step, growth, two, sums, c)
            elif form[c] == LEVELS:
                fill_level_shares(eta, at, width[c], shares)
                rest, one = 0.0, at + level[c]
                for k in range(at, at + width[c]):
                    rest += 0.0 if k == one else shares[k]
                is_here = 1.0 if int(x) == level[c] else 0.0
                add_logistic(is_here, 1.0, shares[one], rest, step, growth, two, sums, c)
            elif form[c] == WEIGHTED:
                p, q = share_of(v - numbers[c, SHIFT] + numbers[c, PER_COUNT] * exposures[n])
                times = numbers[c, BASE] + numbers[c, PER_COUNT] * x
                add_logistic(x, times, p, q, step, growth, two, sums, c)
            elif form[c] == EXPONENTIAL:
                rate = bounded_exp(v + exposures[n])
                sums[c, GAIN] += x * step - rate * (growth - 1.0)
                sums[c, SLOPE] += x - rate * growth
                sums[c, BENT] += rate * growth
            else:
                sums[c, SLOPE] += x * numbers[c, BASE] - v
                sums[c, BENT] += 1.0


@jit
def ordered_log_likelihood(level, v, thresholds, most):
    """Return log p of a level given eta, `most` the last: see `ribp.kinds.ordinal`."""
    total = 0.0
    if level > 0:
        total -= softplus(thresholds[level - 1] - v)
    if level < most:
        total -= softplus(v - thresholds[level])
        if level > 0:
            total += math.log(-math.expm1(thresholds[level - 1] - thresholds[level]))
    return total


@jit
def multiply_ordered(level, most, w, odds, k, out):
    """Multiply out[k] by p of a level at all candidates; w = exp eta, odds[k] = exp thresholds.

    p = (1 - t/u) / ((1 + t/w) (1 + w/u)) with the odds t below the level and u above it.
    """
    for candidate in range(out.shape[1]):
        p = 1.0
        if level > 0:
            p /= 1.0 + odds[k, candidate, level - 1] / w
        if level < most:
            p /= 1.0 + w / odds[k, candidate, level]
            if level > 0:
                p *= 1.0 - odds[k, candidate, level - 1] / odds[k, candidate, level]
        out[k, candidate] *= p


@jit
def weighted_log_likelihood(x, v, numbers):
    """Return log p of a count given eta, but for log x!: see `ribp.kinds.negbin`."""
    r = numbers[BASE]
    v -= numbers[SHIFT]
    return x * v - (x + r) * softplus(v) + math.lgamma(x + r) - math.lgamma(r)


@jit
def own_log_likelihoods(
    data, observed, exposures, rows, columns, features, background, some, numbers, out
):
    """Add up log p of some columns at several candidates of what they have of their own.

    Parameters
    ----------
    data, observed, exposures, rows, columns, features, background
        As in `add_sums`.
    some
        Numbers of the columns.
    numbers
        Thresholds or numbers of each at each candidate, (some, candidates, numbers).
    out
        What is added to, (some, candidates); of a SQUARE column the sum of (x/s - eta)^2 at its
        own s and the number of entries, in the first two places.
    """
    place, form, at, width, _, _, own = columns
    eta, odds = np.empty(background.shape[0]), np.exp(np.minimum(numbers, _MODEST))
    product, modest = np.ones(out.shape), np.empty(some.shape[0], np.bool_)
    for k in range(some.shape[0]):
        modest[k] = form[some[k]] == ORDERED and numbers[k].max() < _MODEST
    for n in range(rows.shape[0]):
        fill_eta(rows[n], features, background, eta)
        for k in range(some.shape[0]):
            c = some[k]
            d, v = place[c], eta[at[c]]
            if observed.shape[0] > 0 and not observed[n, d]:
                continue
            x = data[n, d]
            if form[c] == SQUARE:
                rest = x * own[c, BASE] - v
                out[k, 0] += rest * rest
                out[k, 1] += 1.0
            elif modest[k] and abs(v) < _MODEST:
                multiply_ordered(int(x), width[c] - 1, math.exp(v), odds, k, product)
            else:
                for candidate in range(numbers.shape[1]):
                    here = numbers[k, candidate]
                    if form[c] == ORDERED:
                        out[k, candidate] += ordered_log_likelihood(int(x), v, here, width[c] - 1)
                    else:
                        out[k, candidate] += weighted_log_likelihood(x, v + exposures[n], here)
        if n % _ROWS == _ROWS - 1 or n == rows.shape[0] - 1:
            out += np.log(product)
            product[:] = 1.0
