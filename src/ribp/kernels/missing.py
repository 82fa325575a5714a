"""Sums over missing entries, at a cost of their number and not of all columns.

Where rows miss a few columns, a sum over their columns is that over all columns less the missing
ones. Matrices are laid out flat in `subtract_missing` and `add_to_missing`, `size` numbers each.
"""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones


@jit
def add_missing_pairs(observed, rows, factor, out):
    """Add factor * z_n z_n' to out[d] for every row n and every column d missing in it.

    ``out += factor * np.einsum("nd,ni,nj->dij", ~observed, rows, rows)``
    """
    n_rows, dims = observed.shape
    active = np.empty(rows.shape[1], np.int64)
    for n in range(n_rows):
        ones = list_ones(rows[n], active)
        for d in range(dims):
            if not observed[n, d]:
                for a in range(ones):
                    for b in range(ones):
                        out[d, active[a], active[b]] += factor


@jit
def subtract_missing(whole, each, observed, out):
    """Fill out[n] = whole - the sum of each[d] over the columns d that are missing in row n.

    ``out = whole - ~observed @ each``, shapes (size,), (dims, size), (rows, dims), (rows, size).
    """
    rows, dims = observed.shape
    size = whole.shape[0]
    for n in range(rows):
        row = out[n]
        for at in range(size):
            row[at] = whole[at]
        for d in range(dims):
            if not observed[n, d]:
                less = each[d]
                for at in range(size):
                    row[at] -= less[at]


@jit
def add_to_missing(own, weights, observed, out):
    """Add weights[n] * own[n] to out[d] for every column d that is missing in row n.

    ``out += (~observed * weights[:, None]).T @ own``, shapes as in `subtract_missing`.
    """
    rows, dims = observed.shape
    size = own.shape[1]
    for n in range(rows):
        row, weight = own[n], weights[n]
        for d in range(dims):
            if not observed[n, d]:
                total = out[d]
                for at in range(size):
                    total[at] += weight * row[at]
