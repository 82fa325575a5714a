"""Draws of a known normal law: exact p-values of their means and covariances, a few for all."""

import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular


def whitened(draws, mean, covariance):
    """Return draws (n, k) in units of their law: independent standard normal if it is right."""
    root = np.linalg.cholesky(covariance)
    return solve_triangular(root, (draws - mean).T, lower=True).T


def normal_p_values(z):
    """Return p-values of (n, k) entries being independent and standard normal.

    That of all means, of all variances, and of what is between entries: the variance of their sum.
    """
    n, k = z.shape
    totals = {"variances": ((z**2).sum(), n * k), "sums": ((z.sum(axis=1) ** 2).sum() / k, n)}
    found = {"means": stats.chi2.sf(n * (z.mean(axis=0) ** 2).sum(), k)}
    for name, (total, df) in totals.items():
        found[name] = min(1.0, 2 * min(stats.chi2.cdf(total, df), stats.chi2.sf(total, df)))
    return found
