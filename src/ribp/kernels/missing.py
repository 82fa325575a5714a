"""Sums over missing entries, at a cost of their number and not of all columns.

Where rows miss a few columns, a sum over their columns is that over all columns less the missing
ones. Matrices are laid out flat in `subtract_missing` and `add_to_missing`, `size` numbers each.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.ones import list_ones


@jit
def list_missing(observed, columns):
    """Fill `columns` with those that a row does not show; return how many.

    ``np.flatnonzero(~observed)``, without a branch: nobody could foresee it.
    """
    number = 0
    for d in range(observed.shape[0]):
        columns[number] = d
        number += 1 - observed[d]
    return number


@jit
def sum_observed(terms, observed, out):
    """Fill out[n] with the sum of terms[n] over the columns that row n shows, by Kahan's rule.

    ``out = np.where(observed, terms, 0).sum(axis=1)``, the same wherever the row stands.
    """
    for n in range(terms.shape[0]):
        total, lost = 0.0, 0.0
        for d in range(terms.shape[1]):
            if observed[n, d]:
                term = terms[n, d] - lost
                after = total + term
                lost = (after - total) - term if math.isfinite(after) else 0.0
                total = after
        out[n] = total


@jit
def add_missing_pairs(observed, rows, factor, out):
    """Add factor * z_n z_n' to out[d] for every row n and every column d missing in it.

    ``out += factor * np.einsum("nd,ni,nj->dij", ~observed, rows, rows)``
    """
    n_rows, dims = observed.shape
    active, columns = np.empty(rows.shape[1], np.int64), np.empty(dims, np.int64)
    for n in range(n_rows):
        ones = list_ones(rows[n], active)
        for at in range(list_missing(observed[n], columns)):
            for a in range(ones):
                size = factor * rows[n, active[a]]
                for b in range(ones):
                    out[columns[at], active[a], active[b]] += size * rows[n, active[b]]


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


@jit
def fill_missing(values, observed, rows, features, background, noise, normals, out):
    """Fill `out` with data divided by the noise; what is missing is drawn given the features.

    ``out = np.where(observed, values, rows @ features + background) / noise``, plus the next of
    `normals` where an entry is missing.
    """
    n_rows, dims = observed.shape
    mean, columns, place = np.empty(dims), np.empty(dims, np.int64), 0
    active = np.empty(rows.shape[1], np.int64)
    for n in range(n_rows):
        ones = list_ones(rows[n], active)
        for d in range(dims):
            mean[d] = background[d]
        for a in range(ones):
            for d in range(dims):
                mean[d] += features[active[a], d]
        for d in range(dims):
            out[n, d] = values[n, d] / noise[d]
        for at in range(list_missing(observed[n], columns)):
            d = columns[at]
            out[n, d] = mean[d] / noise[d] + normals[place]
            place += 1
