r"""The gain of features: the log density of an entry given all others, beside columns alone.

A tenth of the entries of each row, at least one, is left out afterwards, draw by draw. With rows z,
features A and noise s of draw t from the posterior given everything, and z' drawn given A, s and
the entries of its row that are left,

    p(x_nd | others) = sum_t w_t p(x_nd | z'_t, A_t, s_t) / sum_t w_t,   w_t = 1/p(x_nd | z_t, A_t, s_t):

the weights take the entry out of A and s (importance sampling, mild since an entry is one of many
that made them), and z' does not depend on it: it comes from Gibbs steps (`redrawn_rows`).

Beside it stands a law of each column by itself, given all other entries of the column: Student's
law, which is that of a normal column whose mean and spread are unknown; for counts the negative
binomial law, of a Poisson column whose rate is unknown. The gain is the mean difference per entry,
its standard error that over rows.
"""  # noqa: E501

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Data, Likelihood, exposures
from ribp.likelihoods.data import BoolArray, Rows
from ribp.posterior.draws import Draws
from ribp.posterior.held_out import Score
from ribp.posterior.new_rows import existing_features
from ribp.posterior.residuals import CheckedColumns, checked_columns
from ribp.rng import kernel_seed

_SHARE = 0.1


def gain_of(differences: FloatArray, rows: IntArray) -> Score:
    """Return the mean over entries and its standard error over the rows they are of."""
    n = differences.size
    mean = float(differences.mean()) if n else math.nan
    left = np.bincount(rows, differences - mean)
    number = np.unique(rows).size
    if number < 2:
        return Score(n, mean, math.nan)
    return Score(n, mean, math.sqrt(float(left @ left) * number / (number - 1)) / n)


def gain(
    rng: np.random.Generator,
    draws: Draws,
    likelihood: Likelihood[Any],
    data: Data,
    law_of_row: IntArray,
) -> Score:
    """Return the gain of features in entries that are left out.

    Parameters
    ----------
    rng, draws, likelihood, data
        Draws with the rows of these data.
    law_of_row
        The count law of each row.
    """
    at = checked_columns(data)
    chosen = _chosen(rng, at.observed)
    law, _ = likelihood.on_columns(draws.parameters[0], at.columns)
    alone = law.left_out_log_density(Data(at.values, at.observed, draws.mean_exposures))
    scored = chosen & np.isfinite(alone)
    left_out = np.zeros(data.values.shape, bool)
    left_out[:, at.columns] = chosen
    shown = (np.ones(data.values.shape, bool) if data.complete else data.observed) & ~left_out
    rest = data._replace(values=np.where(shown, data.values, 0.0), observed=shown)
    above, below = (np.full(np.count_nonzero(scored), -np.inf) for _ in range(2))
    for s in range(len(draws.parameters)):
        fresh = redrawn_rows(rng, draws, s, likelihood, rest, law_of_row)
        given, old = draws.parameters[s], draws.own_exposures(s)
        new = old
        if likelihood.exposure == "learn":
            loadings = np.ascontiguousarray(given.features.T)
            new = exposures.drawn(kernel_seed(rng), 0, 0, rest, fresh, loadings, given.background)
        inside = _log_density(draws.entries(s), old, given, likelihood, at)[scored]
        outside = _log_density(fresh, new, given, likelihood, at)[scored]
        above, below = np.logaddexp(above, outside - inside), np.logaddexp(below, -inside)
    return gain_of(above - below - alone[scored], np.nonzero(scored)[0])


def _chosen(rng: np.random.Generator, observed: BoolArray) -> BoolArray:
    """Choose a tenth of the observed entries of each row, at least one."""
    order = np.where(observed, rng.random(observed.shape), np.inf).argsort(axis=1).argsort(axis=1)
    number = np.maximum(np.rint(_SHARE * observed.sum(axis=1)), 1.0)
    return np.asarray(observed & (order < number[:, None]))


def _log_density(
    rows: Rows,
    own: FloatArray | None,
    parameters: Any,
    likelihood: Likelihood[Any],
    at: CheckedColumns,
) -> FloatArray:
    """Return the log density of each entry of rows, which may have exposures of their own."""
    law, of_columns = likelihood.on_columns(parameters, at.columns)
    means = law.means(rows, of_columns)
    return law.log_density(at.values, law.exposed(means, own), of_columns)


def redrawn_rows(
    rng: np.random.Generator,
    draws: Draws,
    s: int,
    likelihood: Likelihood[Any],
    data: Data,
    law_of_row: IntArray,
) -> Rows:
    """Return rows drawn given data and draw s of everything else, shape (rows, features)."""
    exists, parameters, prior, law_of_row = existing_features(
        draws, s, draws.count_log_probs[s], law_of_row, likelihood.entry_law
    )
    rows = np.ascontiguousarray(draws.entries(s)[:, exists])
    drawn = np.zeros((len(rows), exists.size), rows.dtype)
    drawn[:, exists] = likelihood.redrawn(rng, data, rows, parameters, prior, law_of_row)
    return drawn
