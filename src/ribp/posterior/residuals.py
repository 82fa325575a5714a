"""What one draw leaves over of the data, in units in which a model that is right leaves noise.

Gaussian data: e_nd = (x_nd - b_d - z_n A_d)/s_d. Counts: e = Phi^{-1}(u), u uniform between
P(X < x) and P(X <= x) at the rate of the draw (randomised quantile residuals; Dunn and Smyth 1996).
Parameters and rows of a posterior draw have, over data from the model, the law of those that made
the data. So e is a sample of independent standard normal numbers, exactly: nothing is lost to
fitting, since a draw, unlike an estimate, keeps its own uncertainty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, pdtr, pdtrc

from ribp.checks import FloatArray
from ribp.likelihoods import Data, Likelihood, LinearGaussian
from ribp.likelihoods.base import BoolArray
from ribp.posterior.draws import Draws

__all__ = ["Seen", "residuals", "seen"]

_LEAST = 1e-300  # of a probability
_FEW = 4  # observed entries below which a column tells nothing of its spread


class Seen(NamedTuple):
    """The part of the data that can be checked: columns that vary."""

    values: FloatArray
    """Shape (rows, columns); zero where missing."""
    observed: BoolArray
    """Shape (rows, columns)."""
    columns: BoolArray
    """Which columns of the data these are, shape (dims,)."""


def seen(data: Data) -> Seen:
    """Return the columns with at least four observed entries that are not all the same."""
    observed = np.ones(data.values.shape, bool) if data.complete else data.observed
    low = np.where(observed, data.values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(observed, data.values, -np.inf).max(axis=0, initial=-np.inf)
    columns = (observed.sum(axis=0) >= _FEW) & (high > low)
    return Seen(data.values[:, columns], observed[:, columns], columns)


def residuals(
    rng: np.random.Generator, draws: Draws, s: int, likelihood: Likelihood[Any], at: Seen
) -> FloatArray:
    """Return e of draw s, shape (rows, columns); zero where missing."""
    given = draws.parameters[s]
    means = draws.unpacked(s).astype(np.float64) @ given.features + given.background
    means = means[:, at.columns]
    if isinstance(likelihood, LinearGaussian):
        left = (at.values - means) / given.noise_scale[at.columns]
    else:
        left = _normal_scores(rng, at.values, means)
    return np.where(at.observed, left, 0.0)


def _normal_scores(rng: np.random.Generator, x: FloatArray, rate: FloatArray) -> FloatArray:
    """Return randomised quantile residuals of Poisson counts, precise in both tails."""
    share = rng.random(x.shape)
    below = np.where(x > 0, pdtr(x - 1.0, rate), 0.0)
    above = pdtrc(x, rate)
    at = np.maximum(1.0 - below - above, 0.0)  # P(X = x)
    low = np.maximum(below + share * at, _LEAST)
    high = np.maximum(above + (1.0 - share) * at, _LEAST)
    return np.asarray(np.where(low < high, ndtri(low), -ndtri(high)))
