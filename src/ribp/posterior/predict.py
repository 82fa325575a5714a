"""Predictions of a posterior: decoded rows, replicates, new rows, missing entries.

Draw s has rows Z_s, features A_s, a background b_s and, for Gaussian data, a noise. With
M_s = b_s + Z_s A_s an entry has the mean M_s and the variance V_s (noise^2, or M_s for counts), so

    E[x] = mean_s M_s,     Var[x] = mean_s V_s + var_s M_s,     p(x) = mean_s p(x | M_s, V_s).

The last one scores entries that were hidden from a fit: the rows of the draws were drawn given the
other entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.entries import EntryLaw
from ribp.errors import InputError
from ribp.likelihoods import Data, Likelihood
from ribp.likelihoods.data import BoolArray, Rows
from ribp.posterior.draws import Draws


def decode(probs: ArrayLike, log_probs: FloatArray, law_of_row: IntArray) -> Rows:
    """Return 0/1 rows that obey their count laws and are right in most entries, on average.

    The expected number of right entries, up to a constant, is sum_i z_i (2 p_i - 1): with k ones it
    is largest for the k largest p_i. Among equals the first features, and the fewest, are taken.

    Parameters
    ----------
    probs
        P(active), shape (rows, features).
    log_probs
        log f of each count law, shape (laws, features + 1); only where it is finite matters.
    law_of_row
        The law of each row.
    """
    p = np.asarray(probs, dtype=np.float64)
    order = np.argsort(-p, axis=1, kind="stable")
    gains = np.zeros((p.shape[0], p.shape[1] + 1))
    np.cumsum(2.0 * np.take_along_axis(p, order, axis=1) - 1.0, axis=1, out=gains[:, 1:])
    counts = np.where(np.isfinite(log_probs)[law_of_row], gains, -np.inf).argmax(axis=1)
    rows = np.zeros(p.shape, np.int8)
    np.put_along_axis(rows, order, np.arange(p.shape[1]) < counts[:, None], axis=1)
    return rows


def decode_counts(
    means: ArrayLike, log_probs: FloatArray, law_of_row: IntArray, *, by_sum: bool
) -> IntArray:
    """Return rows of counts that obey their count laws and have the least expected squared error.

    With m = E[z] that is sum (y_i - m_i)^2 but for a constant. Where the sum is restricted unit
    v + 1 of feature i gains 2 (m_i - v) - 1, less than unit v: the J best units are the best row of
    sum J. Where the non-zeros are, feature i has the value v next to m_i, at least 1, and gains
    v (2 m_i - v). For binary rows both are `decode`.

    Parameters
    ----------
    means
        E[z], shape (rows, features).
    log_probs
        log f of each count law, shape (laws, counts); only where it is finite matters.
    law_of_row
        The law of each row.
    by_sum
        Whether count laws are about sums, or numbers of non-zeros.
    """
    m = np.asarray(means, dtype=np.float64)
    if by_sum:
        units = np.arange(log_probs.shape[1] - 1)
        gains = (2.0 * (m[:, :, None] - units) - 1.0).reshape(len(m), -1)
        values = np.ones(gains.shape, np.int64)
    else:
        values = np.maximum(np.rint(m), 1.0).astype(np.int64)
        gains = values * (2.0 * m - values)
    order = np.argsort(-gains, axis=1, kind="stable")[:, : log_probs.shape[1] - 1]
    totals = np.zeros((len(m), log_probs.shape[1]))
    np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1, out=totals[:, 1:])
    counts = np.where(np.isfinite(log_probs)[law_of_row], totals, -np.inf).argmax(axis=1)
    taken = np.zeros(gains.shape, np.int64)
    np.put_along_axis(taken, order, np.arange(order.shape[1]) < counts[:, None], axis=1)
    return np.asarray((taken * values).reshape(*m.shape, -1).sum(axis=2))


def posterior_predictive(
    rng: np.random.Generator, draws: Draws, likelihood: Likelihood[Any], n_draws: int = 100
) -> FloatArray:
    """Return replicated data of the same rows, shape (n_draws, rows, dims).

    Each is made from one draw; these are evenly spaced, and repeated if there are too few.
    """
    at = np.arange(checks.integer("n_draws", n_draws)) * len(draws.rows) // max(n_draws, 1)
    data = np.empty((at.size, draws.rows.shape[1], likelihood.n_dims(draws.parameters[0])))
    for into, s in zip(data, at.tolist(), strict=True):
        own = draws.own_exposures(s)
        into[:] = _drawn(rng, likelihood, draws.entries(s), draws.parameters[s], own)
    return data


def _drawn(
    rng: np.random.Generator,
    likelihood: Any,
    rows: Rows,
    parameters: Any,
    own: FloatArray | None,
) -> FloatArray:
    """Draw data of rows, which may have exposures of their own."""
    exposures = () if own is None else (own,)
    return np.asarray(likelihood.draw_data(rng, rows, parameters, *exposures))


def new_rows(
    rng: np.random.Generator,
    draws: Draws,
    likelihood: Likelihood[Any],
    law_of_row: ArrayLike,
    exposures: FloatArray | None = None,
) -> tuple[Rows, FloatArray]:
    """Return new rows, and their data.

    Each comes from a draw of its own, taken at random. The features are those that the draws know:
    new dishes of an unrestricted buffet are left out.

    Parameters
    ----------
    rng
    draws
    likelihood
    law_of_row
        The count law of each new row, as its position among the laws of the result; for a
        buffet, which has none, only their number matters.
    exposures
        Of each new row, where the fit was given exposures.
    """
    laws = checks.integers("law_of_row", law_of_row)
    n_laws, features = draws.count_log_probs.shape[1], draws.log_odds.shape[1]
    if n_laws and laws.size and laws.max() >= n_laws:
        raise InputError(
            "law_of_row", f"must be below {n_laws}", laws.max(), "Name a law of the fit."
        )
    rows = np.zeros((laws.size, features), np.float64 if likelihood.entry_law.counts else np.int8)
    data = np.empty((laws.size, likelihood.n_dims(draws.parameters[0])))
    source = rng.integers(len(draws.rows), size=laws.size)
    for s in np.unique(source).tolist():
        at = np.flatnonzero(source == s)
        rows[at] = _fresh(rng, draws, s, laws[at], likelihood.entry_law)
        sized = likelihood.draw_sizes(rng, rows[at], draws.parameters[s])
        own = None if exposures is None else exposures[at]
        data[at] = _drawn(rng, likelihood, sized, draws.parameters[s], own)
    return rows, data


def _fresh(
    rng: np.random.Generator, draws: Draws, s: int, laws: IntArray, entries: EntryLaw
) -> Rows:
    """Draw rows given the weights and count laws of one draw."""
    log_odds, tables = draws.log_odds[s], draws.count_log_probs[s]
    if len(tables) == 0:
        coins = rng.random((laws.size, log_odds.size)) < expit(log_odds)
        return np.asarray(coins, dtype=np.int8)
    cumulative = np.cumsum(np.exp(tables), axis=1)
    uniform = rng.random(laws.size) * cumulative[laws, -1]
    counts = (cumulative[laws] <= uniform[:, None]).sum(axis=1)
    rows: Rows = entries.draw_rows(rng, log_odds, counts)
    return rows


def impute(draws: Draws, likelihood: Likelihood[Any], data: Data) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of all entries, shape (rows, dims) each.

    Of levels the most probable one, and the probability of all others. Entries that were observed
    are what they are, with a standard deviation of zero.
    """
    pairs = (
        (draws.means(at, likelihood), parameters) for at, parameters in enumerate(draws.parameters)
    )
    centre, spread = likelihood.summarised(pairs, data.shape)
    missing = ~data.observed if data.observed.size else np.zeros(data.values.shape, bool)
    return np.where(missing, centre, data.values), np.where(missing, spread, 0.0)


