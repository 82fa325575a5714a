"""Rejection samplers: propose rows until one is accepted, and remember what proposals revealed.

All three loops share one rule of acceptance. Row n is of kind ``kind_of_row[n]``, and a proposal
with k ones is accepted with probability ``accept[kind, k]`` (zero beyond the table): for the
mixture law a kind is a count J with accept = 1 at J only, for the tilted law it is a count law,
f(k)/max f. Members of accepted rows are laid end to end in `members`; `counts[n]` is -1 for rows
that were not reached within `limit` proposals.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.random import uniform_pair


@jit
def _with_room(array, needed):
    """Return `array`, or a copy of twice the size if it holds fewer than `needed` entries."""
    if array.shape[0] >= needed:
        return array
    larger = np.empty(max(needed, 2 * array.shape[0]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@jit
def _is_accepted(accept, kind, ones, u):
    return ones < accept.shape[1] and u < accept[kind, ones]


@jit
def coin_rows(seed, kind_of_row, probs, accept, limit):
    """Throw the coins ``probs[kind]`` (or ``probs[0]``, if that is all) for each row.

    Returns (members, counts, proposals). A proposal ends early when it has more ones than any
    accepted one may have. Equals, a row at a time,
    ``while not accepted: z = uniforms < probs[kind]; accepted = uniform < accept[kind, z.sum()]``.
    """
    features = probs.shape[1]
    most = np.zeros(accept.shape[0], np.int64)
    for kind in range(accept.shape[0]):
        for k in range(accept.shape[1]):
            if accept[kind, k] > 0.0:
                most[kind] = k
    counts = np.full(kind_of_row.shape[0], -1)
    members = np.empty(8 * kind_of_row.shape[0] + 8, np.int32)
    size = proposals = 0
    for n in range(kind_of_row.shape[0]):
        kind = kind_of_row[n]
        chance = probs[min(kind, probs.shape[0] - 1)]
        members = _with_room(members, size + features)
        block = 0
        while counts[n] < 0:
            if proposals == limit:
                return members[:size], counts, proposals
            proposals += 1
            ones = 0
            for i in range(0, features, 2):
                u, v = uniform_pair(seed, 0, n, block)
                block += 1
                if u < chance[i]:
                    members[size + ones] = i
                    ones += 1
                if i + 1 < features and v < chance[i + 1]:
                    members[size + ones] = i + 1
                    ones += 1
                if ones > most[kind]:
                    break
            u, v = uniform_pair(seed, 1, n, proposals)
            if _is_accepted(accept, kind, ones, u):
                counts[n] = ones
                size += ones
    return members[:size], counts, proposals


@jit
def buffet_rows(seed, kind_of_row, accept, mass, concentration, discount, limit):
    """Run the Indian buffet, keep the accepted customers' rows, let ALL customers' choices count.

    Customer n takes dish i with probability (m_i - s)/(c + n - 1) and
    Poisson(alpha Gamma(1+c) Gamma(n+c+s-1) / (Gamma(n+c) Gamma(c+s))) new dishes; that rate starts
    at alpha and is multiplied by (n+c+s-1)/(n+c). Returns (members, counts, customers, dishes).
    """
    counts = np.full(kind_of_row.shape[0], -1)
    members = np.empty(8 * kind_of_row.shape[0] + 8, np.int32)
    taken = np.zeros(64)  # m_i
    chosen = np.empty(64, np.int32)
    size = dishes = customers = 0
    rate = mass
    for n in range(kind_of_row.shape[0]):
        while counts[n] < 0:
            if customers == limit:
                return members[:size], counts, customers, dishes
            ones = 0
            for i in range(0, dishes, 2):
                u, v = uniform_pair(seed, 0, customers, i // 2)
                if u * (concentration + customers) < taken[i] - discount:
                    chosen[ones] = i
                    ones += 1
                if i + 1 < dishes and v * (concentration + customers) < taken[i + 1] - discount:
                    chosen[ones] = i + 1
                    ones += 1
            for j in range(ones):
                taken[chosen[j]] += 1.0
            new = _poisson(seed, customers, rate)
            taken = _with_room(taken, dishes + new)
            chosen = _with_room(chosen, dishes + new)
            for _ in range(new):
                chosen[ones] = dishes
                taken[dishes] = 1.0
                dishes += 1
                ones += 1
            rate *= (customers + concentration + discount) / (customers + concentration + 1.0)
            customers += 1
            u, v = uniform_pair(seed, 2, customers, 0)
            if _is_accepted(accept, kind_of_row[n], ones, u):
                members = _with_room(members, size + ones)
                members[size : size + ones] = chosen[:ones]
                size += ones
                counts[n] = ones
    return members[:size], counts, customers, dishes


@jit
def lazy_proposals(
    seed, kind, probs, accept, concentration, discount, n_proposed, rate, fresh, limit
):
    """Propose rows of one kind until one is accepted, new atoms are needed, or the limit is met.

    `probs` are the explicit atoms, `n_proposed` the number of proposals so far, `rate` the expected
    number of new atoms in the next. A proposal that finds new atoms stops for the caller to draw
    their sizes; it is then called again with `fresh` new atoms at the end of `probs`, all on.
    Returns (status, members, new, n_proposed, rate), with status 1 for an accepted row, 2 for `new`
    atoms wanted, 0 when `n_proposed` has reached `limit`.
    """
    members = np.empty(probs.shape[0], np.int32)
    while True:
        if fresh == 0:
            if n_proposed == limit:
                return 0, members[:0], 0, n_proposed, rate
            new = _poisson(seed, n_proposed, rate)
            if new > 0:
                return 2, members[:0], new, n_proposed, rate
        ones = 0
        old = probs.shape[0] - fresh
        for i in range(0, old, 2):
            u, v = uniform_pair(seed, 0, n_proposed, i // 2)
            if u < probs[i]:
                members[ones] = i
                ones += 1
            if i + 1 < old and v < probs[i + 1]:
                members[ones] = i + 1
                ones += 1
        for i in range(old, probs.shape[0]):
            members[ones] = i
            ones += 1
        fresh = 0
        rate *= (n_proposed + concentration + discount) / (n_proposed + concentration + 1.0)
        n_proposed += 1
        u, v = uniform_pair(seed, 2, n_proposed, 0)
        if _is_accepted(accept, kind, ones, u):
            return 1, members[:ones], 0, n_proposed, rate


@jit
def _poisson(seed, row, rate):
    """Return a Poisson number: how many unit-rate arrivals come before `rate`."""
    arrivals = -1
    clock = 0.0
    block = 0
    while clock <= rate:
        u, v = uniform_pair(seed, 1, row, block)
        block += 1
        clock -= math.log(u)
        arrivals += 1
        if clock <= rate:
            clock -= math.log(v)
            arrivals += 1
    return arrivals
