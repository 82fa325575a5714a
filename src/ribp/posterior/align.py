"""One order of the features for all draws: features have no names, and draws permute them.

The features of each draw are matched to the places of a reference. A place has a mean activity
p_n, the share of draws in which row n has its feature; a feature with column z fits it by their
overlap (the Jaccard index where p is 0 or 1),

    sum_n min(z_n, p_n) / sum_n max(z_n, p_n) = z.p / (|z| + |p| - z.p),

and the Hungarian method maximises the sum over pairs that are matched. Ties are decided by the
distance of components. Features that no row has are nothing to be told apart: they take the places
that are left.

First pass: the reference begins as the draw of the highest log joint, in the chain of the highest
mean log joint, and takes in every draw that was matched, so that a feature which that one draw
lacks also finds a place. Second pass: the reference is the mean over the first one. Then places are
sorted by popularity, those never used last. Where draws differ in their number of features (an
unrestricted buffet) the missing ones are empty columns without components.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ribp.checks import FloatArray, IntArray
from ribp.kernels import overlap as kernel
from ribp.likelihoods.data import BoolArray, Rows, in_use
from ribp.posterior.stored_draws import StoredDraws, in_order

_TIE = 1e-6  # what the distance of components can add to an overlap
_AT_ONCE = 16  # draws that are unpacked
_SAME = 0.5  # overlap from which on two features are the same


class Alignment(NamedTuple):
    """The features of draws in one order, the most popular first."""

    chains: tuple[int, ...]
    """The chains that were aligned."""
    order: IntArray
    """Shape (chains, draws, features): which feature of the draw has each place."""
    activity: FloatArray
    """Shape (chains, rows, features): the share of the chain's draws in which a row has it; above
    20 000 rows of some of them, evenly spaced."""
    in_use: FloatArray
    """Shape (chains, features): the share of the chain's draws in which some row has it."""
    stability: FloatArray
    """Shape (chains, features): the share of the chain's draws that have the feature, as more than
    half an overlap with its typical rows: those with it in half of the draws that use it."""


def align(stored: StoredDraws, chains: Sequence[int] | None = None) -> Alignment:
    """Return the features of all draws of some chains in one order.

    Parameters
    ----------
    stored
        The draws.
    chains
        Which chains; all of them if None.
    """
    stored = stored.sampled()
    n_chains, n_draws = stored.shape[:2]
    chains = tuple(range(n_chains) if chains is None else chains)
    order, sizes, uses = _matched(stored, chains)
    places = _by_popularity(stored, chains, order, sizes)
    order, sizes, uses = order[:, :, places], sizes[:, :, places], uses[:, places]
    typical = 2 * sizes.sum(axis=0) >= np.maximum(uses.sum(axis=0), 1)
    stability = _stability(stored, chains, order, typical)
    return Alignment(chains, order, sizes / n_draws, uses / n_draws, stability)


def mean_activity(stored: StoredDraws, chain: int) -> FloatArray:
    """Return the share of draws of one chain in which a row has each feature, in any order."""
    _, sizes, _ = _matched(stored.sampled(), (chain,))
    return np.asarray(sizes[0] / stored.shape[1])


