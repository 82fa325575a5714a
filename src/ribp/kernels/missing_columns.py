"""Rows with a few missing columns: what they have is what all rows have, less those columns.

Matrices are laid out flat, `size` numbers each. The cost is that of the missing entries, not of all
columns.
"""

from __future__ import annotations

from ribp.kernels.jit import jit


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
