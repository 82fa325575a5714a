"""Small laws of rows that count, by enumeration: two kinds of entries, two restrictions."""

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

import ribp
from ribp.kernels.sweep_gaussian import Gram, own_squares
from ribp.polynomials import RestrictedEntries

FEATURES, DIMS = 3, 4
KINDS = {"poisson": 1.0, "negative_binomial": 2.0, "geometric": 1.0, "log-convex": 0.4}
"""By name, r: geometric entries are negative binomial ones at the edge of log-concavity."""
LOG_CONCAVE = ["poisson", "negative_binomial", "geometric"]
THETA = {
    "poisson": np.array([0.3, -0.9, 0.1]),
    "negative_binomial": np.array([-0.5, -1.6, -0.8]),
    "geometric": np.array([0.2, -1.1, -0.3]),
    "log-convex": np.array([0.9, 0.1, -0.5]),
}
LAWS = {
    "interval": ribp.counts.table([0.2, 0.3, 0.3, 0.2]),
    "one count": ribp.counts.exactly(2),
    "a hole": ribp.counts.table([0.0, 0.4, 0.0, 0.6]),
    "no bottom": ribp.counts.table([0.0, 0.5, 0.5]),
}
SEEN = {
    "all": np.ones(DIMS, bool),
    "most": np.array([1, 0, 1, 1], bool),
    "one": np.array([0, 0, 1, 0], bool),
}
EXACT = {"rtol": 0, "atol": 1e-12}
RNG = np.random.default_rng(5)
A = RNG.normal(0, 1, (FEATURES, DIMS)) + 0.7
NOISE = RNG.uniform(0.9, 1.6, DIMS)
X = np.array([2.0, 0.0, 1.0]) @ A + NOISE * RNG.normal(size=DIMS)
LOADINGS = np.ascontiguousarray((A / NOISE).T)
COMMON = LOADINGS.T @ LOADINGS
DIAGONAL = np.diag(COMMON).copy()
COMMON = COMMON - np.diag(DIAGONAL)


def growth_of(kind):
    return 0.0 if kind == "poisson" else 1.0 / KINDS[kind]


def row_law(kind, law, restrict, theta=None):
    """Return the law of a row, from the module that is tested against its definition."""
    entries = "poisson" if kind == "poisson" else "negative_binomial"
    theta = THETA[kind] if theta is None else theta
    return RestrictedEntries(theta, law, entries=entries, restrict=restrict, failures=KINDS[kind])


def log_rates(kind, theta=None):
    """Return log lambda, or log r pi."""
    theta = THETA[kind] if theta is None else theta
    return theta if kind == "poisson" else np.log(KINDS[kind]) - np.logaddexp(0.0, -theta)


def hazards(kind, theta=None):
    """Return -log P(0)."""
    theta = THETA[kind] if theta is None else theta
    return np.exp(theta) if kind == "poisson" else KINDS[kind] * np.logaddexp(0.0, theta)


def log_prior_weights(kind, rate, v):
    """Return log a(v)."""
    if kind == "poisson":
        return v * np.log(rate) - gammaln(v + 1.0)
    r = KINDS[kind]
    return gammaln(v + r) - gammaln(r) - gammaln(v + 1.0) + v * np.log(rate / r)


def all_count_rows(most, features=FEATURES):
    """Return all rows with entries 0 .. most."""
    return np.array(list(product(range(most + 1), repeat=features)))


def log_likelihood(rows, seen):
    """Return the log-likelihood of rows, from its definition."""
    scaled = (X - rows @ A) / NOISE
    return -0.5 * (scaled[:, seen] ** 2).sum(axis=1)


def posterior(rows, kind, law, restrict, seen):
    """Return the probabilities of rows given the data."""
    log_p = row_law(kind, law, restrict).log_prob(rows) + log_likelihood(rows, seen)
    return np.exp(log_p - logsumexp(log_p))


def at_hand(seen):
    """Return b, G_ii and G as a kernel has them for the row."""
    b = (X / NOISE**2 * A)[:, seen].sum(axis=1)
    if seen.all():
        return b, DIAGONAL.copy(), Gram(COMMON, np.empty(0, bool), False, LOADINGS, COMMON)
    squares = np.empty(FEATURES)
    add = own_squares(seen, LOADINGS, DIAGONAL, squares)
    return b, squares, Gram(np.full_like(COMMON, np.nan), seen, add, LOADINGS, COMMON)


def tables_of(kind, law, restrict, most):
    """Return the kernel's table over counts 0 .. most, and its steps."""
    theta = THETA[kind]
    if restrict == "nonzeros":
        normaliser = ribp.log_esp(np.log(np.expm1(hazards(kind))), most)
    else:
        normaliser = row_law(kind, law, "sum").log_coefficients(most)[-1]
        normaliser = normaliser + gammaln(np.arange(most + 1) + 1.0)
    table = law.log_probs(most) - normaliser
    assert table.size == most + 1
    assert theta.size == FEATURES
    return table, steps_of(table)


def steps_of(table):
    """Return table[k+1] - table[k], -inf where there is no k+1."""
    above, below = table[1:], table[:-1]
    steps = np.full(above.shape, -np.inf)
    np.subtract(above, below, out=steps, where=above > -np.inf)
    return steps
