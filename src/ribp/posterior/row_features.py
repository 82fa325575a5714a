"""The features of rows, a block of rows at a time: probabilities, or 0 and 1 that obey the laws.

`RowFeatures` is what `transform` and `decode` do to rows wherever they are: in memory, in a file of
which only some are read at a time, or on the workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.likelihoods.data import Data
from ribp.posterior import predict
from ribp.posterior.new_rows import RowWeigher


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """From data and laws of rows to their features; it can be sent to another machine."""

    weigh: RowWeigher
    features: IntArray
    """Which features, in the order of the draws."""
    decoded: bool
    """Whether rows are 0 and 1, or counts, instead of probabilities."""
    possible: FloatArray | None = None
    """log f of each law, of which only matters where it is finite; None without laws."""

    @classmethod
    def of(
        cls, weigh: RowWeigher, features: IntArray, tables: FloatArray, decoded: bool
    ) -> RowFeatures:
        """Return it, given log f of laws, shape (draws, laws, features + 1).

        Raise an `InputError` if decoded rows cannot obey their laws with these features.
        """
        if not decoded or tables.shape[1] == 0:  # a buffet
            return cls(weigh, features, decoded)
        by_sum = weigh.likelihood.entry_law.by_sum
        possible = tables[0] if by_sum else tables[0][:, : features.size + 1]
        if not np.isfinite(possible).any(axis=1).all():
            raise InputError(
                "counts",
                f"must be possible with the {features.size} features of the fit",
                "a law that asks for more",
                "Allow smaller counts, or fit again.",
            )
        return cls(weigh, features, decoded, possible)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of what is returned."""
        whole = np.int64 if self.weigh.likelihood.entry_law.counts else np.int8
        return np.dtype(whole if self.decoded else np.float64)

    def __call__(self, data: Data, law_of_row: IntArray) -> NDArray[Any]:
        """Return the features of some rows, shape (rows, features)."""
        rows, entries = self.weigh(data, law_of_row), self.weigh.likelihood.entry_law
        probs = rows.probs[:, self.features]
        if not self.decoded:
            return probs
        if self.possible is None:
            return np.asarray(probs > 0.5, dtype=np.int8)
        if entries.counts:
            return predict.decode_counts(
                rows.sizes[:, self.features], self.possible, law_of_row, by_sum=entries.by_sum
            )
        return predict.decode(probs, self.possible, law_of_row)
