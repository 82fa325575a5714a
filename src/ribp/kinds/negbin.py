"""Counts that vary more than Poisson ones: mean exp(eta), variance exp(eta) + exp(2 eta)/r.

    log p = x (eta - log r) - (x + r) sp(eta - log r) + lgamma(x + r) - lgamma(r) - log x!,

own = log r; r is large where counts are nearly Poisson.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, expit, gammaln

from ribp.checks import FloatArray
from ribp.kernels.kind_terms import WEIGHTED
from ribp.kinds.kind import Beginning, ColumnLook, weighted_slopes
from ribp.kinds.log_poisson import MOST_LOG_RATE, log_mean
from ribp.kinds.of_rate import OfRate

_SHAPES = (0.2, 50.0)  # r to begin with


class NegativeBinomial(OfRate):
    """A count, Poisson with a rate that has a gamma law."""

    name = "negbin"
    form = WEIGHTED

    @property
    def own_names(self) -> tuple[str, ...]:
        """The logarithm of r."""
        return ("log shape",)

    def begin(self, look: ColumnLook) -> Beginning:
        """Return the logarithm of the mean, and of the r that goes with mean and variance."""
        more = max(look.variance - look.mean, 1e-300)
        shape = min(max(look.mean**2 / more, _SHAPES[0]), _SHAPES[1])
        return Beginning((log_mean(look),), (math.log(shape),))

    def numbers(self, own: FloatArray) -> tuple[float, float, float]:
        """Return r, one and log r: the weight is x + r."""
        return (math.exp(own[0]), 1.0, float(own[0]))

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the log probability of each count."""
        r, v = math.exp(own[0]), eta[:, 0] - own[0]
        ways = gammaln(values + r) - gammaln(r) - gammaln(values + 1.0)
        return np.asarray(values * v - (values + r) * np.logaddexp(0.0, v) + ways)

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x - (x + r) q and (x + r) q (1 - q), q = g(eta - log r)."""
        return weighted_slopes(values, values + math.exp(own[0]), eta, float(own[0]))

    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return (mean + r) q (1 - q) = mean (1 - q)."""
        return np.asarray(np.exp(np.minimum(eta, 300.0)) * expit(own[0] - eta))

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw counts."""
        r = math.exp(own[0])
        rates = np.exp(np.minimum(eta[:, 0], MOST_LOG_RATE)) * rng.standard_gamma(r, len(eta)) / r
        return rng.poisson(rates).astype(float)

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance."""
        mean = np.exp(np.minimum(eta[:, 0], 300.0))
        return mean, mean + mean**2 * math.exp(-own[0])

    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums of probabilities, as incomplete beta functions."""
        r, q, p = math.exp(own[0]), expit(eta[:, 0] - own[0]), expit(own[0] - eta[:, 0])
        below = np.where(values > 0, betainc(r, np.maximum(values, 1.0), p), 0.0)
        return below, betainc(values + 1.0, r, q)
