"""Gamma and beta variates in logarithms, for shapes so small that the values underflow.

If G ~ Gamma(a+1) and U is uniform, then G U^{1/a} ~ Gamma(a), so log G + log(U)/a is an exact draw
of log Gamma(a) for every a > 0: at a = 1e-7 it is about -1e7, where the gamma variate itself is
zero in floating point. The log-odds of a Beta(a, b) variate is the difference of two of these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ribp.checks import FloatArray


def log_gamma_variates(rng: np.random.Generator, shape: ArrayLike, size: int) -> FloatArray:
    """Draw `size` logarithms of Gamma(shape, 1) variates; `shape` is a number or an array."""
    shape = np.asarray(shape, dtype=np.float64)
    result: FloatArray = (
        np.log(rng.standard_gamma(shape + 1.0, size)) - rng.standard_exponential(size) / shape
    )
    return result


def beta_log_odds_variates(
    rng: np.random.Generator, a: ArrayLike, b: ArrayLike, size: int
) -> FloatArray:
    """Draw `size` log-odds of Beta(a, b) variates; `a` and `b` are numbers or arrays."""
    return log_gamma_variates(rng, a, size) - log_gamma_variates(rng, b, size)
