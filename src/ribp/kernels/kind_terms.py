"""One row of a table whose columns are of different kinds: its log-likelihood as a sum of terms.

Column d has latent columns l, eta_l = b_l + sum_i z_i A_il: one, or R of them if it has unordered
levels. With sp(v) = log(1 + exp v), every kind is a sum of few functions of eta,

    log p(x | eta) = c eta - sum_t m_t sp(eta - s_t) - r exp(eta) - q eta^2/2 + h L(eta) + const,

L(eta) = log(1 - exp(-eta)), and unordered levels are eta_x - log sum_r exp eta_r. Which c, m, s, r,
q and h an entry has follows from its value and the form of its column:

- ORDERED, thresholds t_0 = 0 < t_1 < ...: level x has c = 1 unless it is the first, and a term at
  t_{x-1} and at t_x, as far as there are such, m = 1. Two levels: x eta - sp(eta);
- LEVELS: unordered;
- WEIGHTED: c = x and one term, m = base + slope x, at s;
- EXPONENTIAL: c = x, r = 1;
- SQUARE: c = x scale, q = 1;
- HIT, eta > 0 the rate of a Poisson count of which only is seen whether it is zero (noisy-OR): c =
  -1 if x = 0, h = 1 if x = 1.

`fill_terms` lists the terms of the entries that are observed; the others have none. The gain of a
step a in one eta, with p = g(eta - s), g the logistic function, needs no logarithm of its own:

    sp(eta + a - s) - sp(eta - s) = log(1 - p + p exp a),

where 1 - p + p exp a lies between 1 and exp a whatever eta is. So factors of several terms can be
multiplied before one logarithm is taken (`sweep_kinds`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.kernels.jit import jit

ORDERED, LEVELS, WEIGHTED, EXPONENTIAL, SQUARE, HIT = range(6)
"""Forms of columns; kernels want columns of equal form beside one another."""
COEFFICIENTS = 6
"""Where `Terms.ends` has the number of coefficients."""
BASE, SLOPE, SHIFT = range(3)
"""What `numbers` holds of a WEIGHTED column; of a SQUARE one BASE is its scale."""
_LARGEST = 600.0  # exponents beyond are as good as infinite


class Columns(NamedTuple):
    """The columns of a table, those of one form beside one another."""

    place: NDArray[np.int64]
    """Which column of the data each is, (dims,)."""
    form: NDArray[np.int64]
    at: NDArray[np.int64]
    """Its first latent column."""
    width: NDArray[np.int64]
    """How many levels it has, if it has levels."""
    begin: NDArray[np.int64]
    """Where its thresholds begin."""
    thresholds: NDArray[np.float64]
    numbers: NDArray[np.float64]
    """BASE, SLOPE, SHIFT; (dims, 3)."""


class Terms(NamedTuple):
    """The terms of one row, in the order of forms."""

    at: NDArray[np.int64]
    """The latent column of each; of unordered levels the first."""
    width: NDArray[np.int64]
    """The number of unordered levels."""
    shift: NDArray[np.float64]
    """s of each."""
    times: NDArray[np.float64]
    """m of each."""
    line: NDArray[np.int64]
    """Latent columns with a coefficient c."""
    coefficient: NDArray[np.float64]
    ends: NDArray[np.int64]
    """Where terms of each form end, and the number of coefficients last."""


def new_terms(dims: int) -> Terms:
    """Return room for the terms of a row."""
    whole, real = np.zeros((3, 2 * dims), np.int64), np.zeros((3, 2 * dims))
    return Terms(whole[0], whole[1], real[0], real[1], whole[2], real[2], np.zeros(7, np.int64))


@jit
def share_of(v):
    """Return g(v) and g(-v), g the logistic function, both precise."""
    e = math.exp(-abs(v))
    large, small = 1.0 / (1.0 + e), e / (1.0 + e)
    return (large, small) if v >= 0.0 else (small, large)


@jit
def softplus(v):
    """Return log(1 + exp v)."""
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


@jit
def bounded_exp(v):
    """Return exp(v), and something very large that can be multiplied where that is too large."""
    return math.exp(min(v, _LARGEST))


@jit
def log_mean_exp(eta, at, width, shares):
    """Fill shares with exp(eta_r)/sum, r over some levels; return the logarithm of the sum."""
    top = eta[at]
    for r in range(1, width):
        top = max(top, eta[at + r])
    total = 0.0
    for r in range(width):
        shares[r] = math.exp(eta[at + r] - top)
        total += shares[r]
    for r in range(width):
        shares[r] /= total
    return top + math.log(total)


@jit
def add_coefficient(terms, at, value):
    """List a coefficient, unless it is zero."""
    if value != 0.0:
        terms.line[terms.ends[COEFFICIENTS]] = at
        terms.coefficient[terms.ends[COEFFICIENTS]] = value
        terms.ends[COEFFICIENTS] += 1


@jit
def add_term(terms, number, at, width, shift, times):
    """Write a term into a place of the list; return the next place."""
    terms.at[number] = at
    terms.width[number] = width
    terms.shift[number] = shift
    terms.times[number] = times
    return number + 1


@jit
def fill_terms(x, mask, columns, terms):
    """List the terms of a row; `mask` is empty if all of it was observed."""
    number = 0
    ends = terms.ends
    for form in range(7):
        ends[form] = 0
    for c in range(columns.place.shape[0]):
        d = columns.place[c]
        if mask.shape[0] > 0 and not mask[d]:
            continue
        form, at, numbers = columns.form[c], columns.at[c], columns.numbers[c]
        if form == ORDERED:
            level, begin = int(x[d]), columns.begin[c]
            if level > 0:
                add_coefficient(terms, at, 1.0)
                number = add_term(terms, number, at, 1, columns.thresholds[begin + level - 1], 1.0)
            if level < columns.width[c] - 1:
                number = add_term(terms, number, at, 1, columns.thresholds[begin + level], 1.0)
        elif form == LEVELS:
            add_coefficient(terms, at + int(x[d]), 1.0)
            number = add_term(terms, number, at, columns.width[c], 0.0, 1.0)
        elif form == WEIGHTED:
            add_coefficient(terms, at, x[d])
            times = numbers[BASE] + numbers[SLOPE] * x[d]
            number = add_term(terms, number, at, 1, numbers[SHIFT], times)
        elif form == EXPONENTIAL:
            add_coefficient(terms, at, x[d])
            number = add_term(terms, number, at, 1, 0.0, 1.0)
        elif form == SQUARE:
            add_coefficient(terms, at, x[d] * numbers[BASE])
            number = add_term(terms, number, at, 1, 0.0, 1.0)
        elif x[d] > 0.0:
            number = add_term(terms, number, at, 1, 0.0, 1.0)
        else:
            add_coefficient(terms, at, -1.0)
        ends[form] = number
    for form in range(1, 6):
        ends[form] = max(ends[form], ends[form - 1])


@jit
def fill_eta(z, features, background, eta):
    """Fill eta = b + sum_i z_i A_i: ``background + features[z == 1].sum(axis=0)``."""
    for k in range(eta.shape[0]):
        eta[k] = background[k]
    for i in range(z.shape[0]):
        if z[i]:
            for k in range(eta.shape[0]):
                eta[k] += features[i, k]


@jit
def log_likelihood(eta, terms, shares):
    """Return the log-likelihood of a row but for what does not depend on eta."""
    ends = terms.ends
    total = 0.0
    for t in range(ends[COEFFICIENTS]):
        total += terms.coefficient[t] * eta[terms.line[t]]
    for t in range(ends[ORDERED]):
        total -= softplus(eta[terms.at[t]] - terms.shift[t])
    for t in range(ends[ORDERED], ends[LEVELS]):
        total -= log_mean_exp(eta, terms.at[t], terms.width[t], shares)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        total -= terms.times[t] * softplus(eta[terms.at[t]] - terms.shift[t])
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        total -= bounded_exp(eta[terms.at[t]])
    for t in range(ends[EXPONENTIAL], ends[SQUARE]):
        total -= 0.5 * eta[terms.at[t]] * eta[terms.at[t]]
    for t in range(ends[SQUARE], ends[HIT]):
        total += math.log(-math.expm1(-eta[terms.at[t]]))
    return total
