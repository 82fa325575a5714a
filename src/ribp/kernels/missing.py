"""Sums over missing entries, at a cost of their number times the square of the ones in a row."""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit


@jit
def add_missing_pairs(observed, rows, factor, out):
    """Add factor * z_n z_n' to out[d] for every row n and every column d missing in it.

    ``out += factor * np.einsum("nd,ni,nj->dij", ~observed, rows, rows)``
    """
    n_rows, dims = observed.shape
    features = rows.shape[1]
    active = np.empty(features, np.int64)
    for n in range(n_rows):
        ones = 0
        for i in range(features):
            if rows[n, i]:
                active[ones] = i
                ones += 1
        for d in range(dims):
            if not observed[n, d]:
                for a in range(ones):
                    for b in range(ones):
                        out[d, active[a], active[b]] += factor