def _matched(stored: StoredDraws, chains: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the order of each draw; in how many draws a row has each place; and any row."""
    _, n_draws, n_rows, features = stored.shape
    reference = _Reference(*_best_draw(stored, chains))
    for _, rows, components, used in _walk(stored, chains):
        order = match(rows, components, reference.activity, reference.components, stored.n_known)
        reference.add(rows[:, order], components[order], used[order])
    activity, places = reference.activity, reference.components
    orders = np.empty((len(chains), n_draws, features), np.int64)
    sizes = np.zeros((len(chains), n_rows, features), np.int64)
    uses = np.zeros((len(chains), features), np.int64)
    for at, rows, components, used in _walk(stored, chains):
        orders[at] = order = match(rows, components, activity, places, stored.n_known)
        sizes[at[0]] += rows[:, order]
        uses[at[0]] += used[order]
    return orders, sizes, uses


def match(
    rows: Rows,
    components: FloatArray,
    activity: FloatArray,
    reference: FloatArray,
    n_known: int = 0,
) -> IntArray:
    """Return which feature belongs to each place.

    Parameters
    ----------
    rows
        Z, shape (rows, features).
    components
        A, shape (features, dims).
    activity
        The mean activity of the places, shape (rows, features).
    reference
        The components of the places, shape (features, dims).
    n_known
        So many features, the first ones, have names: they keep their places.
    """
    fits = np.empty((rows.shape[1], activity.shape[1]))
    sizes = kernel.fill_overlaps(rows, activity, fits)
    sizes[:n_known] = 1
    used, named = np.flatnonzero(sizes), np.arange(n_known)
    fits = fits[used]
    kernel.add_closeness(components[used], reference, _TIE, fits)
    fits[named, named] += 10.0
    order = np.full(activity.shape[1], -1)
    order[linear_sum_assignment(fits, maximize=True)[1]] = used
    order[order < 0] = np.flatnonzero(sizes == 0)
    return order


class _Reference:
    """The mean of the draws taken in so far; components are those of draws that use a feature."""

    def __init__(self, rows: Rows, components: FloatArray) -> None:
        self.sizes = rows.astype(np.float64)
        self.number = 1
        self.uses: FloatArray = in_use(rows).astype(np.float64)
        self.sums: FloatArray = np.where(self.uses[:, None] > 0, components, 0.0)
        self.components = components.copy()

    def add(self, rows: Rows, components: FloatArray, used: BoolArray) -> None:
        """Take in a draw, its features in the order of the places."""
        self.sizes += rows
        self.number += 1
        self.uses += used
        self.sums[used] += components[used]
        self.components[used] = self.sums[used] / self.uses[used, None]

    @property
    def activity(self) -> FloatArray:
        return self.sizes / self.number


def _walk(
    stored: StoredDraws, chains: tuple[int, ...]
) -> Iterator[tuple[tuple[int, int], Rows, FloatArray, BoolArray]]:
    """Yield place, rows, components, and which features are in use, of each draw."""
    for at, chain in enumerate(chains):
        for first in range(0, stored.shape[1], _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            components = stored.components[chain, some] / stored.units
            for draw, rows in enumerate(stored.unpacked(chain, some)):
                used = stored.active[chain, first + draw]
                yield (at, first + draw), rows, components[draw], used


def _best_draw(stored: StoredDraws, chains: tuple[int, ...]) -> tuple[Rows, FloatArray]:
    """Return rows and components of the draw to begin with."""
    values = in_order(stored.log_joint[list(chains)])
    best = int(in_order(values.mean(axis=1)).argmax())
    chain, draw = chains[best], int(values[best].argmax())
    return stored.unpacked(chain, draw), stored.components[chain, draw] / stored.units


def _by_popularity(
    stored: StoredDraws, chains: tuple[int, ...], order: IntArray, sizes: IntArray
) -> IntArray:
    """Return the places: known ones, then by popularity; among equals the higher log-odds."""
    log_odds = np.take_along_axis(stored.log_odds[list(chains)], order, axis=2)
    exists = ~np.isnan(log_odds)
    totals = np.where(exists, log_odds, 0.0).sum(axis=(0, 1))
    means = totals / np.maximum(exists.sum(axis=(0, 1)), 1)
    known = np.arange(means.size) >= stored.n_known
    popularity = np.where(known, -sizes.sum(axis=(0, 1)), 0)
    return np.lexsort([np.where(known, -means, 0.0), popularity, known])


def _stability(
    stored: StoredDraws, chains: tuple[int, ...], order: IntArray, typical: BoolArray
) -> FloatArray:
    """Return the share of each chain's draws in which a feature has its typical rows."""
    places, typical_rows = np.arange(order.shape[2]), np.ascontiguousarray(typical, np.float64)
    same, fits = np.zeros((len(chains), places.size)), np.empty((places.size, places.size))
    for at, rows, _, _ in _walk(stored, chains):
        kernel.fill_overlaps(rows, typical_rows, fits)
        same[at[0]] += fits[order[at], places] > _SAME
    return np.asarray(same / order.shape[1])
