"""One feature over the draws that have it: mean and quantiles, and which features are shown.

Features are those of the main mode in the order of its alignment; a *place* is a position in that
order. Those shown, in `components_`, tables and pictures, are the ones that some row has in at
least half of the draws, and those that were known. `LOW` and `HIGH` are the quantiles of every
spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from ribp.checks import FloatArray, IntArray
from ribp.posterior.align import Alignment
from ribp.posterior.stored_draws import array

LOW, HIGH = 0.05, 0.95
_IN_USE = 0.5


class Spread(NamedTuple):
    """Mean and quantiles over draws, all of one shape."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def shown_places(alignment: Alignment, n_known: int) -> IntArray:
    """Return the places of the features shown; the first `n_known` are known."""
    share = alignment.in_use.mean(axis=0)
    share[:n_known] = 1.0
    return np.flatnonzero(share >= _IN_USE)


def rare_places(alignment: Alignment, shown: IntArray) -> IntArray:
    """Return the places of features that some draws use, but are not shown."""
    return np.setdiff1d(np.flatnonzero(alignment.in_use.any(axis=0)), shown)


def values_of(tree: xr.DataTree, alignment: Alignment, name: str, place: int) -> FloatArray:
    """Return a variable of one feature in the draws that use it (in all, if none does)."""
    chains = np.array(alignment.chains)[:, None]
    at = chains, np.arange(alignment.order.shape[1]), alignment.order[:, :, place]
    used = array(tree, "features", "active")[at]
    values = array(tree, "features", name)[at]
    return np.asarray(values[used] if used.any() else values.reshape(-1, *values.shape[2:]))


def spread(draws: FloatArray) -> Spread:
    """Return mean and quantiles over the first axis."""
    low, high = np.quantile(draws, [LOW, HIGH], axis=0)
    return Spread(draws.mean(axis=0), low, high)
