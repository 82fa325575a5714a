"""Factors turned so that each loads on few columns (varimax), most of its loadings positive."""

from __future__ import annotations

from typing import Any

import numpy as np

_ROUNDS = 200


def turned(scores: Any, weights: Any) -> tuple[Any, Any]:
    """Return scores (rows, factors) and weights (dims, factors) with the same product.

    Scores get a standard deviation of one before they are turned, as those of factor analysis have.
    """
    sizes = scores.std(axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scores, weights = scores / sizes, weights * sizes
    rotation = np.eye(len(sizes))
    for _ in range(_ROUNDS):
        w = weights @ rotation
        left, _, right = np.linalg.svd(weights.T @ (w**3 - w * (w**2).mean(axis=0)))
        rotation = left @ right
    signs = np.where((weights @ rotation).sum(axis=0) < 0.0, -1.0, 1.0)
    return scores @ rotation * signs, weights @ rotation * signs
