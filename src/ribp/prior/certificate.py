"""How far rows drawn from finitely many weights are from rows of the whole measure.

Keep a head of atoms, drop a tail with total odds T. Let R_J = e_{J-1}/e_J of the head (for sums:
the ratio of coefficients of the product of generating polynomials). These sequences are
log-concave, so e_{J-k}/e_J <= R_J^k, and given the measure and J a row is within

    ones or non-zeros                1 - exp(-R_J T)
    sum, Poisson entries             1 - (1 + T/Lambda)^{-J},          Lambda: rate of the head
    sum, negative binomial, r >= 1   1 - exp(-r R_J T / (1 - t R_J)),  t: smallest atom kept

of its law under the whole measure, in total variation. Each bound grows with T and with J.

T itself is not known, but its law given the head is: for Dirichlet and Pitman-Yor weights it is the
stick that is left, and for completely random measures it is bounded except with probability 1e-9
(`ribp.measures.levy`). The bounds hold for the measure that was drawn. (Each is concave in T, so
with E in place of T it holds on average over the tails: a weaker promise for a few atoms less.)

For the mixture J ~ f does not depend on the measure. The tilted law (binary rows) with f on 0..K
has the bound for J = K; if f goes further, P(count > K) <= P_f(count > K) / P(a row is kept) is
added, and K is where that is 1e-20.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw
from ribp.measures import SizeOrdered
from ribp.prior.request import Request
from ribp.restricted_bernoulli import RestrictedBernoulli
from ribp.symmetric import coefficient_ratios, log_esp

_LEFT_OUT = 1e-20


def effective_largest(law: CountLaw) -> int:
    """Return the largest count of a law, or the one beyond which 1e-30 of its mass is left."""
    return law.largest if law.largest is not None else _first_below(law, math.log(1e-30))


def level_bounds(
    request: Request, atoms: FloatArray, log_tail: float, levels: IntArray
) -> FloatArray:
    """Return the bound for each J in `levels`, given the head and the log of T."""
    if request.restrict == "sum":
        return request.entries.sum_bounds(atoms, log_tail, levels)
    return ones_bounds(request.entries.log_odds(request.restrict, atoms), log_tail, levels)


def ones_bounds(log_odds: FloatArray, log_tail: float, levels: IntArray) -> FloatArray:
    """Return 1 - exp(-R_J T) for each J in `levels`, from the odds of the head and the log of T."""
    log_e = log_esp(log_odds, min(int(levels.max(initial=0)), log_odds.size))
    exponent = coefficient_ratios(log_e, levels) + log_tail
    return np.asarray(-np.expm1(-np.exp(np.minimum(exponent, 700.0))))


def _tilted_levels(
    request: Request, atoms: FloatArray, log_tail: float
) -> tuple[IntArray, FloatArray]:
    """Return for each law the count K up to which it is followed, and a bound on what is beyond."""
    levels, lost = [], []
    cut = isinstance(request.truncation, SizeOrdered)
    for law in request.counts.laws:
        head = RestrictedBernoulli(atoms, law, kind="tilted")
        log_kept = float(head.log_normaliser()) - math.exp(min(log_tail, 6.0))
        level = _first_below(law, log_kept + math.log(_LEFT_OUT))
        level = min(level, atoms.size) if cut else level
        levels.append(level)
        lost.append(math.exp(min(law.log_tail(level) - log_kept, 0.0)))
    return np.array(levels, np.int64), np.array(lost)


def _first_below(law: CountLaw, goal: float) -> int:
    """Return the least k with log P(count > k) <= goal."""
    high = 1 if law.largest is None else law.largest
    while law.log_tail(high) > goal:
        high *= 2
    low = law.smallest
    while low < high:
        middle = (low + high) // 2
        if law.log_tail(middle) > goal:
            low = middle + 1
        else:
            high = middle
    return low


def tv_bounds(
    request: Request, atoms: FloatArray, log_tail: float, totals: IntArray | None
) -> tuple[float, float]:
    """Return the bounds for the worst row and for all rows; `totals` are the J_n of a mixture."""
    laws, index = request.counts.laws, request.counts.law_of_row
    if totals is None:
        levels, lost = _tilted_levels(request, atoms, log_tail)
        rows = level_bounds(request, atoms, log_tail, levels) + lost
        times = np.bincount(index, minlength=len(laws))
    else:
        levels, times = np.unique(totals, return_counts=True)
        rows = level_bounds(request, atoms, log_tail, levels)
    worst, total = float(rows.max(initial=0.0)), float(rows @ times)
    cut = isinstance(request.truncation, SizeOrdered) and request.restrict != "sum"
    if totals is not None and cut:  # f itself was cut at the number of features
        lost_by_law = np.array([law.tail(atoms.size) for law in laws])
        worst += float(lost_by_law.max(initial=0.0))
        total += float(lost_by_law @ np.bincount(index, minlength=len(laws)))
    return min(1.0, worst), min(1.0, total)
