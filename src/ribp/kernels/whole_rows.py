"""A new row at once: independence proposals from the family of the row law.

Given log-odds phi that suit the data but do not depend on the present row, propose

    q(z) = exp(phi.z + table[|z|]) / Q,      table[k] = log f(k) - log e_k(w),

the prior of the row with theta replaced by phi = theta + shift. The count is drawn first, with
P(|z| = k) proportional to exp(table[k]) e_k(exp phi), then a set of that size by walking back from
the least likely feature (see `symmetric`): O(I K). Since Q does not depend on the row, the target
over the proposal is exp(log-likelihood(z) - shift.z) up to a constant, so the proposal is accepted
with probability min(1, exp(excess(z') - excess(z))), excess(z) = log-likelihood(z) - shift.z.

With f itself as the law of the count both e_k(exp phi) would enter the ratio, and the proposed
count would know nothing of the data.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.choose import pick
from ribp.kernels.elementary_symmetric import _add_features
from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair

_CLIP = 10.0
_DAMPED = 0.3
_LEAST = 2.0**-53  # no uniform is below this


@jit
def smallest_count(table):
    """Return the smallest count that a law allows."""
    k = 0
    while table[k] == -math.inf:
        k += 1
    return k


@jit
def largest_count(table):
    """Return the largest count that a law allows."""
    top = 0
    for k in range(table.shape[0]):
        if table[k] > -math.inf:
            top = k
    return top


@jit
def fill_shift(b, squares, diagonal, guide, mean, precision, shift):
    """Fill the shift of log-odds by what linear regression makes of the data of a row.

    Let z have independent N(mean, 1/precision) entries: their posterior has covariance P =
    (G + precision)^{-1}, here `guide`, and mean m = P (b + precision mean). The likelihood of z_i,
    the others integrated out, has the precision L = 1/P_ii - precision and its peak at u with
    L u = m_i/P_ii - precision mean. The shift is L (u - 1/2), exact for a diagonal G. Where entries
    are missing, G_ii is `squares` in place of `diagonal`: b is scaled up to suit P, L down.
    """
    features = b.shape[0]
    for i in range(features):
        shift[i] = 0.0
    for j in range(features):
        target = precision * mean
        if squares[j] > 0.0:
            target += b[j] * (diagonal[j] / squares[j])
        for i in range(features):
            shift[i] += guide[j, i] * target
    for i in range(features):
        peak = (shift[i] - 0.5) / guide[i, i] - precision * (mean - 0.5)
        shift[i] = peak * (squares[i] / diagonal[i]) if squares[i] > 0.0 else 0.0


@jit
def temper(u, shift):
    """Damp the shift if u is above a half, and clip it; NaN becomes zero.

    A damped proposal strays farther from what the shift believes. Which one is used does not depend
    on the row, so each is a valid step.
    """
    factor = 1.0 if u < 0.5 else _DAMPED
    for i in range(shift.shape[0]):
        value = factor * shift[i]
        if abs(value) <= _CLIP:
            shift[i] = value
        else:
            shift[i] = math.copysign(_CLIP, value) if value == value else 0.0


@jit
def set_up(log_odds, table, log_counts, take):
    """Fill the log-probabilities of counts 0 .. K, up to a constant, and the chain of draws.

    With j ones left among the first i + 1 features in the order that is returned, the last of them
    is taken with probability take[i, j]. `take` has shape (features, K + 1).
    """
    features, top = take.shape[0], take.shape[1] - 1
    order = np.argsort(-log_odds)
    falling = log_odds[order]
    ratios = np.zeros(top + 1)
    _add_features(falling, 0, features, ratios, np.empty(top + 1), take)
    log_e = 0.0
    for k in range(top + 1):
        if k > 0:
            log_e += falling[k - 1] + math.log(ratios[k])
        log_counts[k] = table[k] + log_e
    return order


@jit
def draw(seed, sweep, row, block, log_odds, table, z):
    """Fill z by a draw from q, using blocks from `block` on."""
    features, top = z.shape[0], largest_count(table)
    log_counts, take = np.empty(top + 1), np.empty((features, top + 1))
    order = set_up(log_odds, table, log_counts, take)
    left = pick(log_counts, uniform_pair(seed, sweep, row, block)[0])
    for i in range(features):
        z[i] = 0
    for i in range(features - 1, -1, -1):
        if left > 0 and take[i, left] > _LEAST:
            u, v = uniform_pair(seed, sweep, row, block + 1 + i // 2)
            if (v if i % 2 else u) < take[i, left]:
                z[order[i]] = 1
                left -= 1


@jit
def propose(seed, sweep, row, block, theta, table, shift, z):
    """Temper the shift, fill z by a proposal, and return a uniform for its acceptance."""
    u, spare = uniform_pair(seed, sweep, row, block)
    temper(u, shift)
    draw(seed, sweep, row, block + 1, theta + shift, table, z)
    return spare
