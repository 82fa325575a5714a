"""Binary entries: z = 1 with the odds that the atom carries, whatever they are the odds of."""

from __future__ import annotations

import math

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.entries.entry_kind import EntryKind
from ribp.measures import Odds


class BernoulliEntries(EntryKind):
    """Entries 0 and 1, with odds e^theta."""

    largest = math.inf
    binary = True

    def odds(self, restrict: str) -> Odds | None:
        """Return None: what the atom carries."""
        return None

    def log_ratios(self, theta: FloatArray, z: IntArray) -> FloatArray:
        """Return z theta, for z = 0 and 1."""
        return np.where(z > 1, -np.inf, z * theta)

    def draw_positive(self, rng: np.random.Generator, theta: FloatArray) -> IntArray:
        """Return ones."""
        return np.ones(theta.size, np.int64)
