"""Statistics of a draw that do not depend on how features are named."""

import numpy as np


def statistics(rows) -> tuple[float, float, float]:
    """Return (row 1 = row 2, number of distinct features, pairs of rows that share a feature)."""
    z = rows.toarray() > 0
    shared = (z.astype(int) @ z.T.astype(int) > 0).sum() - z.any(axis=1).sum()
    return float((z[0] == z[1]).all()), float(z.any(axis=0).sum()), float(shared / 2)


def many(draw, repeats, seed):
    """Return the statistics of `repeats` independent draws, shape (repeats, 3)."""
    rng = np.random.default_rng(seed)
    return np.array([statistics(draw(rng)) for _ in range(repeats)])
