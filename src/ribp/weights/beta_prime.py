"""Odds with densities proportional to w^{a_i-1} (1 + w/s)^{-k}: scaled beta-prime laws.

It stands in for w^{a-1} exp(-slope w + curvature w^2/2 - ...), the law of an odds that is held down
by many factors such as (1 + r w)^{-n}. Equal first and second derivatives at zero mean

    k/s = slope,    k/s^2 = curvature,    so    k = slope^2/curvature,    s = slope/curvature.

Its right tail is never lighter than that of the product it replaces. As k grows it becomes a gamma
law of rate `slope`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.kernels.weight_moves import LARGEST_POWER
from ribp.measures.variates import beta_log_odds_variates


class BetaPrime(NamedTuple):
    """The law of the logarithms of such odds."""

    shape: FloatArray
    power: float
    log_scale: float

    @classmethod
    def matching(
        cls, shape: FloatArray, log_slope: float, log_curvature: float, least_power: float
    ) -> BetaPrime:
        """Return the law with the given derivatives, and k at least `least_power` above `shape`."""
        log_power = min(2.0 * log_slope - log_curvature, math.log(LARGEST_POWER))
        power = max(math.exp(log_power), float(shape.max()) + least_power)
        return cls(shape, power, math.log(power) - log_slope)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the logarithm of an odds for each shape."""
        a, b = self.shape, self.power - self.shape
        return self.log_scale + beta_log_odds_variates(rng, a, b, a.size)

    def log_density(self, log_odds: FloatArray) -> float:
        """Return the sum of log densities, without the normalising constant."""
        falling = self.power * np.logaddexp(0.0, log_odds - self.log_scale)
        return float((self.shape * log_odds - falling).sum())
