"""One order of the features for all draws: features have no names, and draws permute them.

The features of each draw are matched to the places of a reference. A place has a mean activity
p_n, the share of draws in which row n has its feature; a feature with column z fits it by their
overlap (the Jaccard index where p is 0 or 1),

    sum_n min(z_n, p_n) / sum_n max(z_n, p_n) = z.p / (|z| + |p| - z.p),

so one product Z'P a draw weighs all pairs, and the Hungarian method maximises the sum over pairs
that are matched. Ties, and features that no row has, are decided by the distance of components.

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
from ribp.likelihoods.data import BoolArray, Rows, in_use
from ribp.posterior.stored_draws import StoredDraws

_TIE = 1e-6  # what the distance of components can add to an overlap
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
    n_chains, n_draws, n_rows, features = stored.shape
    chains = tuple(range(n_chains) if chains is None else chains)
    reference = _Reference(*_best_draw(stored, chains))
    order = np.empty((len(chains), n_draws, features), np.int64)
    for at, rows, components in _walk(stored, chains):
        order[at] = match(
            rows, components, reference.activity, reference.components, stored.n_known
        )
        reference.add(rows[:, order[at]], components[order[at]])
    activity, components = reference.activity, reference.components
    sizes = np.zeros((len(chains), n_rows, features), np.int64)
    uses = np.zeros((len(chains), features), np.int64)
    for at, rows, own in _walk(stored, chains):
        order[at] = match(rows, own, activity, components, stored.n_known)
        sizes[at[0]] += rows[:, order[at]]
        uses[at[0]] += stored.active[chains[at[0]], at[1]][order[at]]
    places = _by_popularity(stored, chains, order, sizes)
    order, sizes, uses = order[:, :, places], sizes[:, :, places], uses[:, places]
    typical = 2 * sizes.sum(axis=0) >= np.maximum(uses.sum(axis=0), 1)
    stability = _stability(stored, chains, order, typical)
    return Alignment(chains, order, sizes / n_draws, uses / n_draws, stability)


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
    z = rows.astype(np.float64)
    both = activity.T @ z
    either = activity.sum(axis=0)[:, None] + z.sum(axis=0) - both
    overlap = both / np.where(either > 0.0, either, 1.0)
    named = np.arange(n_known)
    overlap[named, named] += 10.0
    _, order = linear_sum_assignment(
        overlap + _TIE * _closeness(reference, components), maximize=True
    )
    return np.asarray(order, dtype=np.int64)


def _closeness(reference: FloatArray, components: FloatArray) -> FloatArray:
    """Return 1/(1 + d^2), d a distance in units of the reference; 0 where there is nothing."""
    size = float(np.nansum(reference**2)) / max(len(reference), 1) or 1.0
    products = reference @ components.T
    distance = (reference**2).sum(axis=1)[:, None] + (components**2).sum(axis=1) - 2.0 * products
    close = 1.0 / (1.0 + np.maximum(distance, 0.0) / size)
    close[np.isnan(close)] = 0.0
    return np.asarray(close)


class _Reference:
    """The mean of the draws taken in so far; components are those of draws that use a feature."""

    def __init__(self, rows: Rows, components: FloatArray) -> None:
        self.sizes = rows.astype(np.float64)
        self.number = 1
        self.uses: FloatArray = in_use(rows).astype(np.float64)
        self.sums: FloatArray = np.where(self.uses[:, None] > 0, components, 0.0)
        self.at_first = components

    def add(self, rows: Rows, components: FloatArray) -> None:
        """Take in a draw, its features in the order of the places."""
        used = in_use(rows)
        self.sizes += rows
        self.number += 1
        self.uses += used
        self.sums[used] += components[used]

    @property
    def activity(self) -> FloatArray:
        return self.sizes / self.number

    @property
    def components(self) -> FloatArray:
        uses = self.uses[:, None]
        return np.where(uses > 0, self.sums / np.maximum(uses, 1.0), self.at_first)


def _walk(
    stored: StoredDraws, chains: tuple[int, ...]
) -> Iterator[tuple[tuple[int, int], Rows, FloatArray]]:
    """Yield place, rows and components of each draw."""
    for at, chain in enumerate(chains):
        for draw in range(stored.shape[1]):
            yield (
                (at, draw),
                stored.unpacked(chain, draw),
                stored.components[chain, draw] / stored.units,
            )


def _best_draw(stored: StoredDraws, chains: tuple[int, ...]) -> tuple[Rows, FloatArray]:
    """Return rows and components of the draw to begin with."""
    values = stored.log_joint[list(chains)]
    best = int(values.mean(axis=1).argmax())
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
    same = np.zeros((len(chains), order.shape[2]))
    for at, rows, _ in _walk(stored, chains):
        on = rows[:, order[at]].astype(bool)
        either = (on | typical).sum(axis=0)
        same[at[0]] += (on & typical).sum(axis=0) > _SAME * np.maximum(either, 1)
    return np.asarray(same / order.shape[1])
