"""Positive numbers: their logarithms are as in `real`, and the density is that of x itself."""

from __future__ import annotations

import math

import numpy as np

from ribp.checks import FloatArray
from ribp.kinds.kind import ColumnLook
from ribp.kinds.real import Real


class Positive(Real):
    """A positive number, its logarithm with noise of its own."""

    name = "positive"
    rule = "positive numbers"

    def possible(self, values: FloatArray) -> np.ndarray:
        """Return which values are positive."""
        return np.isfinite(values) & (values > 0)

    def looked_at(self, values: FloatArray) -> FloatArray:
        """Return logarithms; zero of what is missing."""
        return np.log(np.where(values > 0, values, 1.0))

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return that of the logarithm, less the logarithm."""
        return super().log_density(values, eta, own) - self.looked_at(values)

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw exponentials of normal numbers."""
        return np.exp(super().draw(rng, eta, own))

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the log-normal law."""
        scale = math.exp(own[0])
        mean = np.exp(scale * eta[:, 0] + 0.5 * scale**2)
        return mean, mean**2 * math.expm1(scale**2)

    def typical(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the median."""
        return np.exp(math.exp(own[0]) * eta[:, 0])

    def alone(self, look: ColumnLook, values: FloatArray) -> FloatArray:
        """Return Student's law of the logarithm, less the logarithm."""
        return super().alone(look, values) - self.looked_at(values)
