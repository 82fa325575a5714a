"""The Poisson-binomial law: the number of ones among independent, unequal coins.

S = z_1 + ... + z_I with P(z_i = 1) = sigmoid(log_odds_i). With the row law of
`ribp.RestrictedBernoulli` it is connected by P(S = k) = e_k(w) prod_i (1 - pi_i).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError


class PoissonBinomial:
    """Law of the number of ones among independent coins with given log-odds.

    Parameters
    ----------
    log_odds
        Shape (features,); -inf is a coin that never shows one, +inf one that always does.

    Examples
    --------
    >>> import ribp
    >>> ribp.PoissonBinomial([0.0, 0.0, 0.0]).pmf([0, 1, 2, 3]).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """

    def __init__(self, log_odds: ArrayLike) -> None:
        self.log_odds = checks.log_odds(log_odds)
        if self.log_odds.ndim != 1:
            raise InputError(
                "log_odds",
                "must have one axis",
                f"shape {self.log_odds.shape}",
                "Make one PoissonBinomial for each vector.",
            )

    def __repr__(self) -> str:
        return f"PoissonBinomial(<{self.log_odds.size} log-odds>)"

    @cached_property
    def _probs(self) -> FloatArray:
        from ribp.kernels.poisson_binomial_table import poisson_binomial

        probs: FloatArray = poisson_binomial(expit(self.log_odds), expit(-self.log_odds))
        return probs

    @cached_property
    def _cumulative(self) -> FloatArray:
        total = np.cumsum(self._probs)
        return np.asarray(total / total[-1])

    @property
    def mean(self) -> float:
        """The expected number of ones."""
        return float(expit(self.log_odds).sum())

    @property
    def variance(self) -> float:
        """The variance of the number of ones."""
        return float((expit(self.log_odds) * expit(-self.log_odds)).sum())

    def pmf(self, k: ArrayLike) -> FloatArray:
        """Return P(S = k) for whole numbers k of any shape; zero outside 0 .. features."""
        counts = checks.integers("k", k, least=None)
        inside = (counts >= 0) & (counts <= self.log_odds.size)
        return np.where(inside, self._probs[np.where(inside, counts, 0)], 0.0)

    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return P(S <= k) for whole numbers k of any shape."""
        counts = checks.integers("k", k, least=None)
        at = np.clip(counts, 0, self.log_odds.size)
        return np.where(counts >= 0, self._cumulative[at], 0.0)

    def quantile(self, u: ArrayLike) -> IntArray:
        """Return the least k with P(S <= k) >= u, for probabilities u of any shape."""
        try:
            level = np.asarray(u, dtype=np.float64)
        except (TypeError, ValueError):
            level = np.array(np.nan)
        if not ((level >= 0) & (level <= 1)).all():
            raise InputError(
                "u",
                "must lie between 0 and 1",
                u,
                "Pass probabilities, such as 0.5 for the median.",
            )
        return np.searchsorted(self._cumulative, level, side="left").astype(np.int64)

    def sample(
        self, rng: np.random.Generator | int, n: int | tuple[int, ...] | None = None
    ) -> IntArray:
        """Draw counts: shape (n...); None means a single one."""
        rng = checks.generator("rng", rng)
        return np.asarray(self.quantile(1.0 - rng.random(checks.shape("n", n))))
