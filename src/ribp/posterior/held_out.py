"""How good guesses of hidden entries are: their log density given the entries that were seen.

What that is worth shows beside a model that knows the columns only
(`EntryLaw.column_log_density`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ribp.checks import FloatArray

__all__ = ["Score", "score"]


class Score(NamedTuple):
    """Log density of hidden entries."""

    entries: int
    mean: float
    standard_error: float


def score(log_density: FloatArray) -> Score:
    """Return the mean over entries and its standard error."""
    n = log_density.size
    spread = float(log_density.std(ddof=1)) if n > 1 else math.nan
    return Score(n, float(log_density.mean()), spread / math.sqrt(n))
