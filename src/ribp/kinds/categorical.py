"""Levels without an order: every level has a latent column of its own.

    log p = eta_x - log sum_r exp eta_r.

No level is the reference, so that it does not matter how they are numbered. Entries of A have half
the variance of those of other kinds: a contrast of two levels has the variance of a feature, and
with two levels this is the kind `binary`. What all levels of a feature have in common is not seen
by the data; only contrasts and probabilities mean anything.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from ribp.checks import FloatArray
from ribp.kernels.kind_terms import LEVELS
from ribp.kinds.kind import Beginning, ColumnLook
from ribp.kinds.levels import OfLevels


class Categorical(OfLevels):
    """One of several levels, in no order."""

    name = "categorical"
    form = LEVELS
    variance = 0.5

    @property
    def width(self) -> int:
        """One latent column a level."""
        return len(self.names)

    def linear(self, values: FloatArray) -> FloatArray:
        """Return which level each value is, 0 or 1 for every level."""
        return np.asarray(values[:, None] == np.arange(self.width), dtype=float)

    def begin(self, look: ColumnLook) -> Beginning:
        """Return the logarithms of smoothed frequencies."""
        counts = look.frequencies + 0.5
        return Beginning(tuple(np.log(counts / counts.sum()).tolist()))

    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the log probability of each level."""
        at = values.astype(np.int64)[:, None]
        return np.take_along_axis(log_softmax(eta, axis=1), at, axis=1)[:, 0]

    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return 1(x = r) - p_r and p_r (1 - p_r)."""
        probs = self.level_probs(eta, own)
        here = values[:, None] == np.arange(self.width)
        return here - probs, probs * (1.0 - probs)

    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw levels."""
        return np.asarray((eta + rng.gumbel(size=eta.shape)).argmax(axis=1), dtype=float)

    def level_probs(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the probability of each level, shape (n, levels)."""
        return np.asarray(np.exp(log_softmax(eta, axis=1)))
