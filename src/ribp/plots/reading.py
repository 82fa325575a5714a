"""What pictures show of a result, as arrays: means, quantiles and counts over stored draws.

Which features are shown, and what a spread is, `ribp.posterior.feature_spread` says. Means and
quantiles of a feature are over the draws in which some row has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.posterior.feature_spread import Spread, rare_places, spread, values_of
from ribp.posterior.stored_draws import array, stored_draws
from ribp.results import Result

SPREAD = "5% to 95% of draws"
_MOST_LAWS = 4
_INDEPENDENT = 0.99  # of bars lie in the band, if draws are independent


class CountShares(NamedTuple):
    """How many features rows of one law have."""

    law: str
    """The law in words; empty if there is none."""
    n_rows: int
    shares: Spread
    """The share of these rows with k features, shape (features + 1,)."""
    expected: FloatArray | None
    """What the law says, shape (features + 1,); None if there is none."""


# Features


def places(result: Result) -> IntArray:
    """Return the places of the features shown."""
    return result.shown_places


def rarely_used(result: Result) -> IntArray:
    """Return the places of features that some draws use, but less than half of them."""
    return rare_places(result.alignment, places(result))


def component(result: Result, place: int) -> Spread:
    """Return mean and spread of the component of a feature, shape (dims,) each.

    Where columns have kinds: of the change that it makes in probabilities, shape (events,) each.
    """
    effects = result.effects()
    if effects is not None:
        return spread(effects[int(np.flatnonzero(places(result) == place)[0])].change)
    return spread(values_of(result.tree, result.alignment, "components", place))


def weight(result: Result, place: int) -> Spread:
    """Return mean and spread of the weight of a feature, a probability."""
    theta = values_of(result.tree, result.alignment, "log_odds", place)
    return spread(result.model.likelihood.entry_law.probabilities(theta))


# Rows


class Selection(NamedTuple):
    """Rows in the order in which they are drawn."""

    rows: IntArray
    """Their indices."""
    probs: FloatArray
    """P(row has the feature), shape (rows, features)."""


def selection(result: Result, rows: ArrayLike | None) -> Selection:
    """Return some rows (all if None), sorted by their features for a picture."""
    n_rows = result.settings["n_rows"]
    at = np.arange(n_rows) if rows is None else checked_rows(rows, n_rows)
    probs = result.row_probs()[at]
    order = _row_order(probs)
    return Selection(at[order], probs[order])


def _row_order(probs: FloatArray) -> IntArray:
    """Return rows sorted: those that have feature 0 first, of them those with feature 1, and so on.

    A row has a feature here if that is more likely than not.
    """
    if probs.shape[1] == 0:
        return np.arange(len(probs))
    packed = np.packbits(probs > 0.5, axis=1)
    return np.lexsort((255 - packed.T)[::-1])


def checked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return indices of rows, at least one."""
    at = checks.integers("rows", rows)
    if at.ndim != 1 or at.size == 0 or at.max() >= n_rows:
        raise InputError(
            "rows", f"must be indices below {n_rows}, at least one", rows, "Correct them."
        )
    return at


# Counts


def count_shares(result: Result) -> list[CountShares]:
    """Return how many features rows have and should have, one entry a law.

    Rows of more than four different laws are taken together, and their laws averaged.
    """
    law_of_row = array(result.tree, "laws", "law_of_row").astype(np.int64)
    laws, expected = result.settings["laws"], result.count_probs()
    if len(laws) > _MOST_LAWS:
        weights = np.bincount(law_of_row, minlength=len(laws)) / law_of_row.size
        laws, expected = [f"average of {len(laws)} laws"], (weights @ expected)[None]
        law_of_row = np.zeros_like(law_of_row)
    if not laws:
        law_of_row = np.zeros(result.settings["n_rows"], np.int64)
    shares = _shares_by_draw(result, law_of_row, max(len(laws), 1))
    sizes = np.bincount(law_of_row)
    return [
        CountShares(
            laws[at] if laws else "",
            int(sizes[at]),
            spread(shares[:, at]),
            expected[at] if laws else None,
        )
        for at in range(shares.shape[1])
    ]


def _shares_by_draw(result: Result, group: IntArray, n_groups: int) -> FloatArray:
    """Return the share of rows with k features, or units, shape (draws, groups, counts)."""
    stored = stored_draws(result.tree)
    _, n_draws, _, features = stored.shape
    units = array(result.tree, "features", "sizes") if stored.entry_law.by_sum else None
    shape = (n_groups, features + 1 if units is None else result.count_probs().shape[1])
    shares = []
    for chain in result.alignment.chains:
        for draw in range(n_draws):
            packed = stored.rows[chain, draw]
            parts = np.bitwise_count(packed) if units is None else units[chain, draw]
            ones = parts.sum(axis=1, dtype=np.int64)
            number = np.bincount(group * shape[1] + ones, minlength=shape[0] * shape[1])
            shares.append(number.reshape(shape) / number.reshape(shape).sum(axis=1, keepdims=True))
    return np.array(shares)


def counted(result: Result) -> str:
    """Return what count laws are about, in a word."""
    return "units" if result.model.likelihood.entry_law.by_sum else "features"


# Chains


def rank_shares(rng: np.random.Generator, draws: FloatArray) -> Spread:
    """Return how the ranks of each chain's draws among all draws are spread.

    Parameters
    ----------
    rng
        Decides the order of equal draws, so that ranks are uniform also of whole numbers.
    draws
        Shape (chains, draws).

    Returns
    -------
    Shape (chains, bins): the number of ranks in each bin as a multiple of what is expected of
    chains that agree, and the ends of the band in which it then is 99 times in 100, if draws are
    independent: the number is hypergeometric.
    """
    chains, n = draws.shape
    total = draws.size
    bins = int(np.clip(n // 10, 2, 20))
    order = np.lexsort([rng.random(total), draws.ravel()])
    ranks = np.empty(total, np.int64)
    ranks[order] = np.arange(total)
    at = ranks.reshape(draws.shape) * bins // total
    counts = np.array([np.bincount(one, minlength=bins) for one in at])
    sizes = counts.sum(axis=0)
    expected = np.maximum(sizes / chains, 1e-300)
    low, high = np.array([_hypergeometric_band(total, int(size), n) for size in sizes]).T
    ends = (np.broadcast_to(end / expected, counts.shape) for end in (low, high))
    return Spread(counts / expected, *ends)


def _hypergeometric_band(total: int, size: int, n: int) -> tuple[int, int]:
    """Return the ends of the 99% band of how many of `size` special ones are among n of `total`."""

    def log_choices(of: Any, some: Any) -> Any:
        return gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(of - some + 1.0)

    k = np.arange(min(size, n) + 1)
    log_probs = log_choices(size, k) + log_choices(total - size, n - k) - log_choices(total, n)
    cumulative = np.cumsum(np.exp(log_probs))
    outside = (1 - _INDEPENDENT) / 2
    low, high = np.searchsorted(cumulative, [outside, 1 - outside])
    return int(low), int(high)
