"""The count laws of new rows.

A learned law of the fit is its posterior; another one is what it says (its
prior mean, if it is to be learned). Without any the rows have the law of the fit; where rows of the
fit had different laws, the average over its rows, and a warning says so. A row whose count is
missing among others that are known has the learned law of the fit, or that average.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, Learned, RowCounts, as_row_counts, fill, mixture
from ribp.counts.tables import mean_log_probs
from ribp.entries import BINARY, EntryLaw
from ribp.errors import FitWarning, InputError
from ribp.posterior.draws import Draws

Counts = CountLaw | RowCounts | str | ArrayLike | None


def laws_of_rows(
    fitted: RowCounts | None,
    draws: Draws,
    counts: Counts,
    n_rows: int,
    entries: EntryLaw = BINARY,
) -> tuple[FloatArray, IntArray]:
    """Return log f of laws, shape (draws, laws, counts), and which of them each row has.

    Parameters
    ----------
    fitted
        The count laws of the fit; None for a buffet, whose rows have none.
    draws
        Of the fit.
    counts
        The count laws of the rows, or None.
    n_rows
        How many rows there are.
    entries
        The law of entries.
    """
    same = np.zeros(n_rows, np.int64)
    if fitted is None:
        if counts is not None:
            raise InputError(
                "counts", "must be None for an unrestricted buffet", counts, "Leave it out."
            )
        return draws.count_log_probs, same
    if counts is None:
        return _average(fitted, draws), same
    if not isinstance(counts, CountLaw | RowCounts | str):
        counts = fill(counts, law_of_missing(fitted))
    asked = as_row_counts(counts, n_rows)
    tables = [_table(law, fitted, draws, entries) for law in asked.laws]
    return _stacked(tables) if tables else draws.count_log_probs[:, :0], asked.law_of_row


def law_of_missing(fitted: RowCounts) -> CountLaw:
    """Return the law of a new row whose count is missing: what the fit has learned of others."""
    learned = [at for at, law in enumerate(fitted.laws) if isinstance(law, Learned)]
    sizes = np.bincount(fitted.law_of_row, minlength=len(fitted.laws))
    if learned:
        return fitted.laws[max(learned, key=lambda at: int(sizes[at]))]
    shares = zip((sizes / len(fitted)).tolist(), fitted.laws, strict=True)
    return fitted.laws[0] if len(fitted.laws) == 1 else mixture(list(shares))


def _average(fitted: RowCounts, draws: Draws) -> FloatArray:
    """Return the average law of the rows of the fit, shape (draws, 1, features + 1)."""
    shares = np.bincount(fitted.law_of_row, minlength=len(fitted.laws)) / len(fitted)
    if shares.size > 1:
        warnings.warn(
            f"Rows of the fit had {shares.size} different count laws: new rows get their average. "
            "Pass counts= to say what is known of them.",
            FitWarning,
            stacklevel=4,
        )
    weighted: Any = logsumexp(draws.count_log_probs, axis=1, b=shares[:, None], keepdims=True)
    return np.asarray(weighted)


def _stacked(tables: list[FloatArray]) -> FloatArray:
    """Return tables of laws together; -inf beyond the end of each."""
    most = max(one.shape[1] for one in tables)
    out = np.full((len(tables[0]), len(tables), most), -np.inf)
    for at, one in enumerate(tables):
        out[:, at, : one.shape[1]] = one
    return out


def _table(law: CountLaw, fitted: RowCounts, draws: Draws, entries: EntryLaw) -> FloatArray:
    """Return log f of one law, shape (draws, counts)."""
    if law in fitted.laws:
        return np.asarray(draws.count_log_probs[:, fitted.laws.index(law)])
    size = entries.most((law,), draws.log_odds.shape[1])
    if not np.isfinite(law.log_probs(size)).any():
        raise InputError(
            "counts",
            f"must be possible with the {size} features of the fit",
            law,
            "Change the law, or fit with more features.",
        )
    known = mean_log_probs(RowCounts((law,), np.zeros(1, np.int64)), size)[0]
    return np.broadcast_to(known, (len(draws.log_odds), known.size))
