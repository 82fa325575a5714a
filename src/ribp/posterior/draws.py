"""One pool of stored draws as arrays, their features in one order.

New rows, held-out entries and imputation are computed from `Draws`. They come from the chains of
one mode: averages over modes describe none of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.counts.tables import mean_log_probs
from ribp.entries import EntryLaw
from ribp.likelihoods import Likelihood
from ribp.likelihoods.data import ALL_ALIKE, BoolArray, Rows
from ribp.posterior.align import Alignment
from ribp.posterior.stored_draws import array, stored_draws
from ribp.recording import pack_rows, pack_sizes, unpack_rows, unpack_sizes

_PART = 2**14  # rows


class Draws(NamedTuple):
    """A pool of stored draws, their features in one order (the most popular first)."""

    parameters: list[Any]
    """Features, background and scales of each draw, as the likelihood has them."""
    log_odds: FloatArray
    """theta, shape (draws, features); -inf for a feature that does not exist (in a buffet)."""
    count_log_probs: FloatArray
    """log f of each count law, shape (draws, laws, counts); no laws for a buffet."""
    rows: NDArray[np.uint8]
    """Z packed eight to a byte, shape (draws, rows, bytes)."""
    chain: IntArray
    """The chain each draw came from."""
    draw: IntArray
    """The number of each draw in its chain."""
    sizes: NDArray[Any] | None = None
    """Of entries, packed, shape (draws, rows, most ones); None if they are binary."""
    exposures: NDArray[Any] | None = None
    """Of rows, shape (draws, rows); None if they have none."""

    def unpacked(self, at: int) -> Rows:
        """Return the rows of one draw, shape (rows, features)."""
        return unpack_rows(self.rows[at], self.log_odds.shape[1])

    def entries(self, at: int) -> Any:
        """Return the same with the sizes of entries, if they have any."""
        rows = self.unpacked(at)
        return rows if self.sizes is None else unpack_sizes(rows, self.sizes[at])

    def means(self, at: int, likelihood: Likelihood[Any], parameters: Any = None) -> FloatArray:
        """Return M of one draw, what features make of all entries at exposures of rows.

        Likelihood and parameters may be those of some columns.
        """
        given = self.parameters[at] if parameters is None else parameters
        return likelihood.exposed(likelihood.means(self.entries(at), given), self.own_exposures(at))

    def own_exposures(self, at: int) -> FloatArray | None:
        """Return the exposures of one draw, if rows have any."""
        return None if self.exposures is None else np.array(self.exposures[at], dtype=np.float64)

    @property
    def mean_exposures(self) -> FloatArray:
        """Means over draws, shape (rows,); (0,) if rows have none."""
        return ALL_ALIKE if self.exposures is None else np.mean(self.exposures, 0, np.float64)

    def on_rows(self, at: IntArray) -> Draws:
        """Return the draws of some of the rows."""
        own = {
            name: values[:, at]
            for name in ("rows", "sizes", "exposures")
            if (values := getattr(self, name)) is not None
        }
        return self._replace(**own)

    def row_probs(self) -> FloatArray:
        """Return the share of draws in which each row has each feature, (rows, features)."""
        total = np.zeros((self.rows.shape[1], self.log_odds.shape[1]), np.int64)
        for at in range(len(self.rows)):
            total += self.unpacked(at)
        return total / len(self.rows)


def aligned_row_probs(
    tree: xr.DataTree,
    alignment: Alignment,
    features: IntArray,
    dtype: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """Return the share of draws in which each row has some features, a few rows at a time.

    Parameters
    ----------
    tree, alignment
        A result, and the order of its features.
    features
        Which places of that order.
    dtype
        Of the shares.

    Returns
    -------
    Shape (rows, features).
    """
    stored = stored_draws(tree)
    n_rows, n_features = stored.shape[2:]
    order = alignment.order[:, :, features]
    probs = np.empty((n_rows, features.size), dtype)
    for part in _parts(n_rows):
        total = np.zeros((part.stop - part.start, features.size), np.int64)
        for at, draw in np.ndindex(order.shape[:2]):
            packed = stored.rows[alignment.chains[at], draw, part]
            total += unpack_rows(packed, n_features)[:, order[at, draw]]
        probs[part] = total / (order.shape[0] * order.shape[1])
    return probs


def features_in_use(tree: xr.DataTree, alignment: Alignment) -> BoolArray:
    """Return which features some row has, in the draws of an alignment, (draws, features)."""
    active = stored_draws(tree).active[list(alignment.chains)]
    in_order = np.take_along_axis(active, alignment.order, axis=2)
    return np.asarray(in_order.reshape(in_order.shape[0] * in_order.shape[1], in_order.shape[2]))


def _parts(n_rows: int) -> list[slice]:
    """Return ranges of rows small enough to be copied."""
    return [slice(at, min(at + _PART, n_rows)) for at in range(0, n_rows, _PART)]


def unaligned_draws(
    tree: xr.DataTree, likelihood: Likelihood[Any], counts: RowCounts | None
) -> Draws:
    """Return all stored draws of all chains, chain by chain, features in the order they had."""
    chains, n_draws, _, features = stored_draws(tree).shape
    order = np.broadcast_to(np.arange(features), (chains, n_draws, features))
    nothing = np.empty(0)
    alignment = Alignment(tuple(range(chains)), order, nothing, nothing, nothing)
    return aligned_draws(tree, likelihood, counts, alignment)


def aligned_draws(
    tree: xr.DataTree,
    likelihood: Likelihood[Any],
    counts: RowCounts | None,
    alignment: Alignment,
    max_draws: int | None = None,
    rows: IntArray | None = None,
) -> Draws:
    """Return the draws of the chains of an alignment.

    Parameters
    ----------
    tree, likelihood, counts
        A result, its likelihood, and the count law of every row; None for a buffet.
    alignment
        The order of the features.
    max_draws
        Take at most so many draws, evenly spaced.
    rows
        Take only these rows; all if None.
    """
    stored = stored_draws(tree)
    at_chain, at_draw = _spaced(alignment.order.shape[:2], max_draws)
    chain, order = np.array(alignment.chains)[at_chain], alignment.order[at_chain, at_draw]
    features = stored.components[chain[:, None], at_draw[:, None], order]
    log_odds = stored.log_odds[chain[:, None], at_draw[:, None], order]
    at = np.arange(stored.shape[2]) if rows is None else rows
    packed = np.empty((chain.size, at.size, stored.rows.shape[3]), np.uint8)
    stored_sizes, sizes = array(tree, "features", "sizes"), None
    if stored_sizes.size:
        sizes = np.zeros((chain.size, at.size, stored_sizes.shape[3]), stored_sizes.dtype)
    for place, (c, d) in enumerate(zip(chain.tolist(), at_draw.tolist(), strict=True)):
        for part in _parts(at.size):
            z = unpack_rows(stored.rows[c, d, at[part]], stored.shape[3])
            packed[place, part] = pack_rows(z[:, order[place]])
            if sizes is not None:
                own = unpack_sizes(z, stored_sizes[c, d, at[part]])[:, order[place]]
                own = pack_sizes(own, sizes.dtype)
                sizes[place, part, : own.shape[1]] = own
    draw = stored.numbers[at_draw]
    return Draws(
        _parameters(tree, likelihood, np.nan_to_num(features), chain, at_draw, draw),
        np.where(np.isnan(log_odds), -np.inf, log_odds),
        _count_log_probs(tree, counts, chain, draw, stored.shape[3], likelihood.entry_law),
        packed,
        chain,
        draw,
        sizes,
        _exposures(tree, chain, at_draw, at),
    )


def _exposures(
    tree: xr.DataTree, chain: IntArray, at_draw: IntArray, rows: IntArray
) -> NDArray[Any] | None:
    """Return exposures of rows in each draw, given or learned; None if they have none."""
    given, learned = array(tree, "laws", "exposure"), array(tree, "features", "exposure")
    if given.size:
        return np.broadcast_to(given[rows], (chain.size, rows.size))
    return learned[chain[:, None], at_draw[:, None], rows] if learned.size else None


def _spaced(shape: tuple[int, ...], most: int | None) -> tuple[IntArray, IntArray]:
    """Return chain and draw of the draws to take, evenly spaced in the pool."""
    total = shape[0] * shape[1]
    number = total if most is None else min(checks.integer("max_draws", most, least=1), total)
    at = (np.arange(number) * total + total // 2) // number if number < total else np.arange(total)
    chain, draw = np.divmod(at, shape[1])
    return chain, draw


def _parameters(
    tree: xr.DataTree,
    likelihood: Likelihood[Any],
    features: FloatArray,
    chain: IntArray,
    at_draw: IntArray,
    draw: IntArray,
) -> list[Any]:
    """Return the parameters of each draw."""
    background = np.zeros((chain.size, features.shape[2]))
    if likelihood.background:
        background = array(tree, "features", "background")[chain, at_draw]
    scales = {name: _at(tree, name, chain, draw) for name in likelihood.stored_scales()}
    return [
        likelihood.read(features[at], background[at], {name: of[at] for name, of in scales.items()})
        for at in range(chain.size)
    ]


def _at(tree: xr.DataTree, name: str, chain: IntArray, draw: IntArray) -> FloatArray:
    """Return a variable of all draws at some of them."""
    numbers = tree.children["posterior"].dataset["draw"].to_numpy()
    return np.asarray(array(tree, "posterior", name)[chain, np.searchsorted(numbers, draw)])


def _count_log_probs(
    tree: xr.DataTree,
    counts: RowCounts | None,
    chain: IntArray,
    draw: IntArray,
    features: int,
    entries: EntryLaw,
) -> FloatArray:
    if "count_log_probs" in tree.children["posterior"].dataset:
        return _at(tree, "count_log_probs", chain, draw)
    if counts is None:
        return np.empty((chain.size, 0, features + 1))
    known = mean_log_probs(counts, entries.most(counts.laws, features))
    return np.broadcast_to(known, (chain.size, *known.shape))
