"""Counts whose rate is multiplied by each feature: log p = x eta - exp(eta) - log x!.

Where features add counts of their own, use likelihood="poisson" for the whole table.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, pdtr, pdtrc

from ribp.checks import FloatArray
from ribp.kernels.kind_terms import EXPONENTIAL
from ribp.kinds.kind import Beginning, ColumnLook
from ribp.kinds.of_rate import OfRate

MOST_LOG_RATE = 30.0
"""In simulation: counts beyond are no counts."""


def log_mean(look: ColumnLook) -> float:
    """Return the logarithm of the mean of counts, half a count added."""
    return math.log((look.number * look.mean + 0.5) / max(look.number, 1.0))


class LogPoisson(OfRate):
    """A count, Poisson given its rate."""

    name = "log-poisson"
    form = EXPONENTIAL

    def begin(self, look: ColumnLook) -> Beginning:
        """Return the logarithm of the mean."""
        return Beginning((log_mean(look),))

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the log probability of each count."""
        v = eta[:, 0]
        with np.errstate(over="ignore"):
            return np.asarray(values * v - np.exp(v) - gammaln(values + 1.0))

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x - exp(eta) and exp(eta)."""
        rate = np.exp(np.minimum(eta, 600.0))
        return values[:, None] - rate, rate

    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the rate."""
        return np.exp(np.minimum(eta, 600.0))

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw counts."""
        return rng.poisson(np.exp(np.minimum(eta[:, 0], MOST_LOG_RATE))).astype(float)

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rate twice."""
        rate = np.exp(np.minimum(eta[:, 0], 600.0))
        return rate, rate

    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return Poisson probabilities."""
        rate = np.exp(np.minimum(eta[:, 0], 600.0))
        below = np.maximum(values - 1.0, 0.0)
        return np.where(values > 0, pdtr(below, rate), 0.0), pdtrc(values, rate)
