"""Small laws of rows and what their transitions must leave unchanged, by enumeration."""

from itertools import permutations

import numpy as np
from scipy.special import expit, logsumexp, xlogy

import ribp
from ribp.kernels import whole_rows
from ribp.testing.exact import all_rows

FEATURES = 4
ROWS = all_rows(FEATURES)
ONES = ROWS.sum(axis=1)
THETA = np.array([0.4, -0.8, 1.1, -0.2])
LAWS = {
    "interval": ribp.counts.table([0.1, 0.2, 0.3, 0.3, 0.1]),
    "one count": ribp.counts.exactly(2),
    "a hole": ribp.counts.table([0.0, 0.4, 0.0, 0.6]),
    "no top": ribp.counts.uniform(0, 2),
}
TABLES = np.array([law.log_probs(FEATURES) - ribp.log_esp(THETA) for law in LAWS.values()])
TABLE = dict(zip(LAWS, TABLES, strict=True))
EXACT = {"rtol": 0, "atol": 1e-12}
BITS = 1 << np.arange(FEATURES)
DIMS = 5
SEEN = {
    "all": np.ones(DIMS, bool),
    "most": np.array([1, 0, 1, 1, 1], bool),
    "few": np.array([0, 0, 1, 0, 1], bool),
    "none": np.zeros(DIMS, bool),
}


def gaussian_log_likelihood(x, features, seen):
    """Return the log-likelihood of ROWS given noise of size 1, less that of no features."""
    squares = ((x - ROWS @ features) ** 2)[:, seen].sum(axis=1)
    return 0.5 * (squares[0] - squares)


def poisson_log_likelihood(x, features, seen, offset, exposure=1.0):
    """Return sum_d x_d log r_d - exposure (r_d - offset_d) of ROWS."""
    rates = ROWS @ features + offset
    return (xlogy(x, rates) - exposure * (rates - offset))[:, seen].sum(axis=1)


def step(table, k):
    """Return the prior log-odds of one more, given k ones elsewhere."""
    return -np.inf if np.isneginf(table[k + 1]) else table[k + 1] - table[k]


def posterior(log_likelihood, table):
    """Return the probabilities of ROWS; `log_likelihood` has one value a row."""
    log_p = ROWS @ THETA + table[ONES] + log_likelihood
    return np.exp(log_p - logsumexp(log_p))


def after_flip(pi, i, log_odds):
    """Return the law after a flip of feature i, with log_odds(z, i)."""
    moved = np.zeros_like(pi)
    for at in np.flatnonzero(pi):
        p = expit(log_odds(ROWS[at].copy(), i))
        moved[at | 1 << i] += pi[at] * p
        moved[at & ~(1 << i)] += pi[at] * (1 - p)
    return moved


def moves_of(log_weights):
    """Return a function (at, i) -> probabilities of new states when the one at i moves."""
    known = {}

    def move(at, i):
        if (at, i) not in known:
            weights = log_weights(ROWS[at].copy(), i)
            out = np.zeros(len(ROWS))
            for j, p in enumerate(np.exp(weights - logsumexp(weights))):
                out[(at & ~(1 << i)) | 1 << j] += p
            known[at, i] = out
        return known[at, i]

    return move


def after_relocations(pi, log_weights):
    """Return the law after every one was moved once, in random order."""
    move = moves_of(log_weights)
    moved = np.zeros_like(pi)
    for at in np.flatnonzero(pi):
        orders = list(permutations(np.flatnonzero(ROWS[at])))
        for order in orders:
            law = np.eye(len(ROWS))[at]
            for i in order:
                law = sum(law[s] * move(s, i) for s in np.flatnonzero(law))
            moved += pi[at] * law / len(orders)
    return moved


def after_walk(pi, log_weights):
    """Return the law after the broken twin: for i = 1, 2, ... in turn, move i if it is on."""
    move = moves_of(log_weights)
    for i in range(FEATURES):
        pi = sum(
            pi[at] * (move(at, i) if ROWS[at, i] else np.eye(len(ROWS))[at])
            for at in np.flatnonzero(pi)
        )
    return pi


def proposal_law(table, log_odds):
    """Return the law of `whole_rows.draw` from its own chain."""
    top = whole_rows.largest_count(table)
    log_counts, take = np.empty(top + 1), np.full((FEATURES, top + 1), np.nan)
    order = whole_rows.set_up(log_odds, table, log_counts, take)
    probs = np.exp(log_counts - logsumexp(log_counts))
    law = np.zeros(len(ROWS))
    for at, z in enumerate(ROWS):
        left = int(z.sum())
        p = probs[left] if left <= top else 0.0
        for i in range(FEATURES - 1, -1, -1):
            if p > 0 and left > 0:
                p *= take[i, left] if z[order[i]] else 1 - take[i, left]
                left -= int(z[order[i]])
        law[at] = p
    return law


def after_proposal(pi, q, excess):
    """Return the law after a proposal from q, accepted on the difference of `excess`."""
    possible = np.flatnonzero(pi)
    moved = np.zeros_like(pi)
    for at in possible:
        accept = np.exp(np.minimum(0.0, excess[possible] - excess[at]))
        moved[possible] += pi[at] * q[possible] * accept
        moved[at] += pi[at] * (1 - q[possible] @ accept)
    return moved
