"""How good guesses of hidden entries are, beside those of a model without features.

The score of an entry is its log density given the entries that were seen. What that is worth shows
beside a model that knows the columns only: for Gaussian data the normal law with the mean and the
standard deviation of the column, for counts the Poisson law with its mean, half a count added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ribp.checks import FloatArray
from ribp.likelihoods.base import BoolArray, Data

__all__ = ["Score", "column_log_density", "score"]

_LEAST_SPREAD = 1e-3  # of a column, as a share of its root mean square


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


def column_log_density(
    seen: Data, values: FloatArray, hidden: BoolArray, *, gaussian: bool
) -> FloatArray:
    """Return the log density of hidden entries under a model that knows the columns only.

    Parameters
    ----------
    seen
        The data of the fit, in which these entries are missing.
    values
        True values, shape (rows, dims).
    hidden
        Which entries are scored, shape (rows, dims).
    gaussian
        Whether data are Gaussian; otherwise they are counts.
    """
    known = seen.observed if seen.observed.size else np.ones(seen.values.shape, bool)
    number = np.maximum(known.sum(axis=0), 1)
    x, columns = values[hidden], np.nonzero(hidden)[1]
    if not gaussian:
        rate = (np.where(known, seen.values, 0.0).sum(axis=0) + 0.5)[columns] / number[columns]
        return np.asarray(xlogy(x, rate) - rate - gammaln(x + 1.0))
    mean = np.where(known, seen.values, 0.0).sum(axis=0) / number
    variance = np.where(known, (seen.values - mean) ** 2, 0.0).sum(axis=0) / number
    square = variance + mean**2
    least = _LEAST_SPREAD**2 * np.where(square > 0.0, square, 1.0)
    variance = np.where(variance > 0.0, variance, least)[columns]
    squares = (x - mean[columns]) ** 2 / variance
    return np.asarray(-0.5 * (np.log(2.0 * math.pi * variance) + squares))
