"""About how large the noise of each column is, before any features are known: units of a search.

What the other columns do not tell of a column is noise, or nearly. With C the correlations of the
columns, missing entries at their means, and sd_d the spread of column d,

    noise_d = sd_d ((0.999 C + 0.001 I)^{-1})_dd^{-1/2},

its spread given the others. A search with one noise level for all columns is made on data divided
by these: in units of its spread a column without noise would count for too little, and features
that only such columns show would be merged.

At most 2000 rows are looked at, and 500 of them where there are more columns: then C has a low
rank, and its inverse comes from products of rows.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods.data import Data

_SHRINKAGE = 1e-3  # a column has noise of 3% of its spread at least
_MOST_ROWS = 2000
_MANY = 500  # columns, from which on products of so many rows take the place of those of columns


def noise_units(data: Data) -> FloatArray:
    """Return positive numbers, shape (dims,): one where a column does not vary."""
    n_rows, dims = data.shape
    most = _MANY if dims > _MANY else _MOST_ROWS
    some = data.rows(slice(None, None, -(-n_rows // most)))
    number = np.full(dims, float(len(some.values)))
    if not some.complete:
        number = np.maximum(some.observed.sum(axis=0, dtype=np.float64), 1.0)
    around = some.values - some.values.sum(axis=0) / number
    if not some.complete:
        around[~some.observed] = 0.0
    spread = np.sqrt(np.einsum("nd,nd->d", around, around) / number)
    varies = spread > 0.0
    spread[~varies] = 1.0
    scaled = around / (spread * np.sqrt(number / (1.0 - _SHRINKAGE)))
    return np.where(varies, spread * _precision(scaled) ** -0.5, 1.0)


def _precision(scaled: FloatArray) -> FloatArray:
    """Return the diagonal of (Y'Y + shrinkage)^{-1}."""
    n_rows, dims = scaled.shape
    if dims <= n_rows:
        return np.diag(np.linalg.inv(scaled.T @ scaled + _SHRINKAGE * np.eye(dims))).copy()
    root = np.linalg.cholesky(scaled @ scaled.T + _SHRINKAGE * np.eye(n_rows))
    half = np.linalg.solve(root, scaled)
    told = np.minimum(np.einsum("nd,nd->d", half, half), 1.0 - _SHRINKAGE / 2.0)
    return np.asarray((1.0 - told) / _SHRINKAGE)
