"""Values of one entry that counts: their weights, the sum of these, and draws.

An entry of value v has the prior weight a(v), and the data of its row add a parabola:

    log weight(v) = log a(v) + slope v - square v^2/2,       a(v) = rate^v prod_{u<v} (1+g u)/(1+u).

The growth g is 0 for Poisson entries, a(v) = lambda^v/v! with the rate lambda, and 1/r for negative
binomial ones, a(v) = C(v+r-1, v) pi^v with the rate r pi. One unit more multiplies the weight by

    weight(v+1)/weight(v) = exp(gain - square (v+1/2)) (1 + g v)/(1 + v),  gain = log rate + slope,

which falls in v for g <= 1 (r >= 1): weights are log-concave, and are added up from the top
outwards, with multiplications only, until what is left is below 1e-17 of the sum: O(top) nowhere.

Where an entry is not seen at all (square 0, slope 0) the sum over v > 0 is the prior's own odds
exp(hazard) - 1, with hazard = -log P(0) = lambda or -r log(1-pi), and a positive value is a sum of
n numbers with the logarithmic law, n a positive Poisson number (Poisson entries: n itself): a tail
that the data do not cut may be longer than any sum.
"""

from __future__ import annotations

import math

from ribp.kernels.jit import jit
from ribp.kernels.variates import next_pair, next_uniform

NEGLIGIBLE = 1e-17
_LOG_NEGLIGIBLE = -39.2
_NARROW = 1e-12
_SHORT = 32.0  # factors that are multiplied one by one


@jit
def log_factor(v, growth):
    """Return the log of prod_{u<v} (1+g u)/(1+u).

    ``gammaln(v + r) - gammaln(r) - gammaln(v + 1) - v * np.log(r)``
    """
    if v <= _SHORT:
        product, u = 1.0, 0.0
        while u < v:
            product *= (1.0 + growth * u) / (1.0 + u)
            u += 1.0
        return math.log(product)
    if growth == 0.0:
        return -math.lgamma(v + 1.0)
    r = 1.0 / growth
    return math.lgamma(v + r) - math.lgamma(r) - math.lgamma(v + 1.0) + v * math.log(growth)


@jit
def log_ratio(v, gain, square, growth):
    """Return log weight(v+1) - log weight(v)."""
    return gain - square * (v + 0.5) + math.log((1.0 + growth * v) / (1.0 + v))


@jit
def top_value(gain, square, growth):
    """Return the positive value of the largest weight (nearly, above 10^12): double, then halve."""
    low, high = 0.0, 1.0
    while log_ratio(high, gain, square, growth) > 0.0:
        low, high = high, 2.0 * high
    while high - low > max(1.0, _NARROW * high):
        middle = 0.5 * (low + high)
        middle -= middle % 1.0  # math.floor would make it a 64-bit integer
        if log_ratio(middle, gain, square, growth) > 0.0:
            low = middle
        else:
            high = middle
    return high


@jit
def walk(top, gain, square, growth, goal):
    """Add up weight(v)/weight(top) over v > 0, from the top outwards, until the sum passes `goal`.

    Returns the value where it did (the top if it never did) and the sum. The rest of a falling
    sequence whose ratios fall is at most its last term times ratio/(1 - ratio).
    """
    total = 1.0
    if total >= goal:
        return top, total
    shrink = math.exp(-square)
    v, term, factor = top, 1.0, math.exp(gain - square * (top + 0.5))
    ratio = 1.0
    while not term * ratio <= NEGLIGIBLE * total * (1.0 - ratio):
        ratio = factor * (1.0 + growth * v) / (1.0 + v)
        term *= ratio
        factor *= shrink
        v += 1.0
        total += term
        if total >= goal:
            return v, total
    if top == 1.0:
        return top, total
    v, term, factor = top, 1.0, math.exp(square * (top - 0.5) - gain)
    ratio = 1.0
    while v > 1.0 and not term * ratio <= NEGLIGIBLE * total * (1.0 - ratio):
        v -= 1.0
        ratio = factor * (1.0 + v) / (1.0 + growth * v)
        term *= ratio
        factor *= shrink
        total += term
        if total >= goal:
            return v, total
    return top, total


@jit
def only_one(gain, square):
    """Return whether weight(1) is all that there is; ratios fall, (1+g)/2 is at most one."""
    return gain - 1.5 * square < _LOG_NEGLIGIBLE


@jit
def log_total(gain, square, growth, unseen):
    """Return the log of the sum of weight(v) over v > 0; `unseen` is that of the prior alone."""
    if square == 0.0:
        return unseen
    if only_one(gain, square):
        return gain - 0.5 * square
    top = top_value(gain, square, growth)
    _, total = walk(top, gain, square, growth, math.inf)
    return top * (gain - 0.5 * square * top) + log_factor(top, growth) + math.log(total)


@jit
def draw_value(seed, place, gain, square, growth, log_hazard):
    """Draw a positive value with probability proportional to its weight."""
    if square == 0.0:
        return draw_unseen(seed, place, growth, log_hazard)
    if only_one(gain, square):
        return 1.0
    top = top_value(gain, square, growth)
    _, total = walk(top, gain, square, growth, math.inf)
    value, _ = walk(top, gain, square, growth, next_uniform(seed, place) * total)
    return value


@jit
def draw_unseen(seed, place, growth, log_hazard):
    """Draw a positive value of the prior: P(v) proportional to a(v)."""
    top = top_value(log_hazard, 0.0, 0.0)
    _, total = walk(top, log_hazard, 0.0, 0.0, math.inf)
    parts, _ = walk(top, log_hazard, 0.0, 0.0, next_uniform(seed, place) * total)
    if growth == 0.0:
        return parts
    value = 0.0
    for _ in range(int(parts)):
        value += logarithmic(seed, place, math.exp(log_hazard) * growth)
    return value


@jit
def logarithmic(seed, place, hazard):
    """Draw from the logarithmic law, P(v) proportional to p^v/v, where hazard = -log(1-p).

    It is geometric with the ratio q = 1 - (1-p)^U (Kemp 1981).
    """
    u, v = next_pair(seed, place)
    q = -math.expm1(-u * hazard)
    if v >= q:
        return 1.0
    log_q = math.log1p(-math.exp(-u * hazard)) if q > 0.5 else math.log(q)
    steps = math.log(v) / log_q
    return 1.0 + (steps - steps % 1.0)
