"""One row of a table whose columns are of different kinds: its log-likelihood as a sum of terms.

Column d has latent columns l, eta_l = b_l + sum_i z_i A_il: one, or R of them if it has unordered
levels. With sp(v) = log(1 + exp v), every kind is a sum of few functions of eta,

    log p(x | eta) = c eta - sum_t m_t sp(d_t (eta - s_t)) - r exp(eta) - q eta^2/2 + h L(eta)
                     + const,

d = 1 or -1, L(eta) = log(1 - exp(-eta)), and unordered levels are eta_x - log sum_r exp eta_r.
Which c, m, d, s, r, q and h an entry has follows from its value, the form of its column and the
logarithm e of the exposure of its row:

- ORDERED, thresholds t_0 = 0 < t_1 < ...: level x has a term at t_{x-1}, d = -1, and one at t_x, d
  = 1, as far as there are such, m = 1. Two levels: -sp(eta) or -sp(-eta);
- LEVELS: unordered;
- WEIGHTED: c = x and one term, d = 1, m = base + per_count x, at s, less e if per_count is 1;
- EXPONENTIAL: c = x, r = exp(e);
- SQUARE: c = x scale, q = 1;
- HIT, eta > 0 the rate of a Poisson count of which only is seen whether it is zero (noisy-OR): c =
  -1 if x = 0, h = 1 if x = 1.

`fill_terms` lists the terms of the entries that are observed; the others have none. The gain of a
step a in one eta, with p = g(d (eta - s)), g the logistic function, needs no logarithm of its own:

    sp(d (eta + a - s)) - sp(d (eta - s)) = log(1 - p + p exp(d a)),

where 1 - p + p exp(d a) lies between 1 and exp(d a) whatever eta is. So factors of several terms
can be multiplied before one logarithm is taken (`sweep_kinds`).
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
BASE, PER_COUNT, SHIFT, FACTOR = range(4)
"""What `numbers` holds of a WEIGHTED column, FACTOR = exp -SHIFT; of a SQUARE one BASE is its
scale."""
ETA, ODDS = range(2)
"""Rows of latent numbers: eta, and exp eta."""
AT, WIDTH, LINE, SIDE = range(4)
OFFSET, SCALE, TIMES, P, Q, COEFFICIENT = range(6)
"""Rows of `Terms.whole` and of `Terms.real`."""
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
    """t, and exp -t; (2, thresholds)."""
    numbers: NDArray[np.float64]
    """BASE, PER_COUNT, SHIFT, FACTOR; (dims, 4)."""


class Terms(NamedTuple):
    """The terms of one row, in the order of forms.

    Few arrays: functions that are called for every row take each of them.
    """

    whole: NDArray[np.int64]
    """AT, the latent column of each (the first of unordered levels); WIDTH, the number of unordered
    levels; LINE, latent columns with a coefficient c; SIDE of ORDERED ones, AT, or ~AT where d is
    -1."""
    real: NDArray[np.float64]
    """OFFSET, s of each; SCALE, exp -s; TIMES, m of those that are WEIGHTED; P and Q, see
    `fill_shares`; COEFFICIENT, c of each LINE."""
    ends: NDArray[np.int64]
    """Where terms of each form end, and the number of coefficients last."""


def new_terms(dims: int) -> Terms:
    """Return room for the terms of a row."""
    return Terms(np.zeros((4, 2 * dims), np.int64), np.zeros((6, 2 * dims)), np.zeros(7, np.int64))


@jit
def share_of(v):
    """Return g(v) and g(-v), g the logistic function, both precise."""
    e = math.exp(-abs(v))
    large = 1.0 / (1.0 + e)
    small = e * large
    return large if v >= 0.0 else small, small if v >= 0.0 else large


@jit
def softplus(v):
    """Return log(1 + exp v)."""
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


@jit
def toward(v, down):
    """Return d v: v, or -v if `down`."""
    return -v if down else v


@jit
def bounded_exp(v):
    """Return exp(v), and something very large that can be multiplied where that is too large."""
    return math.exp(min(v, _LARGEST))


@jit
def fill_level_shares(eta, at, width, shares):
    """Fill shares with exp(eta_k)/sum, k from `at` on; return the largest eta_k, sum/exp of it."""
    top = eta[at]
    for k in range(at + 1, at + width):
        top = max(top, eta[k])
    total = 0.0
    for k in range(at, at + width):
        shares[k] = math.exp(eta[k] - top)
        total += shares[k]
    part = 1.0 / total
    for k in range(at, at + width):
        shares[k] *= part
    return top, total


@jit
def log_sum_exp(eta, at, width, shares):
    """Return the logarithm of the sum of exp(eta_k), and fill shares."""
    top, total = fill_level_shares(eta, at, width, shares)
    return top + math.log(total)


@jit
def fill_terms(
    x, mask, exposure, place, forms, ats, widths, begins, thresholds, numbers, whole, real, ends
):
    """List the terms of a row of columns, as in `Columns`; `mask` is empty if all was observed.

    `exposure` is e, the logarithm of what rates of counts are multiplied by.

    What may be no term is written all the same, and written over by the next: values of entries
    are random, so that a branch for each of them would be foreseen wrongly half of the time.
    """
    number, lines, ends[:] = 0, 0, 0
    growth = 1.0 if exposure == 0.0 else math.exp(exposure)
    for c in range(place.shape[0]):
        d = place[c]
        if mask.shape[0] > 0 and not mask[d]:
            continue
        form, at, value = forms[c], ats[c], x[d]
        if form == ORDERED:
            level, begin, top = int(value), begins[c], widths[c] - 1
            if top == 1:
                whole[AT, number], whole[SIDE, number] = at, ~at if level else at
                real[OFFSET, number], real[SCALE, number] = 0.0, 1.0
                number += 1
                ends[ORDERED] = number
                continue
            below, above = begin + max(level - 1, 0), begin + min(level, top - 1)
            whole[AT, number], whole[SIDE, number] = at, ~at
            real[OFFSET, number], real[SCALE, number] = thresholds[0, below], thresholds[1, below]
            number += level > 0
            whole[AT, number], whole[SIDE, number] = at, at
            real[OFFSET, number], real[SCALE, number] = thresholds[0, above], thresholds[1, above]
            number += level < top
            ends[ORDERED] = number
            continue
        wide, s, scale, m, is_term, line = 1, 0.0, 1.0, 1.0, True, at
        if form == LEVELS:
            value, wide, line = 1.0, widths[c], at + int(value)
        elif form == WEIGHTED:
            m = numbers[c, BASE] + numbers[c, PER_COUNT] * value
            s = numbers[c, SHIFT] - numbers[c, PER_COUNT] * exposure
            scale = numbers[c, FACTOR] * (growth if numbers[c, PER_COUNT] > 0.0 else 1.0)
        elif form == EXPONENTIAL:
            s, scale = -exposure, growth
        elif form == SQUARE:
            value *= numbers[c, BASE]
        else:
            is_term = value > 0.0
            value = 0.0 if is_term else -1.0
        whole[LINE, lines], real[COEFFICIENT, lines] = line, value
        lines += value != 0.0
        whole[AT, number], whole[WIDTH, number] = at, wide
        real[OFFSET, number], real[SCALE, number], real[TIMES, number] = s, scale, m
        number += is_term
        ends[form] = number
    for form in range(1, 6):
        ends[form] = max(ends[form], ends[form - 1])
    ends[COEFFICIENTS] = lines


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
def fill_latent(z, features, background, latent):
    """Fill eta and exp eta, of A and exp A, b and exp b: no exponential is taken."""
    for k in range(latent.shape[1]):
        latent[ETA, k], latent[ODDS, k] = background[ETA, k], background[ODDS, k]
    for i in range(z.shape[0]):
        if z[i]:
            for k in range(latent.shape[1]):
                latent[ETA, k] += features[ETA, i, k]
                latent[ODDS, k] *= features[ODDS, i, k]


@jit
def fill_shares(latent, whole, real, ends):
    """Fill P = g(d (eta - s)) and Q = 1 - P of terms, or P = exp(eta - s).

    Of unordered levels P is 1 over the sum of exp eta.

    They are no numbers where exp eta has no place in a double.
    """
    for t in range(ends[ORDERED]):
        odds, down = latent[ODDS, whole[AT, t]] * real[SCALE, t], whole[SIDE, t] < 0
        small = 1.0 / (1.0 + odds)
        large = odds * small
        real[P, t], real[Q, t] = small if down else large, large if down else small
    for t in range(ends[ORDERED], ends[LEVELS]):
        total = 0.0
        for k in range(whole[AT, t], whole[AT, t] + whole[WIDTH, t]):
            total += latent[ODDS, k]
        real[P, t] = 1.0 / total
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        odds = latent[ODDS, whole[AT, t]] * real[SCALE, t]
        real[Q, t] = 1.0 / (1.0 + odds)
        real[P, t] = odds * real[Q, t]
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        real[P, t] = latent[ODDS, whole[AT, t]] * real[SCALE, t]


@jit
def log_likelihood(eta, whole, real, ends, shares):
    """Return the log-likelihood of a row but for what does not depend on eta."""
    total = 0.0
    for t in range(ends[COEFFICIENTS]):
        total += real[COEFFICIENT, t] * eta[whole[LINE, t]]
    for t in range(ends[ORDERED]):
        total -= softplus(toward(eta[whole[AT, t]] - real[OFFSET, t], whole[SIDE, t] < 0))
    for t in range(ends[ORDERED], ends[LEVELS]):
        total -= log_sum_exp(eta, whole[AT, t], whole[WIDTH, t], shares)
    for t in range(ends[LEVELS], ends[WEIGHTED]):
        total -= real[TIMES, t] * softplus(eta[whole[AT, t]] - real[OFFSET, t])
    for t in range(ends[WEIGHTED], ends[EXPONENTIAL]):
        total -= bounded_exp(eta[whole[AT, t]] - real[OFFSET, t])
    for t in range(ends[EXPONENTIAL], ends[SQUARE]):
        total -= 0.5 * eta[whole[AT, t]] * eta[whole[AT, t]]
    for t in range(ends[SQUARE], ends[HIT]):
        total += math.log(-math.expm1(-eta[whole[AT, t]]))
    return total
