"""Scores of hidden entries: their mean log density given the observed entries.

Compare it with that of a model of the columns alone (`EntryLaw.column_log_density`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ribp.checks import FloatArray


class Score(NamedTuple):
    """Mean log density of entries, or mean gain in it."""

    entries: int
    mean: float
    """Per entry."""
    standard_error: float


def score(log_density: FloatArray) -> Score:
    """Return the mean over entries and its standard error."""
    n = log_density.size
    spread = float(log_density.std(ddof=1)) if n > 1 else math.nan
    return Score(n, float(log_density.mean()), spread / math.sqrt(n))
