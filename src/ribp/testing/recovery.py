"""Scores of fitted features whose truth is known.

Features have no names, so the fitted ones are matched to the true ones, one to one, such that the
sum of a score over pairs is largest (the Hungarian method). F1 of a pair of 0/1 columns z, t is ``2
z.t / (|z| + |t|)``: 1 if they are the same rows, 0 if they share none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ribp.checks import FloatArray

__all__ = ["correlations", "f1", "feature_f1", "n_recovered"]

_LEAST_CORRELATION = 0.95


def feature_f1(fitted: ArrayLike, truth: ArrayLike) -> FloatArray:
    """Return F1 of each true feature with the one matched to it, 0 without one.

    Parameters
    ----------
    fitted, truth
        0 and 1, shape (rows, features) each; numbers of features may differ.
    """
    both, sizes, pairs = _matched(fitted, truth)
    scores = np.zeros(both.shape[1])
    scores[pairs[1]] = 2.0 * both[pairs] / np.maximum(sizes[pairs], 1.0)
    return scores


def f1(fitted: ArrayLike, truth: ArrayLike) -> float:
    """Return F1 of all entries, after features were matched."""
    both, _, pairs = _matched(fitted, truth)
    total = np.asarray(fitted, dtype=np.float64).sum() + np.asarray(truth, dtype=np.float64).sum()
    return float(2.0 * both[pairs].sum() / max(total, 1.0))


def _matched(
    fitted: ArrayLike, truth: ArrayLike
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Return overlaps and sizes of all pairs, and which are matched."""
    z, t = np.asarray(fitted, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    both, sizes = z.T @ t, z.sum(axis=0)[:, None] + t.sum(axis=0)
    return both, sizes, linear_sum_assignment(-both / np.maximum(sizes, 1.0))


def n_recovered(features: ArrayLike, truth: ArrayLike) -> int:
    """Return how many true components have a fitted one whose correlation is above 0.95 in size."""
    both = np.abs(correlations(features, truth))
    return int((both[linear_sum_assignment(-both)] > _LEAST_CORRELATION).sum())


def correlations(features: ArrayLike, truth: ArrayLike) -> FloatArray:
    """Return the correlation of each fitted component with each true one; 0 for constant ones."""
    a, b = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (features, truth))
    if a.size == 0:
        return np.zeros((0, len(b)))
    a, b = (one - one.mean(axis=1, keepdims=True) for one in (a, b))
    norms = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    products: FloatArray = a @ b.T
    return products / np.where(norms > 0.0, norms, np.inf)