def fitted(draws: Draws, likelihood: Likelihood[Any], rows: IntArray) -> FloatArray:
    """Return mean_s M_s of some rows, what their features make, shape (rows, dims)."""
    some, total = draws.on_rows(rows), np.zeros((rows.size, likelihood.n_dims(draws.parameters[0])))
    for at, parameters in enumerate(draws.parameters):
        means = some.means(at, likelihood)
        total += likelihood.expectations(means, parameters)
    return total / len(draws.parameters)


def held_out_entries(
    draws: Draws, likelihood: Likelihood[Any], values: FloatArray, mask: BoolArray
) -> FloatArray:
    """Return the log density of entries that were missing in the fit, each by itself.

    Parameters
    ----------
    draws
    likelihood
    values
        Their true values, shape (rows, dims); others are not looked at.
    mask
        Which entries, shape (rows, dims).

    Returns
    -------
    Shape (entries,), in the order of ``values[mask]``.
    """
    total = np.full(np.count_nonzero(mask), -np.inf)
    for at, parameters in enumerate(draws.parameters):
        means = draws.means(at, likelihood)
        density = likelihood.log_density(np.where(mask, values, 0.0), means, parameters)
        np.logaddexp(total, density[mask], out=total)
    return np.asarray(total - math.log(len(draws.rows)))
