"""What kinds with levels have in common: an entry is the number of its level.

A model of the column alone gives level r the probability (n_r + 1/2)/(n + R/2).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kinds.kind import ColumnLook, Kind, whole

MOST_LEVELS = 50
"""Of a column: text with more is no category."""


@dataclass(frozen=True)
class OfLevels(Kind):
    """One of several levels.

    Parameters
    ----------
    names
        Of the levels.
    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) != len(names) or len(names) < 2:
            raise InputError(
                "levels",
                f"must be at least two different names for {self.name}",
                repr(names),
                f'Write for example ribp.kinds.{self.name}(["low", "high"]).',
            )
        if len(names) > MOST_LEVELS:
            raise InputError(
                "levels",
                f"must be at most {MOST_LEVELS} for {self.name}",
                f"{len(names)} levels",
                "Merge rare levels, or leave the column out.",
            )
        object.__setattr__(self, "names", tuple(map(str, names)))

    @property
    def rule(self) -> str:  # type: ignore[override]
        """What its entries must be, in words."""
        return f"numbers of its {len(self.names)} levels, 0 to {len(self.names) - 1}"

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of its levels."""
        return self.names

    def possible(self, values: FloatArray) -> np.ndarray:
        """Return which values are numbers of levels."""
        return whole(values, len(self.names) - 1)

    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the mean over levels."""
        probs, total = self.level_probs(eta, own), np.zeros(eta.shape)
        for r in range(len(self.names)):
            bent = self.slopes(np.full(len(eta), float(r)), eta, own)[1]
            total += probs[:, r : r + 1] * bent
        return total

    @abstractmethod
    def level_probs(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the probability of each level, shape (n, levels)."""

    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the number of the level."""
        probs, numbers = self.level_probs(eta, own), np.arange(len(self.names))
        mean = probs @ numbers
        return mean, probs @ numbers**2 - mean**2

    def typical(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the most probable level."""
        return np.asarray(self.level_probs(eta, own).argmax(axis=1), dtype=np.float64)

    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of levels with lower and with higher numbers."""
        probs, numbers = self.level_probs(eta, own), np.arange(len(self.names))
        below, above = numbers < values[:, None], numbers > values[:, None]
        return (probs * below).sum(axis=1), (probs * above).sum(axis=1)

    def alone(self, look: ColumnLook, values: FloatArray) -> FloatArray:
        """Return smoothed frequencies."""
        counts = look.frequencies + 0.5
        return np.asarray(np.log(counts / counts.sum())[values.astype(np.int64)])
