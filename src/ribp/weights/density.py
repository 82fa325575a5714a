"""What rows say of the log-odds: the density of equation (2) and its gradient.

Only the column sums m_i and the numbers N_k of rows with k ones matter; either may be expectations:

    log p(Z | theta) = m . theta - sum_k N_k log e_k(exp theta) + const,

which is concave, with gradient m - sum_k N_k eta_k, eta_k the inclusion probabilities of a row with
k ones.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels import weight_density as kernel
from ribp.weights.weight_prior import WeightPrior


def row_log_density(
    theta: FloatArray, sizes: FloatArray | IntArray, histogram: FloatArray | IntArray
) -> float:
    """Return m . theta - sum_k N_k log e_k(exp theta)."""
    return float(kernel.row_log_density(*_doubles(theta, sizes, histogram)))


def log_density(
    theta: FloatArray,
    sizes: FloatArray | IntArray,
    histogram: FloatArray | IntArray,
    prior: WeightPrior,
) -> float:
    """Return the same plus log p(theta)."""
    if prior.compiled is None:
        return row_log_density(theta, sizes, histogram) + prior.log_density(theta)
    law = (prior.compiled, float(prior.mass), float(prior.concentration))
    return float(kernel.log_density(*_doubles(theta, sizes, histogram), *law))


def row_gradient(
    theta: FloatArray, sizes: FloatArray | IntArray, histogram: FloatArray | IntArray
) -> FloatArray:
    """Return its gradient in theta."""
    given = _doubles(theta, sizes, histogram)
    return np.asarray(kernel.row_gradient(given[0], np.argsort(-theta), *given[1:]))


def _doubles(*arrays: FloatArray | IntArray) -> list[FloatArray]:
    """Return arrays as kernels are compiled for."""
    return [np.array(x, np.float64) for x in arrays]
