"""The gamma process: atoms of unbounded size, for counts and for Dirichlet-like weights.

Atoms of size lambda > 0 form a Poisson process with intensity

    nu(d lambda) = alpha lambda^{-1} exp(-lambda/scale) d lambda,

where alpha is `mass`. The total of all atoms is Gamma(alpha) with the given scale, and the atoms
divided by it are Dirichlet-process weights. An atom carries log lambda. With x = lambda/scale,

    N = alpha E_1(x),    integral_0^t lambda nu(d lambda) = alpha scale (1 - exp(-t/scale)),

E_1 the exponential integral, which is -gamma_E - log x + x - ... for small x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ribp import checks
from ribp.checks import FloatArray
from ribp.measures.levy import CompletelyRandomMeasure, convex_tail_bound
from ribp.measures.measure import Odds
from ribp.measures.newton import invert_log_integral
from ribp.measures.special import log_exp_integral
from ribp.measures.variates import log_gamma_variates

# Between these, scipy's exp1; outside, two terms of the power series or 20 of the asymptotic one.
_SMALL = 1e-9
_LARGE = 50.0


@dataclass(frozen=True)
class GammaProcess(CompletelyRandomMeasure):
    """The directing measure of gamma-Poisson rows; its odds are lambda itself by default.

    Parameters
    ----------
    mass : float
        alpha > 0.
    scale : float
        The scale of the atoms, > 0. It matters only where the odds are not lambda: the row law does
        not change when all odds are multiplied by a constant.
    """

    mass: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", checks.positive("mass", self.mass))
        object.__setattr__(self, "scale", checks.positive("scale", self.scale))

    def log_levy_tail(self, log_odds: ArrayLike) -> FloatArray:
        """Return log N: N is the expected number of atoms above the given log size."""
        return math.log(self.mass) + log_exponential_integral(
            np.asarray(log_odds) - math.log(self.scale)
        )

    def weak_limit(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the logarithms of I sizes, iid Gamma(alpha/I) with the measure's scale."""
        rng = checks.generator("rng", rng)
        n_features = checks.integer("n_features", n_features, least=1)
        return math.log(self.scale) + log_gamma_variates(rng, self.mass / n_features, n_features)

    def log_expected_tail_odds(
        self, log_threshold: ArrayLike, odds: Odds | None = None
    ) -> FloatArray:
        """Return log E[T | t]: exact for odds lambda, a bound for other convex odds.

        Parameters
        ----------
        log_threshold : array_like
            log t; +inf means all atoms.
        odds : callable, optional
            Log-odds of the row as a function of log lambda, such as `poisson_nonzero`.
        """
        log_threshold = np.asarray(log_threshold, dtype=np.float64)
        log_size = math.log(self.mass) + log_exp_integral(1.0 / self.scale, log_threshold)
        if odds is None:
            return log_size
        return convex_tail_bound(log_size, log_threshold, odds(log_threshold))

    def _invert_tail(self, arrivals: FloatArray) -> FloatArray:
        """Solve E_1(e^u) = arrivals/alpha for u, then return u + log scale."""
        tail = arrivals / self.mass
        depth = np.maximum(-np.log(tail), 1.0)
        start = np.where(tail > 0.2, -tail - np.euler_gamma, np.log(depth - 0.5 * np.log1p(depth)))
        root = invert_log_integral(
            log_exponential_integral, lambda u: -np.exp(u), np.log(tail), start, sign=-1
        )
        return root + math.log(self.scale)


def log_exponential_integral(log_x: ArrayLike) -> FloatArray:
    """Return log E_1(x) from log x, for every x > 0: three exact forms by the size of x."""
    log_x = np.asarray(log_x, dtype=np.float64)
    small, large = log_x < math.log(_SMALL), log_x > math.log(_LARGE)
    result = np.empty(log_x.shape)
    result[small] = np.log(np.exp(log_x[small]) - log_x[small] - np.euler_gamma)
    middle = ~(small | large)
    result[middle] = np.log(special.exp1(np.exp(log_x[middle])))
    with np.errstate(over="ignore"):
        x = np.exp(log_x[large])
    series = np.ones_like(x)
    for k in range(20, 0, -1):  # 1 - 1!/x + 2!/x^2 - ...
        series = 1.0 - k / x * series
    result[large] = np.log(series) - log_x[large] - x
    return result
