"""Features of linear-Gaussian data given rows: sums over rows, and Gaussians with these.

With P = Z'Z + diag(precision) = L L', data with unit noise have the posterior
A | Z, X ~ N(P^{-1} Z'X, P^{-1}), and A = L'^{-1} (L^{-1} Z'X + xi), xi standard normal, is a draw.
All columns share one P, or each has its own: `pairs` has shape (1 or dims, features, features).
"""

from __future__ import annotations

import math

import numpy as np

from ribp.kernels.jit import jit
from ribp.kernels.sweep_gaussian import add_statistics


@jit
def data_sums(values, rows, background):
    """Return sums over rows for the features in use, and a background as the last.

    Which features these are, their rows, ``z.T @ z`` in a group of its own, ``z.T @ values``
    and ``(values**2).sum(axis=0)``.
    """
    n_rows, features = rows.shape
    dims = values.shape[1]
    sizes, squares = np.zeros(features, np.int64), np.zeros(dims)
    for n in range(n_rows):
        for i in range(features):
            sizes[i] += rows[n, i] != 0
        for t in range(dims):
            squares[t] += values[n, t] * values[n, t]
    at = np.flatnonzero(sizes)
    width = at.shape[0] + (1 if background else 0)
    z = np.ones((n_rows, width), rows.dtype)
    for n in range(n_rows):
        for i in range(at.shape[0]):
            z[n, i] = rows[n, at[i]]
    pairs, products = np.zeros((1, width, width)), np.zeros((width, dims))
    add_statistics(values, z, pairs[0], products)
    return sizes > 0, z, pairs, products, squares


_ROUNDING = 1e-9  # of a diagonal: a rest below it may be an error


@jit
def factorise(pairs, precision, root):
    """Fill the lower half of L; return whether P is positive definite.

    ``root = np.linalg.cholesky(pairs + np.diag(precision))``. What is left of the diagonal is at
    least the precision of the prior, since Z'Z has no negative directions: where entries of Z are
    so large that rounding says otherwise, it is taken for that.
    """
    for i in range(root.shape[0]):
        for j in range(i):
            total = pairs[i, j]
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = total / root[j, j]
        total = pairs[i, i] + precision[i]
        for k in range(i):
            total -= root[i, k] * root[i, k]
        if abs(total) <= _ROUNDING * pairs[i, i]:
            total = max(total, precision[i])
        if not total > 0.0:
            return False
        root[i, i] = math.sqrt(total)
    return True


@jit
def columns_of(group, n_groups, dims):
    """Return the first column of a group, and the one behind its last."""
    return (group, group + 1) if n_groups > 1 else (0, dims)


@jit
def posterior(pairs, products, deviations, noise):
    """Return L, L^{-1} Z'X/s and the sum of log det L over columns; NaN if there is no L.

    The prior has the precision deviations^-2. ``half = np.linalg.solve(root, products / noise)``,
    shape (features, dims), a column with its own L.
    """
    features, dims = products.shape
    root, half, log_det = np.zeros(pairs.shape), products / noise, 0.0
    precision = deviations**-2.0
    for g in range(root.shape[0]):
        if not factorise(pairs[g], precision, root[g]):
            return root, half, math.nan
        first, last = columns_of(g, root.shape[0], dims)
        for i in range(features):
            for j in range(i):
                factor = root[g, i, j]
                for t in range(first, last):
                    half[i, t] -= factor * half[j, t]
            inverse = 1.0 / root[g, i, i]
            for t in range(first, last):
                half[i, t] *= inverse
            log_det += (last - first) * math.log(root[g, i, i])
    return root, half, log_det


@jit
def log_marginal(pairs, products, squares, number, deviations, noise):
    """Return log p(X | Z, scales), the features integrated out, and `posterior`'s log det.

    The sum over columns of -N/2 log(2 pi s^2) - log det(L diag(deviations))
    - (|x|^2/s^2 - |L^{-1} Z'x/s|^2)/2, all over the N rows where the column was observed.
    """
    features, dims = products.shape
    _, half, log_det = posterior(pairs, products, deviations, noise)
    value = -log_det
    for i in range(features):
        value -= dims * math.log(deviations[i])
        for t in range(dims):
            value += 0.5 * half[i, t] * half[i, t]
    for t in range(dims):
        variance = noise[t] * noise[t]
        value -= 0.5 * (number[t] * math.log(2.0 * math.pi * variance) + squares[t] / variance)
    return value, log_det


