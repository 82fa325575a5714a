"""Residuals of one draw, in units in which those of a right model are standard normal.

Gaussian data: e_nd = (x_nd - b_d - z_n A_d)/s_d. Others: e = Phi^{-1}(u), u uniform between
P(X < x) and P(X <= x) given the draw (randomised quantile residuals; Dunn and Smyth 1996).
Parameters and rows of a posterior draw have, over data from the model, the law of those that made
the data. So e is a sample of independent standard normal numbers, exactly: nothing is lost to
fitting, since a draw, unlike an estimate, keeps its own uncertainty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods import Data, Likelihood
from ribp.likelihoods.data import BoolArray
from ribp.posterior.draws import Draws

_FEW = 4  # observed entries below which a column tells nothing of its spread


class CheckedColumns(NamedTuple):
    """The part of the data that can be checked: columns that vary."""

    values: FloatArray
    """Shape (rows, columns); zero where missing."""
    observed: BoolArray
    """Shape (rows, columns)."""
    columns: BoolArray
    """Which columns of the data these are, shape (dims,)."""


def checked_columns(data: Data) -> CheckedColumns:
    """Return the columns with at least four observed entries that are not all the same."""
    observed = np.ones(data.values.shape, bool) if data.complete else data.observed
    low = np.where(observed, data.values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(observed, data.values, -np.inf).max(axis=0, initial=-np.inf)
    columns = (observed.sum(axis=0) >= _FEW) & (high > low)
    return CheckedColumns(data.values[:, columns], observed[:, columns], columns)


def residuals(
    rng: np.random.Generator, draws: Draws, s: int, likelihood: Likelihood[Any], at: CheckedColumns
) -> FloatArray:
    """Return e of draw s, shape (rows, columns); zero where missing."""
    law, parameters = likelihood.on_columns(draws.parameters[s], at.columns)
    means = draws.means(s, law, parameters)
    return np.where(at.observed, law.residuals(rng, at.values, means, parameters), 0.0)
