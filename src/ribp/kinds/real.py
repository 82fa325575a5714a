"""Numbers: x/s ~ N(eta, 1), s of its own; features are in units of the noise.

log p = -(x/s - eta)^2/2 - log s - log(2 pi)/2,        own = log s.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, ndtr

from ribp.checks import FloatArray
from ribp.kernels.kind_terms import SQUARE
from ribp.kinds.kind import Beginning, ColumnLook, Kind

_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


class Real(Kind):
    """Any number, with noise of its own."""

    name = "real"
    rule = "any numbers"
    form = SQUARE
    has_units = True

    @property
    def own_names(self) -> tuple[str, ...]:
        """The logarithm of the noise."""
        return ("log noise",)

    def possible(self, values: FloatArray) -> np.ndarray:
        """Any finite number will do."""
        return np.isfinite(values)

    def begin(self, look: ColumnLook) -> Beginning:
        """Return a background of nothing and noise of one: data are in standard units."""
        return Beginning((0.0,), (0.0,))

    def numbers(self, own: FloatArray) -> tuple[float, float, float]:
        """Return 1/s."""
        return (math.exp(-own[0]), 0.0, 0.0)

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the normal log density."""
        rest = self.looked_at(values) * math.exp(-own[0]) - eta[:, 0]
        return np.asarray(-0.5 * rest**2 - own[0] - _HALF_LOG_2_PI)

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x/s - eta, and one."""
        return self.looked_at(values)[:, None] * math.exp(-own[0]) - eta, np.ones(eta.shape)

    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return one."""
        return np.ones(eta.shape)

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw normal numbers."""
        return math.exp(own[0]) * (eta[:, 0] + rng.standard_normal(len(eta)))

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return s eta and s^2."""
        scale = math.exp(own[0])
        return scale * eta[:, 0], np.full(len(eta), scale**2)

    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return normal probabilities."""
        score = self.looked_at(values) * math.exp(-own[0]) - eta[:, 0]
        return ndtr(score), ndtr(-score)

    def alone(self, look: ColumnLook, values: FloatArray) -> FloatArray:
        """Return Student's law: a normal column whose mean and spread are unknown."""
        n = look.number
        if n < 2 or look.variance <= 0:
            return np.full(values.size, np.nan)
        freedom, squares = n - 1.0, n * look.variance * (n + 1.0) / n
        score = (self.looked_at(values) - look.mean) ** 2 / squares
        size = gammaln((freedom + 1.0) / 2.0) - gammaln(freedom / 2.0)
        return np.asarray(
            size - 0.5 * np.log(np.pi * squares) - 0.5 * (freedom + 1.0) * np.log1p(score)
        )

    def left_out(self, values: FloatArray) -> FloatArray:
        """Return the same of each value given the others, all at once."""
        n, x = values.size, self.looked_at(values)
        if n < 3:
            return np.full(n, np.nan)
        around = x - x.mean()
        squares = np.maximum(float(around @ around) - around**2 * n / (n - 1.0), 0.0)
        means = x.mean() - around / (n - 1.0)
        looks = zip(means.tolist(), (squares / (n - 1.0)).tolist(), strict=True)
        nothing = np.zeros(0)
        return np.array(
            [
                self.alone(ColumnLook(n - 1.0, mean, spread, nothing), values[at : at + 1])[0]
                for at, (mean, spread) in enumerate(looks)
            ]
        )
