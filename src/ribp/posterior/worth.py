r"""What features are worth: the log density of an entry given all others, beside columns alone.

A tenth of the entries of each row, at least one, is left out afterwards, draw by draw. With rows z,
features A and noise s of draw t from the posterior given everything, and z' drawn given A, s and
the entries of its row that are left,

    p(x_nd | others) = sum_t w_t p(x_nd | z'_t, A_t, s_t) / sum_t w_t,   w_t = 1/p(x_nd | z_t, A_t, s_t):

the weights take the entry out of A and s (importance sampling, mild since an entry is one of many
that made them), and z' has never seen it: it comes from Gibbs steps (`redrawn_rows`).

Beside it stands a law of each column by itself, given all other entries of the column: Student's
law, which is that of a normal column whose mean and spread are unknown; for counts the negative
binomial law, of a Poisson column whose rate is unknown. The gain is the mean difference per entry,
its standard error that over rows.
"""  # noqa: E501

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Data, Likelihood
from ribp.likelihoods.data import BoolArray, Rows
from ribp.posterior.draws import Draws
from ribp.posterior.redrawn_rows import redrawn_rows
from ribp.posterior.residuals import Seen, seen

__all__ = ["Gain", "gain", "gain_of"]

_SHARE = 0.1


class Gain(NamedTuple):
    """How much more likely entries are with features than without, on a log scale."""

    entries: int
    mean: float
    """Per entry."""
    standard_error: float


def gain_of(differences: FloatArray, rows: IntArray) -> Gain:
    """Return the mean over entries and its standard error over the rows they are of."""
    n = differences.size
    mean = float(differences.mean()) if n else math.nan
    left = np.bincount(rows, differences - mean)
    number = np.unique(rows).size
    if number < 2:
        return Gain(n, mean, math.nan)
    return Gain(n, mean, math.sqrt(float(left @ left) * number / (number - 1)) / n)


def gain(
    rng: np.random.Generator,
    draws: Draws,
    likelihood: Likelihood[Any],
    data: Data,
    which: IntArray,
) -> Gain:
    """Return what features are worth to entries that were left out.

    Parameters
    ----------
    rng, draws, likelihood, data
        Draws with the rows of these data.
    which
        The count law of each row.
    """
    at = seen(data)
    chosen = _chosen(rng, at.observed)
    alone = likelihood.left_out_log_density(at.values, at.observed)
    scored = chosen & np.isfinite(alone)
    left_out = np.zeros(data.values.shape, bool)
    left_out[:, at.columns] = chosen
    shown = (np.ones(data.values.shape, bool) if data.complete else data.observed) & ~left_out
    rest = Data(np.where(shown, data.values, 0.0), shown)
    above, below = (np.full(np.count_nonzero(scored), -np.inf) for _ in range(2))
    for s in range(len(draws.parameters)):
        fresh = redrawn_rows(rng, draws, s, likelihood, rest, which)
        inside = _log_density(draws.unpacked(s), draws.parameters[s], likelihood, at)[scored]
        outside = _log_density(fresh, draws.parameters[s], likelihood, at)[scored]
        above, below = np.logaddexp(above, outside - inside), np.logaddexp(below, -inside)
    return gain_of(above - below - alone[scored], np.nonzero(scored)[0])


def _chosen(rng: np.random.Generator, observed: BoolArray) -> BoolArray:
    """Choose a tenth of the observed entries of each row, at least one."""
    order = np.where(observed, rng.random(observed.shape), np.inf).argsort(axis=1).argsort(axis=1)
    number = np.maximum(np.rint(_SHARE * observed.sum(axis=1)), 1.0)
    return np.asarray(observed & (order < number[:, None]))


def _log_density(rows: Rows, parameters: Any, likelihood: Likelihood[Any], at: Seen) -> FloatArray:
    """Return the log density of each entry."""
    given = likelihood.on_columns(parameters, at.columns)
    return likelihood.log_density(at.values, likelihood.means(rows, given), given)
