"""One-dimensional slice sampling: step out from where we are, then shrink (exact, no tuning)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def slice_step(
    rng: np.random.Generator,
    start: float,
    log_density: Callable[[float], float],
    *,
    width: float = 1.0,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """Return the next state of a chain with the given log density on (low, high)."""
    level = log_density(start) - rng.standard_exponential()
    left = start - width * rng.random()
    right = left + width
    while left > low and log_density(left) > level:
        left -= width
    while right < high and log_density(right) > level:
        right += width
    left, right = max(left, low), min(right, high)
    while True:
        proposal = rng.uniform(left, right)
        if log_density(proposal) > level:
            return proposal
        if proposal < start:
            left = proposal
        else:
            right = proposal
