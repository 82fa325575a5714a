"""Counts of events: the exposure of a row multiplies their rate, exp(eta + log exposure)."""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray
from ribp.kinds.kind import ColumnLook, Kind, whole


class OfRate(Kind):
    """A count with mean exp(eta)."""

    rule = "counts 0, 1, 2, ..."
    has_rate = True

    def possible(self, values: FloatArray) -> np.ndarray:
        """Return which values are counts."""
        return whole(values)

    def linear(self, values: FloatArray) -> FloatArray:
        """Return log(1 + x)."""
        return np.log1p(values)[:, None]

    def alone(
        self, look: ColumnLook, values: FloatArray, exposures: FloatArray | float = 1.0
    ) -> FloatArray:
        """Return the law that a column begins with, at exposures of rows."""
        centre, own = self.begin(look)
        eta = centre[0] + np.log(np.broadcast_to(exposures, values.shape))
        return self.log_density(values, eta[:, None], np.array(own))

    def left_out_at(self, values: FloatArray, exposures: FloatArray) -> FloatArray:
        """Return what `left_out` does where rows have exposures: the law of rates of others."""
        rates, found = values / exposures, np.full(values.size, np.nan)
        others = values.size - 1
        if others > 0:
            means = (rates.sum() - rates) / others
            variances = np.maximum(((rates**2).sum() - rates**2) / others - means**2, 0.0)
            for n, (mean, variance) in enumerate(zip(means, variances, strict=True)):
                look = ColumnLook(float(others), float(mean), float(variance), np.zeros(0))
                found[n] = self.alone(look, values[n : n + 1], exposures[n])[0]
        return found
