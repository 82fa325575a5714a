"""Toy data whose features are found by any right method."""

from typing import NamedTuple

import numpy as np


class Clear(NamedTuple):
    """Data of which the truth is known."""

    counts: np.ndarray
    rows: np.ndarray
    components: np.ndarray
    values: np.ndarray


def clear_features(rng, n_rows, n_dims, n_features=4, most=2, size=2.0, noise=0.3):
    """Return rows of one to `most` features, with little noise."""
    counts = rng.integers(1, most + 1, size=n_rows)
    rows = np.array([rng.permutation(np.arange(n_features) < k) for k in counts], np.int8)
    components = rng.normal(0, size, (n_features, n_dims))
    values = rows @ components + noise * rng.normal(size=(n_rows, n_dims))
    return Clear(counts, rows, components, values)