@jit
def draw_features(pairs, products, deviations, noise, normals):
    """Return A = s L'^{-1} (L^{-1} Z'X/s + xi), shape (features, dims), and `posterior`'s log det.

    ``noise * np.linalg.solve(root.T, half + normals)``, a column with its own L.
    """
    features, dims = products.shape
    root, draw, log_det = posterior(pairs, products, deviations, noise)
    if math.isnan(log_det):
        return draw, log_det
    draw += normals
    for g in range(root.shape[0]):
        first, last = columns_of(g, root.shape[0], dims)
        for i in range(features - 1, -1, -1):
            for j in range(i + 1, features):
                factor = root[g, j, i]
                for t in range(first, last):
                    draw[i, t] -= factor * draw[j, t]
            inverse = 1.0 / root[g, i, i]
            for t in range(first, last):
                draw[i, t] *= inverse
    return draw * noise, log_det


@jit
def scale_sums(pairs, products, squares, features, widths):
    """Return |x - Z A|^2, at least 0, and sum_i (A_i/width_i)^2 of each column.

    ``squares + (features * (pairs @ features - 2 * products)).sum(axis=0)`` and
    ``((features / widths[:, None]) ** 2).sum(axis=0)``
    """
    size, dims = features.shape
    left, sizes, row = squares.copy(), np.zeros(dims), np.empty(dims)
    for i in range(size):
        for t in range(dims):
            row[t] = -2.0 * products[i, t]
        for g in range(pairs.shape[0]):
            first, last = columns_of(g, pairs.shape[0], dims)
            for j in range(size):
                factor = pairs[g, i, j]
                for t in range(first, last):
                    row[t] += factor * features[j, t]
        weight = widths[i] ** -2.0
        for t in range(dims):
            left[t] += features[i, t] * row[t]
            sizes[t] += weight * features[i, t] * features[i, t]
    for t in range(dims):
        left[t] = max(left[t], 0.0)
    return left, sizes


@jit
def draw_scales(left, sizes, noise, scale, shared, rates, gammas, size_gamma):
    """Return s and the feature scale given |R|^2 and |A|^2 of each column (`scale_sums`).

    Where `gammas` is not empty, ``np.sqrt(0.5 * (rates[0] + left + sizes / scale**2) / gammas)``;
    with shared noise all are ``np.sqrt(0.5 * (rates[0] + left.sum()) / gammas[0])``. Where
    `size_gamma` is not 0, ``np.sqrt(0.5 * (rates[1] + (sizes / noise**2).sum()) / size_gamma)``,
    without the division if noise is shared.
    """
    dims, fresh = noise.shape[0], noise.copy()
    if gammas.shape[0] > 0 and shared:
        total = rates[0]
        for t in range(dims):
            total += left[t]
        for t in range(dims):
            fresh[t] = math.sqrt(0.5 * total / gammas[0])
    elif gammas.shape[0] > 0:
        for t in range(dims):
            fresh[t] = math.sqrt(0.5 * (rates[0] + left[t] + sizes[t] / scale**2) / gammas[t])
    if size_gamma > 0.0:
        total = rates[1]
        for t in range(dims):
            total += sizes[t] if shared else sizes[t] / (fresh[t] * fresh[t])
        scale = math.sqrt(0.5 * total / size_gamma)
    return fresh, scale


@jit
def draw_parameters(
    pairs, products, squares, free, widths, noise, scale, shared, rates, normals, gammas,
    size_gamma, spare,
):  # fmt: skip
    """Return all features, those drawn (a background last), s, feature scale and `log det`.

    `draw_features`, then `draw_scales` given these; features that are not `free` come from their
    prior: ``features[~free] = scale * noise * spare``, ``scale * spare`` with shared noise.
    """
    dims, size = noise.shape[0], free.shape[0]
    deviations = widths * (scale / noise[0] if shared else scale)
    drawn, log_det = draw_features(pairs, products, deviations, noise, normals)
    left, sizes = scale_sums(pairs, products, squares, drawn, widths)
    noise, scale = draw_scales(left, sizes, noise, scale, shared, rates, gammas, size_gamma)
    features, at = np.empty((size, dims)), 0
    for i in range(size):
        if free[i]:
            for t in range(dims):
                features[i, t] = drawn[at, t]
            at += 1
        else:
            for t in range(dims):
                features[i, t] = scale * spare[i - at, t] * (1.0 if shared else noise[t])
    return features, drawn, noise, scale, log_det


@jit
def log_inverse_gamma(scales, variance):
    """Return the log density of log s, s^2 ~ InvGamma(2, v/2), summed over scales.

    ``stats.invgamma.logpdf(scales**2, 2, scale=variance / 2) + np.log(2 * scales**2)``
    """
    rate, value = 0.5 * variance, 0.0
    for s in scales:
        value += math.log(2.0 * rate * rate) - 4.0 * math.log(s) - rate / (s * s)
    return value
