"""Seeds: a NumPy Generator drives, kernels get 64-bit keys drawn from it."""

from __future__ import annotations

import numpy as np


def kernel_seed(rng: np.random.Generator) -> np.uint64:
    """Draw the key of one counter-based stream (see `ribp.kernels.random`)."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
