"""Density and features of new rows, z summed out and draws averaged.

Given draws s = 1..S of everything but the row, with p_s(x) and P_s(z_i = 1 | x) from
`row_posterior`,

    p(x) = mean_s p_s(x),     P(z_i = 1 | x) = sum_s w_s P_s(z_i = 1 | x),   w_s = p_s(x)/sum p(x):

draws that would have expected the row count for more. Where z cannot be enumerated every p_s(x) is
an unbiased estimate, and so is p(x); log p(x) has the standard error (sum_s (w_s e_s)^2)^{1/2},
that of summing z out. That there are finitely many draws is not part of it. Errors of different
draws average out, so that a draw among many has fewer particles than one that stands alone.

A row of the unrestricted buffet has each known feature by a coin of its own; features that no row
of the fit had are left out.

Rows are independent given the draws: blocks of them are weighed on any number of threads, a draw at
a time. With W_s = p_1 + ... + p_s, whatever is averaged goes on as m_s = m_{s-1} W_{s-1}/W_s +
(p_s/W_s) (that of draw s), so that memory does not grow with the number of draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ribp.blocks import in_order, shares
from ribp.checks import FloatArray, IntArray
from ribp.entries import BINARY, EntryLaw
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.row_sweeps import RowPrior, needs_whole_rows
from ribp.posterior.draws import Draws
from ribp.posterior.row_posterior import RowPosterior, row_posterior

_PARTICLES = 1600  # of all draws together: one in 40 of the spread of a weight is left
_LEAST, _MOST = 16, 64  # of a draw: fewer say little of their own error


def _shared(n_draws: int) -> int:
    """Return the particles of each of so many draws that are averaged."""
    return min(max(-(-_PARTICLES // n_draws), _LEAST), _MOST)


class NewRows(NamedTuple):
    """Rows given all draws."""

    log_density: FloatArray
    """log p(x_n) over observed entries, shape (rows,)."""
    standard_error: FloatArray
    """Of the log density, for the sum over z; 0 where it is exact. Shape (rows,)."""
    probs: FloatArray
    """P(z_ni = 1 | x_n), shape (rows, features)."""
    sizes: FloatArray
    """E[z_ni s_ni | x_n] if entries have sizes, `probs` if they are binary; (rows, features)."""


class _GivenDraw(NamedTuple):
    """What one draw says before a row is seen; features that do not exist in it are off."""

    exists: BoolArray
    parameters: Any
    """In standard units."""
    prior: RowPrior


@dataclass(frozen=True, eq=False)
class RowWeigher:
    """From rows to their density and features, given draws; it can be sent to another machine.

    An answer does not depend on the rows beside it.
    """

    likelihood: Any
    draws: list[_GivenDraw]
    options: dict[str, Any]
    """As in `row_posterior`; particles are shared out among draws unless their number is given."""

    @classmethod
    def of_draws(
        cls,
        draws: Draws,
        likelihood: Any,
        count_log_probs: FloatArray | None = None,
        **options: Any,
    ) -> RowWeigher:
        """Return what some draws say of rows; arguments as in `weigh_rows`."""
        laws = draws.count_log_probs if count_log_probs is None else count_log_probs
        laws = np.broadcast_to(laws, (len(draws.parameters), *laws.shape[-2:]))
        each, given = np.arange(laws.shape[1]), []
        for s, table in enumerate(laws):
            exists, parameters, prior, _ = existing_features(
                draws, s, table, each, likelihood.entry_law
            )
            given.append(_GivenDraw(exists, likelihood.standardised(parameters), prior))
        return cls(likelihood, given, options)

    def __call__(self, data: Data, law_of_row: IntArray) -> NewRows:
        """Return density and features of some rows."""
        n_rows, n_features = len(data.values), self.draws[0].exists.size
        total, squares = np.full(n_rows, -np.inf), np.zeros(n_rows)
        probs, sizes = (np.zeros((n_rows, n_features)) for _ in range(2))
        shared = {"n_particles": _shared(len(self.draws)), **self.options}
        for given, one in zip(self.draws, self._each(data, law_of_row, shared), strict=True):
            before, total = total, np.logaddexp(total, one.log_density)
            top = np.where(np.isfinite(total), total, 0.0)
            stays, weight = np.exp(before - top), np.exp(one.log_density - top)
            squares = stays**2 * squares + np.square(weight * one.standard_error)
            for mean, new in ((probs, one.probs), (sizes, one.sizes)):
                mean *= stays[:, None]
                mean[:, given.exists] += np.where(weight[:, None] > 0, weight[:, None] * new, 0.0)
        return NewRows(
            total - np.log(len(self.draws)) - self.likelihood.row_log_volume(data),
            np.sqrt(squares),
            np.clip(probs, 0.0, 1.0),  # weights add up to one but for rounding
            sizes,
        )

    def log_densities(self, data: Data, law_of_row: IntArray) -> FloatArray:
        """Return log p_s(x_n), shape (draws, rows)."""
        by_draw = [one.log_density for one in self._each(data, law_of_row, self.options)]
        return np.asarray(np.array(by_draw) - self.likelihood.row_log_volume(data))

    def _each(
        self, data: Data, law_of_row: IntArray, options: dict[str, Any]
    ) -> Iterator[RowPosterior]:
        """Yield what each draw says of rows, about the features that it has."""
        data = self.likelihood.standard(data)
        for s, (_, parameters, prior) in enumerate(self.draws):
            laws = law_of_row if len(prior.tables) > 1 else np.zeros_like(law_of_row)
            yield row_posterior(
                data, self.likelihood, parameters, prior, laws, seed=np.uint64(s), **options
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
    weigher = RowWeigher.of_draws(draws, likelihood, count_log_probs, **options)
    parts = list(in_blocks(weigher, data, law_of_row, n_jobs))
    return NewRows(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def in_blocks(work: Any, data: Data, law_of_row: IntArray, n_jobs: int) -> Iterator[Any]:
    """Return what `work` makes of the data and laws of each block of rows, in their order."""
    blocks = [slice(*span) for span in shares(0, len(data.values), n_jobs)]
    return in_order(lambda at: work(data.rows(at), law_of_row[at]), n_jobs, blocks)


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
