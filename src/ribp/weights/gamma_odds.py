"""Independent gamma odds, which normalise to a Dirichlet law: w_i ~ Gamma(a) with rate c.

With a = c alpha/I the total odds have mean alpha, and the density

    log p(theta) = sum_i [a theta_i - c e^theta_i - log Gamma(a) + a log c]

is that of the weak limit with e^{-c w} in place of (1+w)^{-c}: the two agree at small odds, so
`mass` and `concentration` mean the same. Rows do not see the scale of the odds, only w/sum(w),
which is Dirichlet(a, ..., a): given c alpha the concentration is left to its prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ribp.checks import FloatArray
from ribp.kernels.weight_density import GAMMA_ODDS
from ribp.measures import GammaProcess
from ribp.weights.beta_prime import BetaPrime
from ribp.weights.weight_prior import Pull, RareLaw, WeightPrior


@dataclass(frozen=True)
class GammaOddsPrior(WeightPrior):
    """Independent Gamma(c alpha/I) odds with rate c: Dirichlet weights when normalised."""

    compiled: ClassVar[int | None] = GAMMA_ODDS

    @property
    def shape(self) -> float:
        """Parameter a = c alpha / I."""
        return self.concentration * self.mass / self.n_features

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta)."""
        a, c = self.shape, self.concentration
        value = a * log_odds.sum() - c * _odds(log_odds).sum()
        return float(value - log_odds.size * (gammaln(a) - a * math.log(c)))

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return a - c w."""
        return np.asarray(self.shape - self.concentration * _odds(log_odds))

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw log-odds from independent gamma laws."""
        c = self.concentration
        return GammaProcess(c * self.mass, 1.0 / c).weak_limit(rng, n_features)

    def precision(self, rare: NDArray[np.bool_]) -> FloatArray:
        """Return a, the curvature of the density at its mode, and 1 more for rare features."""
        return self.shape + np.where(rare, 1.0, 0.0)

    def rare_law(self, sums: FloatArray, others: FloatArray, pull: Pull) -> RareLaw:
        """Return independent beta-prime odds."""
        c, a = self.concentration, self.shape
        log_slope = float(np.logaddexp(math.log(c), pull.log_slope))
        return BetaPrime.matching(a + sums, log_slope, pull.log_curvature, 1.0)


def _odds(log_odds: FloatArray) -> FloatArray:
    """Return e^theta; where that is infinite the density is zero."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log_odds))
