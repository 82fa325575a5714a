"""What rows say of the log-odds: the density of equation (2) and its gradient.

Only the column sums m_i and the numbers N_k of rows with k ones matter; either may be expectations:

    log p(Z | theta) = m . theta - sum_k N_k log e_k(exp theta) + const,

which is concave, with gradient m - sum_k N_k eta_k, eta_k the inclusion probabilities of a row with
k ones.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels import elementary_symmetric

_LARGE = 10**6  # numbers in a table of prefixes, beyond which it is kept in part


def row_log_density(
    theta: FloatArray, sizes: FloatArray | IntArray, histogram: FloatArray | IntArray
) -> float:
    """Return m . theta - sum_k N_k log e_k(exp theta)."""
    top = int(np.flatnonzero(histogram).max(initial=0))
    log_e = elementary_symmetric.log_esp(np.sort(theta)[::-1].copy(), top)
    return float(sizes @ theta - histogram[: top + 1] @ log_e)


def row_gradient(
    theta: FloatArray, sizes: FloatArray | IntArray, histogram: FloatArray | IntArray
) -> FloatArray:
    """Return its gradient in theta."""
    order, top = np.argsort(-theta), int(np.flatnonzero(histogram).max(initial=0))
    counts = histogram[: top + 1].astype(np.float64)
    block = theta.size if theta.size * counts.size < _LARGE else math.isqrt(theta.size)
    expected = np.empty_like(theta)
    expected[order] = elementary_symmetric.weighted_inclusion(theta[order], counts, block)
    return np.asarray(sizes - expected)
