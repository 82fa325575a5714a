"""How well the features of a draw fit the places of a reference.

Rows of a draw have few ones, so that sums over these are quicker than products of whole matrices.
"""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit


@jit
def fill_overlaps(rows, activity, out):
    """Fill `out` (features, places) with z.p / (|z| + |p| - z.p), 0 where both are empty.

    ``np.minimum(z, p).sum() / np.maximum(z, p).sum()`` of a column z of rows and p of `activity`.
    Return ``rows.sum(axis=0)``.
    """
    features, places = out.shape
    sizes, totals = np.zeros(features, np.int64), np.zeros(places)
    for i in range(features):
        for p in range(places):
            out[i, p] = 0.0
    for n in range(rows.shape[0]):
        for p in range(places):
            totals[p] += activity[n, p]
        for i in range(features):
            if rows[n, i]:
                sizes[i] += 1
                for p in range(places):
                    out[i, p] += activity[n, p]
    for i in range(features):
        for p in range(places):
            either = sizes[i] + totals[p] - out[i, p]
            if either > 0.0:
                out[i, p] /= either
    return sizes


@jit
def add_closeness(components, reference, weight, out):
    """Add `weight` / (1 + d^2) to `out`, d a distance in units of the reference; 0 where it is NaN.

    ``1 / (1 + ((components[i] - reference[p]) ** 2).sum() / size)``, with `size` the mean of
    ``(reference**2).sum(axis=1)``, NaN as 0.
    """
    features, dims = components.shape
    places = reference.shape[0]
    turned, size = np.empty((dims, places)), 0.0
    for p in range(places):
        for t in range(dims):
            turned[t, p] = reference[p, t]
            if reference[p, t] == reference[p, t]:
                size += reference[p, t] * reference[p, t]
    size = size / places if size > 0.0 else 1.0
    distance = np.empty(places)
    for i in range(features):
        for p in range(places):
            distance[p] = 0.0
        for t in range(dims):
            for p in range(places):
                apart = components[i, t] - turned[t, p]
                distance[p] += apart * apart
        for p in range(places):
            if distance[p] == distance[p]:
                out[i, p] += weight / (1.0 + distance[p] / size)
