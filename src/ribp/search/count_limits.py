"""Which numbers of ones rows may have, and rows that are brought there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Rows


def popularity(rows: Rows) -> FloatArray:
    """Return log-odds of the features, each with 1/I rows more than it has."""
    sizes = rows.sum(axis=0)
    return np.asarray(np.log((sizes + 1.0 / sizes.size) / (len(rows) - sizes + 1.0)))


class CountLimits(NamedTuple):
    """Which numbers of ones rows may have."""

    least: IntArray
    """Shape (rows,)."""
    most: IntArray
    nearest: IntArray
    """For each law and number of ones the nearest that is possible, (laws, features + 1)."""
    law_of_row: IntArray

    @classmethod
    def of(cls, counts: RowCounts, n_features: int) -> CountLimits:
        """Return the limits of rows with so many features."""
        possible = np.isfinite(mean_log_probs(counts, n_features))
        sizes = np.arange(n_features + 1)
        nearest = np.empty(possible.shape, np.int64)
        for at, law in enumerate(possible):
            some = np.flatnonzero(law)
            nearest[at] = some[np.abs(some[:, None] - sizes).argmin(axis=0)]
        which = counts.law_of_row
        return cls(nearest[which, 0], nearest[which, -1], nearest, which)

    @property
    def free(self) -> bool:
        """Whether some row has a choice."""
        return bool((self.most > self.least).any())

    def cut(self, rows: Rows) -> IntArray:
        """Take features from rows that have too many, in place; return what all should have.

        That is the possible count nearest to the one a row has. The least popular features go.
        """
        ones = rows.sum(axis=1)
        wanted = self.nearest[self.law_of_row, ones]
        sizes = rows.sum(axis=0)
        for n in np.flatnonzero(ones > wanted):
            on = np.flatnonzero(rows[n])
            rows[n, on[np.argsort(-sizes[on], kind="stable")][wanted[n] :]] = 0
        return np.asarray(wanted)
