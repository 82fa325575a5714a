"""How many of T trials, T known: log p = x eta - T sp(eta) + log C(T, x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, betaln, expit, logit

from ribp import checks
from ribp.checks import FloatArray
from ribp.kernels.kind_terms import WEIGHTED
from ribp.kinds.kind import Beginning, ColumnLook, Kind, weighted_slopes, whole


@dataclass(frozen=True)
class Binomial(Kind):
    """A number of successes.

    Parameters
    ----------
    trials
        T.
    """

    trials: int

    name = "binomial"
    form = WEIGHTED

    def __post_init__(self) -> None:
        trials = checks.integer("trials", self.trials, least=1, most=2**31 - 1)
        object.__setattr__(self, "trials", trials)

    @property
    def rule(self) -> str:  # type: ignore[override]
        """What its entries must be, in words."""
        return f"whole numbers from 0 to {self.trials}"

    def __str__(self) -> str:
        return f"{self.name}({self.trials})"

    def possible(self, values: FloatArray) -> np.ndarray:
        """Return which values are numbers of successes."""
        return whole(values, self.trials)

    def _share(self, look: ColumnLook) -> float:
        """Return the smoothed share of successes."""
        total = look.number * self.trials
        return (look.number * look.mean + 0.5) / (total + 1.0)

    def begin(self, look: ColumnLook) -> Beginning:
        """Return the log-odds of the smoothed share of successes."""
        return Beginning((float(logit(self._share(look))),))

    def numbers(self, own: FloatArray) -> tuple[float, float, float]:
        """Return T: the weight of the only term."""
        return (float(self.trials), 0.0, 0.0)

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the log probability of each number."""
        v, t = eta[:, 0], float(self.trials)
        ways = -betaln(values + 1.0, t - values + 1.0) - np.log(t + 1.0)
        return np.asarray(values * v - t * np.logaddexp(0.0, v) + ways)

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x - T p and T p (1 - p)."""
        return weighted_slopes(values, float(self.trials), eta, 0.0)

    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return T p (1 - p)."""
        return np.asarray(self.trials * expit(eta) * expit(-eta))

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw numbers of successes."""
        return np.asarray(rng.binomial(self.trials, expit(eta[:, 0])), dtype=float)

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return T p and T p (1 - p)."""
        p, q = expit(eta[:, 0]), expit(-eta[:, 0])
        return self.trials * p, self.trials * p * q

    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return binomial probabilities."""
        p, below = expit(eta[:, 0]), np.maximum(values - 1.0, 0.0)
        low = np.where(values > 0, bdtr(below, self.trials, p), 0.0)
        top = np.minimum(values, self.trials - 1.0)
        return low, np.where(values < self.trials, bdtrc(top, self.trials, p), 0.0)

    def alone(self, look: ColumnLook, values: FloatArray) -> FloatArray:
        """Return the binomial law with the smoothed share of the column."""
        eta = np.full((values.size, 1), logit(self._share(look)))
        return self.log_density(values, eta, np.zeros(0))
