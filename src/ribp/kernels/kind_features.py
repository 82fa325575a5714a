"""Features given rows, columns of any kind: sums over rows at one point or two.

For one feature (or the background, which all rows have) and one latent column l of every column,
over the rows that have the feature and show the column,

    G = sum l'(x; eta),      H = sum -l''(x; eta),      gain = sum l(x; eta + a) - l(x; eta),

and G and H once more at eta + a: all that a Newton-Metropolis step of size a needs. With p and
q = 1 - p shares of a term before the step (`kind_terms`), f = q + p exp a, they are p exp(a)/f and
q/f after it, and the gain is c a - m log f: one exponential and one logarithm a term. For one of
several unordered levels p is its probability.

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
    SHIFT,
    SLOPE,
    SQUARE,
    WEIGHTED,
    bounded_exp,
    fill_eta,
    fill_level_shares,
    share_of,
    softplus,
)

SLOPE_0, BENT_0, GAIN, SLOPE_1, BENT_1 = range(5)
"""Rows of what is added up."""


@jit
def add_logistic(c, times, p, q, step, growth, two, out):
    """Add a term c eta - m sp(eta - s) to the sums of a column; `growth` is exp(step)."""
    out[SLOPE_0] += c - times * p
    out[BENT_0] += times * p * q
    if two:
        f = q + p * growth
        out[GAIN] += c * step - times * math.log(f)
        after = p * growth / f
        out[SLOPE_1] += c - times * after
        out[BENT_1] += times * after * (q / f)


@jit
def add_entry(x, c, level, columns, eta, step, growth, two, shares, out):
    """Add an entry of column number c to its sums."""
    form, at, numbers = columns.form[c], columns.at[c], columns.numbers[c]
    if form == ORDERED:
        here, begin = int(x), columns.begin[c]
        if here > 0:
            p, q = share_of(eta[at] - columns.thresholds[begin + here - 1])
            add_logistic(1.0, 1.0, p, q, step, growth, two, out)
        if here < columns.width[c] - 1:
            p, q = share_of(eta[at] - columns.thresholds[begin + here])
            add_logistic(0.0, 1.0, p, q, step, growth, two, out)
    elif form == LEVELS:
        fill_level_shares(eta, at, columns.width[c], shares)
        rest = 0.0
        for r in range(columns.width[c]):
            rest += 0.0 if r == level else shares[at + r]
        is_here = 1.0 if int(x) == level else 0.0
        add_logistic(is_here, 1.0, shares[at + level], rest, step, growth, two, out)
    elif form == WEIGHTED:
        p, q = share_of(eta[at] - numbers[SHIFT])
        times = numbers[BASE] + numbers[SLOPE] * x
        add_logistic(x, times, p, q, step, growth, two, out)
    elif form == EXPONENTIAL:
        rate = bounded_exp(eta[at])
        out[SLOPE_0] += x - rate
        out[BENT_0] += rate
        out[GAIN] += x * step - rate * (growth - 1.0)
        out[SLOPE_1] += x - rate * growth
        out[BENT_1] += rate * growth
    else:
        out[SLOPE_0] += x * numbers[BASE] - eta[at]
        out[BENT_0] += 1.0


@jit
def add_sums(which, two, data, observed, rows, columns, features, background, level, steps, sums):
    """Add what rows with feature `which` (-1 for all rows) say of its entries.

    Parameters
    ----------
    which, two
        The feature; whether sums at the second point are wanted.
    data, observed, rows
        Of a block; `observed` is empty if nothing is missing.
    columns, features, background
        As in `sweep_kinds`; `features` is A, (features, latent).
    level
        Which level of each column with unordered levels, (columns,).
    steps
        a of each column, and exp a; (2, columns).
    sums
        What is added to, (columns, 5).
    """
    eta, shares = np.empty(background.shape[0]), np.empty(background.shape[0])
    for n in range(rows.shape[0]):
        if which >= 0 and not rows[n, which]:
            continue
        fill_eta(rows[n], features, background, eta)
        for c in range(columns.place.shape[0]):
            d = columns.place[c]
            if observed.shape[0] == 0 or observed[n, d]:
                add_entry(
                    data[n, d], c, level[c], columns, eta, steps[0, c], steps[1, c], two, shares,
                    sums[c],
                )  # fmt: skip


@jit
def ordered_log_likelihood(level, v, thresholds):
    """Return log p of a level given eta: see `ribp.kinds.ordinal`."""
    total = 0.0
    if level > 0:
        total -= softplus(thresholds[level - 1] - v)
    if level < thresholds.shape[0]:
        total -= softplus(v - thresholds[level])
        if level > 0:
            total += math.log(-math.expm1(thresholds[level - 1] - thresholds[level]))
    return total


@jit
def weighted_log_likelihood(x, v, numbers):
    """Return log p of a count given eta, but for log x!: see `ribp.kinds.negbin`."""
    r = numbers[BASE]
    v -= numbers[SHIFT]
    return x * v - (x + r) * softplus(v) + math.lgamma(x + r) - math.lgamma(r)


@jit
def own_log_likelihoods(data, observed, rows, columns, features, background, some, numbers, out):
    """Add up log p of some columns at several candidates of what they have of their own.

    Parameters
    ----------
    data, observed, rows, columns, features, background
        As in `add_sums`.
    some
        Numbers of the columns.
    numbers
        Thresholds or numbers of each at each candidate, (some, candidates, numbers).
    out
        What is added to, (some, candidates); of a SQUARE column the sum of (x/s - eta)^2 at its
        own s and the number of entries, in the first two places.
    """
    eta = np.empty(background.shape[0])
    for n in range(rows.shape[0]):
        fill_eta(rows[n], features, background, eta)
        for k in range(some.shape[0]):
            c = some[k]
            d, v = columns.place[c], eta[columns.at[c]]
            if observed.shape[0] > 0 and not observed[n, d]:
                continue
            x = data[n, d]
            if columns.form[c] == SQUARE:
                rest = x * columns.numbers[c, BASE] - v
                out[k, 0] += rest * rest
                out[k, 1] += 1.0
                continue
            for candidate in range(numbers.shape[1]):
                if columns.form[c] == ORDERED:
                    own = numbers[k, candidate, : columns.width[c] - 1]
                    out[k, candidate] += ordered_log_likelihood(int(x), v, own)
                else:
                    out[k, candidate] += weighted_log_likelihood(x, v, numbers[k, candidate])
