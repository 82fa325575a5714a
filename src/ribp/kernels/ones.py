"""The ones of rows: as a list, one of them at random without replacement, how many there are."""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit


@jit
def list_ones(z, ones):
    """Fill `ones` with the places where z is not zero; return how many: ``np.flatnonzero(z)``."""
    number = 0
    for i in range(ones.shape[0]):  # without a branch: it would be mispredicted at every one
        ones[number] = i
        number += z[i] != 0
    return number


@jit
def take_out_one(u, ones, last):
    """Return one of ones[: last + 1], chosen by the uniform u; the last one takes its place."""
    chosen = min(int(u * (last + 1)), last)
    i = ones[chosen]
    ones[chosen] = ones[last]
    return i


@jit
def tally(rows, law_of_row, histograms, sizes):
    """Add how many rows of each law have each count, and how many rows have each feature.

    Entries may have any size: with ``z = rows != 0``,
    ``np.add.at(histograms, (law_of_row, z.sum(axis=1)), 1); sizes += z.sum(axis=0)``
    """
    for n in range(rows.shape[0]):
        ones = 0
        for i in range(rows.shape[1]):
            on = rows[n, i] != 0
            sizes[i] += on
            ones += on
        histograms[law_of_row[n], ones] += 1


@jit
def has_gap(tables):
    """Return which tables of logarithms have -inf between two finite numbers."""
    out = np.zeros(tables.shape[0], np.bool_)
    for law in range(tables.shape[0]):
        runs, inside = 0, False
        for k in range(tables.shape[1]):
            runs += tables[law, k] > -math.inf and not inside
            inside = tables[law, k] > -math.inf
        out[law] = runs > 1
    return out
