"""What is strange about the columns of data, before anything is fitted.

    absurd-cell        an entry further from the median of its column than a million times the
                       column's interquartile range: a code for "missing" such as -9999, or a slip
    constant-column    the largest and the smallest entry differ by less than 1e-10 of their size,
                       or by less than 1e-150
    missing-column     nothing was observed of the column
    nothing-observed   nothing was observed at all
    far-from-zero      the mean of a column is more than ten times its spread, and there is no
                       background
    rare-counts        whole numbers that are mostly zero in half of the columns, or more, where
                       every column has Gaussian noise of its own: on words of news, diagnoses and
                       rare yes or no that found fewer true features than any other choice

A column of which half or more of the entries are equal, such as sparse counts, has an interquartile
range of zero and thus no absurd entries. Quartiles are those of at most 10 000 rows, evenly spaced;
everything else is of all rows, seen by the first look.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ribp.checks import FloatArray, cell_place, column_place
from ribp.errors import Notice
from ribp.likelihoods.data import BoolArray
from ribp.likelihoods.units import LEAST_SPREAD
from ribp.rows.store import FirstLook, RowStore

ABSURD = 1e6
"""Times the interquartile range, from the median."""
FAR = 10.0
"""Times the spread, from zero."""
RARE = 0.25
"""A mean of whole numbers, so that at least three in four are zero."""
_FLAT = 1e-10
_SAMPLE = 10_000
_ROWS = 2**14
_SHOWN = 3


def column_notices(
    store: RowStore,
    dim_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
) -> list[Notice]:
    """Return what is strange about columns, at most one notice a code.

    Parameters
    ----------
    store
        The data, in the units of the user.
    dim_names, row_names
        What to call columns and rows; numbers from 0 if there are none.
    """
    look = store.look()
    number = look.moments.number
    if not number.any():
        return [
            Notice(
                "nothing-observed",
                "No entry of X was observed: the result follows from the prior alone. "
                "Check how missing entries are coded.",
            )
        ]
    cells, more = _absurd_cells(store, look)
    notices = []
    if cells:
        places = [
            f"{value:g} in {cell_place(row, column, row_names, dim_names)}"
            for row, column, value in cells
        ]
        notices.append(
            Notice(
                "absurd-cell",
                f"X has {_listed(places, more)}: more than {ABSURD:,.0f} interquartile ranges of "
                "the column away from its median. Use NaN if it stands for a missing entry; "
                "otherwise correct it, or take logarithms of the column.",
            )
        )
    return [*notices, *_empty_columns(_constant(look), number == 0, dim_names)]


def offset_notices(means: FloatArray, dim_names: Sequence[str] | None = None) -> list[Notice]:
    """Return a notice if columns are far from zero, for a model without a background.

    Parameters
    ----------
    means
        Of the columns, in units of their spreads.
    """
    at = np.flatnonzero(np.abs(means) > FAR).tolist()
    if not at:
        return []
    places = _listed([column_place(one, dim_names) for one in at[:_SHOWN]], len(at) - _SHOWN)
    text = f"X: the mean of {places} is more than {FAR:g} times its spread, without a background."
    return [Notice("far-from-zero", text)]


def rare_count_notices(look: FirstLook) -> list[Notice]:
    """Return a notice if data are counts of rare things, for Gaussian noise by column."""
    seen = look.moments.number > 0
    rare = seen & (look.moments.mean < RARE) & (look.high > 0.0)
    if look.not_a_count is not None or 2 * rare.sum() < max(int(seen.sum()), 1):
        return []
    flags = bool((look.high[seen] <= 1.0).all())
    held, law = ("zeros and ones", "binary") if flags else ("counts", "poisson")
    text = (
        f"X holds {held}, and {rare.sum()} of {rare.size} columns are zero in at least three rows "
        "of four: noise of its own for every column makes features of rare entries. "
        f'Try RestrictedIBP("gibbs-rows", likelihood="{law}"), or noise="shared".'
    )
    return [Notice("rare-counts", text)]


def _empty_columns(
    constant: BoolArray, missing: BoolArray, dim_names: Sequence[str] | None
) -> list[Notice]:
    """Return notices of columns that say nothing."""
    notices = []
    for code, which, words in (
        ("constant-column", constant, "is the same in all rows, or nearly"),
        ("missing-column", missing, "was never observed"),
    ):
        at = np.flatnonzero(which).tolist()
        if at:
            names = [column_place(column, dim_names) for column in at[:_SHOWN]]
            text = f"{_listed(names, len(at) - len(names))} {words}, and says nothing of features."
            notices.append(Notice(code, f"X: {text} Leave such columns out."))
    return notices


def _constant(look: FirstLook) -> BoolArray:
    """Return which columns are constant, or nearly, among at least two entries."""
    several = look.moments.number > 1
    low, high = np.where(several, look.low, 0.0), np.where(several, look.high, 1.0)
    size = np.maximum(np.abs(low), np.abs(high))
    return several & (high - low <= np.maximum(_FLAT * size, LEAST_SPREAD))


def _absurd_cells(store: RowStore, look: FirstLook) -> tuple[list[tuple[int, int, float]], int]:
    """Return the first few cells that are absurd beside their columns, and how many more are."""
    low, high = _limits(store)
    at = np.flatnonzero((look.low < low) | (look.high > high))
    cells: list[tuple[int, int, float]] = []
    total, n_rows = 0, store.shape[0]
    for start in range(0, n_rows, _ROWS) if at.size else ():
        data = store.take(np.arange(start, min(start + _ROWS, n_rows)))
        some = data.values[:, at]
        wrong = (some < low[at]) | (some > high[at])
        found = np.argwhere(wrong if data.complete else wrong & data.observed[:, at])
        total += len(found)
        first = found[: _SHOWN - len(cells)].tolist()
        cells += [(start + n, int(at[d]), float(some[n, d])) for n, d in first]
    return cells, total - len(cells)


def _limits(store: RowStore) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest entry of each column that are not absurd."""
    n_rows, dims = store.shape
    some = store.take(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.int64))
    low, high = np.full(dims, -np.inf), np.full(dims, np.inf)
    for column in range(dims):
        values = some.values[:, column]
        values = values if some.complete else values[some.observed[:, column]]
        if values.size:
            first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
            if third > first:
                low[column] = middle - ABSURD * (third - first)
                high[column] = middle + ABSURD * (third - first)
    return low, high


def _listed(words: Sequence[str], more: int) -> str:
    """Return the first few of some things, and how many more there are."""
    return "; ".join(words) + (f"; and {more} more" if more > 0 else "")
