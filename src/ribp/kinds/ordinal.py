"""Levels in an order: thresholds cut the latent number, the noise is logistic.

    P(x <= r | eta) = g(t_r - eta),      t_0 = 0,   t_r = t_{r-1} + exp(own_r),   r < R - 1,
    log p = -sp(eta - t_x) - sp(t_{x-1} - eta) + log(1 - exp(t_{x-1} - t_x)),

by g(a) - g(b) = g(a) g(-b) (1 - exp(b - a)): two distribution functions are never subtracted. The
first level has only the first term, the last only the second.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from ribp.checks import FloatArray
from ribp.kernels.kind_terms import ORDERED
from ribp.kinds.kind import Beginning, ColumnLook
from ribp.kinds.levels import OfLevels

_LEAST_STEP = 0.05  # between thresholds to begin with


class Ordinal(OfLevels):
    """One of several levels, in this order, the lowest first."""

    name = "ordinal"
    form = ORDERED

    @property
    def own_names(self) -> tuple[str, ...]:
        """Logarithms of the steps between thresholds, one for each level that has two."""
        return tuple(f"log width of {level}" for level in self.levels[1:-1])

    def begin(self, look: ColumnLook) -> Beginning:
        """Return what the smoothed frequencies of the levels would be without features."""
        counts = look.frequencies + 0.5
        below = logit(np.cumsum(counts)[:-1] / counts.sum())
        steps = np.log(np.maximum(np.diff(below), _LEAST_STEP))
        return Beginning((-float(below[0]),), tuple(steps.tolist()))

    def thresholds(self, own: FloatArray) -> FloatArray:
        """Return t_0 = 0, t_1, ...; a line for each line of own numbers."""
        steps = np.cumsum(np.exp(own), axis=-1)
        return np.concatenate([np.zeros((*steps.shape[:-1], 1)), steps], axis=-1)

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the log probability of each level."""
        above, below = self._between(values, own)
        steps = np.where(np.isfinite(above - below), above - below, 1.0)
        gap = np.where(np.isfinite(above - below), np.log(-np.expm1(-steps)), 0.0)
        v = eta[:, 0]
        return np.asarray(gap - np.logaddexp(0.0, v - above) - np.logaddexp(0.0, below - v))

    def _between(self, values: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds above and below each value, infinite at the ends."""
        wide = np.concatenate([[-np.inf], self.thresholds(own), [np.inf]])
        at = values.astype(np.int64)
        return wide[at + 1], wide[at]

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return g(t_{x-1} - eta) - g(eta - t_x), and the sum of both g(1 - g)."""
        above, below = self._between(values, own)
        v = eta[:, 0]
        low, high = expit(below - v), expit(v - above)
        bent = low * expit(v - below) + high * expit(above - v)
        return (low - high)[:, None], bent[:, None]

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw levels."""
        latent = eta + rng.logistic(size=(len(eta), 1))
        return np.asarray((latent > self.thresholds(own)).sum(axis=1), dtype=float)

    def level_probs(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the probability of each level, shape (n, levels)."""
        n = len(eta)
        return np.exp(
            [self.log_density(np.full(n, float(r)), eta, own) for r in range(len(self.levels))]
        ).T
