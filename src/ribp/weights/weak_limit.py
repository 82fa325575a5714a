"""The weak limit of a beta process: independent weights pi_i ~ Beta(a, b).

With a = c alpha/I and b = c - a, for alpha < I, the log-odds have density

    log p(theta) = sum_i [a theta_i - c log(1 + e^theta_i) - log B(a, b)].

It falls like e^{a theta} to the left, and that is where a feature that no row has lives. Given the
others its odds have density w^{a-1} (1+w)^{-c} prod_k (1 + r_k w)^{-N_k}, close to a `BetaPrime`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit

from ribp.checks import FloatArray
from ribp.kernels.weight_density import WEAK_LIMIT
from ribp.measures import BetaProcess
from ribp.weights.beta_prime import BetaPrime
from ribp.weights.weight_prior import Pull, RareLaw, WeightPrior


@dataclass(frozen=True)
class WeakLimitPrior(WeightPrior):
    """Independent Beta(a, b) weights: the weak limit of a beta process with I features."""

    compiled: ClassVar[int | None] = WEAK_LIMIT

    @property
    def shape(self) -> float:
        """Parameter a = c alpha / I."""
        return self.concentration * self.mass / self.n_features

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta)."""
        a, c = self.shape, self.concentration
        value = a * log_odds.sum() - c * np.logaddexp(0.0, log_odds).sum()
        return float(value - log_odds.size * betaln(a, c - a))

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return a - c pi."""
        return np.asarray(self.shape - self.concentration * expit(log_odds))

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw log-odds from the weak limit."""
        return BetaProcess(self.mass, self.concentration).weak_limit(rng, n_features)

    def precision(self, rare: NDArray[np.bool_]) -> FloatArray:
        """Return a b/c, the curvature of the density at its mode, and 1 more for rare features."""
        at_mode = self.shape * (1.0 - self.mass / self.n_features)
        return at_mode + np.where(rare, 1.0, 0.0)

    def rare_law(self, sums: FloatArray, others: FloatArray, pull: Pull) -> RareLaw:
        """Return independent beta-prime odds."""
        c, a = self.concentration, self.shape
        log_slope, log_curvature = np.logaddexp(math.log(c), pull)
        return BetaPrime.matching(a + sums, log_slope, log_curvature, c - a)
