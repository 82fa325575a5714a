"""A row with strengths, its supports from dense Gaussians and as kernels have them."""

import numpy as np
from scipy import stats

from ribp.kernels import strength_support as supports
from ribp.kernels import sweep_gaussian
from tests.helpers.row_cases import DIMS, FEATURES, ROWS

RNG = np.random.default_rng(4)
A = RNG.normal(0, 1, (FEATURES, DIMS))
OFFSET = RNG.normal(0, 1, DIMS)
NOISE = RNG.uniform(0.5, 2.0, DIMS)
X = 1.4 * ROWS[5] @ A + OFFSET + NOISE * RNG.normal(size=DIMS)
LOADINGS = np.ascontiguousarray((A / NOISE).T)
COMMON = LOADINGS.T @ LOADINGS
DIAGONAL = np.diag(COMMON).copy()
COMMON = COMMON - np.diag(DIAGONAL)
LAWS = {"around one": (1.0, 0.4), "signed": (0.0, 1.0), "nearly on-off": (1.0, 1e-3)}


def log_likelihood(seen, mu, tau):
    """Return log p(x | S) of all supports, from dense Gaussians."""
    found = []
    for z in ROWS:
        a = A[z == 1][:, seen]
        mean, cov = OFFSET[seen] + mu * a.sum(axis=0), np.diag(NOISE[seen] ** 2) + tau**2 * a.T @ a
        found.append(stats.multivariate_normal(mean, cov).logpdf(X[seen]) if seen.any() else 0.0)
    return np.array(found)


def at_hand(seen):
    """Return b, G_ii and G as the kernel has them for the row."""
    b = ((X - OFFSET) / NOISE**2 * A)[:, seen].sum(axis=1)
    if seen.all():
        gram = sweep_gaussian.Gram(COMMON, np.empty(0, bool), False, LOADINGS, COMMON)
        return b, DIAGONAL.copy(), gram
    squares = np.empty(FEATURES)
    add = sweep_gaussian.own_squares(seen, LOADINGS, DIAGONAL, squares)
    matrix = np.full((FEATURES, FEATURES), np.nan)
    return b, squares, sweep_gaussian.Gram(matrix, seen, add, LOADINGS, COMMON)


def supported(z, seen, law):
    """Return the support of z, its size, and log p(x | S) less that of no features."""
    b, squares, gram = at_hand(seen)
    support = supports.new_support(FEATURES)
    size, score = supports.build(z, b, support, gram, squares, *LAWS[law], True)
    return support, size, score


def exact_moments(z, seen, mu, tau):
    """Return mean and covariance of the strengths of a support, from regression."""
    a = (A / NOISE)[z == 1][:, seen]
    precision = a @ a.T + np.eye(len(a)) / tau**2
    right = a @ ((X - OFFSET) / NOISE)[seen] + mu / tau**2
    return np.linalg.solve(precision, right), np.linalg.inv(precision)
