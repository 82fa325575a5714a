"""Density and features of new rows, z summed out and draws averaged.

Given draws s = 1..S of everything but the row, with p_s(x) and P_s(z_i = 1 | x) from
`row_posterior`,

    p(x) = mean_s p_s(x),     P(z_i = 1 | x) = sum_s w_s P_s(z_i = 1 | x),   w_s = p_s(x)/sum p(x):

draws that would have expected the row count for more. Where z cannot be enumerated every p_s(x) is
an unbiased estimate, and so is p(x); log p(x) has the standard error (sum_s (w_s e_s)^2)^{1/2},
that of summing z out. That there are finitely many draws is not part of it.

A row of the unrestricted buffet has each known feature by a coin of its own; features that no row
of the fit had are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.entries import BINARY, EntryLaw
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.row_sweeps import RowPrior, needs_whole_rows
from ribp.posterior.draws import Draws
from ribp.posterior.row_posterior import RowPosterior, row_posterior


class NewRows(NamedTuple):
    """Rows given all draws."""

    log_density: FloatArray
    """log p(x_n) over observed entries, shape (rows,)."""
    standard_error: FloatArray
    """Of the log density, for the sum over z; 0 where it is exact. Shape (rows,)."""
    probs: FloatArray
    """P(z_ni = 1 | x_n), shape (rows, features)."""
    by_draw: FloatArray
    """log p_s(x_n), shape (draws, rows)."""
    sizes: FloatArray
    """E[z_ni s_ni | x_n] if entries have sizes, `probs` if they are binary; (rows, features)."""


def joined(parts: Sequence[NewRows]) -> NewRows:
    """Return rows that were weighed in parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    each = zip(*parts, strict=True)
    density, error, probs, by_draw, sizes = (list(one) for one in each)
    return NewRows(
        np.concatenate(density),
        np.concatenate(error),
        np.concatenate(probs),
        np.concatenate(by_draw, axis=1),
        np.concatenate(sizes),
    )


def weigh_rows(
    draws: Draws,
    likelihood: Any,
    data: Data,
    law_of_row: IntArray,
    count_log_probs: FloatArray | None = None,
    *,
    n_jobs: int = 1,
    **options: Any,
) -> NewRows:
    """Return density and features of rows.

    Parameters
    ----------
    draws, likelihood
        Of the fit.
    data
        The rows.
    law_of_row
        The count law of each row.
    count_log_probs
        log f of these laws, shape (laws, features + 1) or (draws, laws, features + 1); None for
        the laws of the fit.
    n_jobs
        Threads; the answer does not depend on them.
    **options
        As in `row_posterior`.
    """
    laws = draws.count_log_probs if count_log_probs is None else count_log_probs
    laws = np.broadcast_to(laws, (len(draws.parameters), *laws.shape[-2:]))
    volume, data = likelihood.row_log_volume(data), likelihood.standard(data)

    def given_draw(s: int) -> RowPosterior:
        return _given_draw(draws, s, laws[s], likelihood, data, law_of_row, options)

    with ThreadPoolExecutor(n_jobs) as pool:
        by_draws = list(pool.map(given_draw, range(len(draws.parameters))))
    by_draw = np.array([one.log_density for one in by_draws])
    log_density = reduce(np.logaddexp, by_draw)  # NumPy's sums depend on the number of rows
    weights = np.exp(by_draw - np.where(np.isfinite(log_density), log_density, 0.0))
    errors = np.array([one.standard_error for one in by_draws])
    probs, sizes = (np.zeros((len(law_of_row), draws.log_odds.shape[1])) for _ in range(2))
    for one, weight in zip(by_draws, weights, strict=True):
        probs += np.where(weight[:, None] > 0, weight[:, None] * one.probs, 0.0)
        sizes += np.where(weight[:, None] > 0, weight[:, None] * one.sizes, 0.0)
    return NewRows(
        log_density - np.log(len(by_draws)) - volume,
        np.sqrt(reduce(np.add, np.square(weights * errors))),
        np.clip(probs, 0.0, 1.0),  # weights add up to one but for rounding
        by_draw - volume,
        sizes,
    )


def _given_draw(
    draws: Draws,
    s: int,
    laws: FloatArray,
    likelihood: Any,
    data: Data,
    law_of_row: IntArray,
    options: dict[str, Any],
) -> RowPosterior:
    """Return the rows given one draw; features that do not exist in it are off."""
    law = likelihood.entry_law
    exists, parameters, prior, law_of_row = existing_features(draws, s, laws, law_of_row, law)
    parameters = likelihood.standardised(parameters)
    one = row_posterior(
        data, likelihood, parameters, prior, law_of_row, seed=np.uint64(s), **options
    )
    probs, sizes = (np.zeros((len(law_of_row), exists.size)) for _ in range(2))
    probs[:, exists], sizes[:, exists] = one.probs, one.sizes
    return one._replace(probs=probs, sizes=sizes)


def existing_features(
    draws: Draws, s: int, laws: FloatArray, law_of_row: IntArray, law: EntryLaw
) -> tuple[BoolArray, Any, RowPrior, IntArray]:
    """Return which features exist in draw s, its parameters and row prior with only these.

    Parameters
    ----------
    draws, s
        All draws, and which one.
    laws
        log f of each count law, shape (laws, counts); entries are independent without any.
    law_of_row
        The law of each row, which is also returned: that of the prior.
    law
        Of entries.
    """
    exists, parameters = np.isfinite(draws.log_odds[s]), draws.parameters[s]
    parameters = parameters._replace(features=np.ascontiguousarray(parameters.features[exists]))
    return exists, parameters, *row_prior(draws.log_odds[s][exists], laws, law_of_row, law)


def row_prior(
    log_odds: FloatArray, laws: FloatArray, law_of_row: IntArray, law: EntryLaw = BINARY
) -> tuple[RowPrior, IntArray]:
    """Return the prior of rows given weights and log f of each law, and the law of each.

    Entries are independent if there is no law.
    """
    if len(laws):
        tables = law.tables(laws, log_odds)
    else:
        tables = np.full((1, log_odds.size + 1), -np.logaddexp(0.0, log_odds).sum())
        law_of_row = np.zeros_like(law_of_row)
    sizes = np.bincount(law_of_row, minlength=len(tables))
    return RowPrior(log_odds, tables, needs_whole_rows(tables), sizes), law_of_row
