"""Sparse codes of rows, exactly k_n of row n, on directions that are given or learned.

- `pursuit`: orthogonal matching pursuit. Again and again a row takes the direction that its
  residual is most along, k_n times, and all its codes are fitted anew;
- `ksvd`: K-SVD. A round is a pursuit of all rows; then each direction and its codes are fitted
  anew to the rows that use it, the others held: the rank-one matrix d c' nearest to what they leave
  of these rows, by a few alternating steps, of which none makes the residual larger. A direction
  that no row uses becomes the row that is fitted worst. The best of some starts, which are rows:
  first those with the fewest features, then any.

No library takes a count per row. With `positive` codes are not negative, directions are free.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ribp.checks import FloatArray, IntArray

_STARTS, _ROUNDS, _STEPS = 5, 30, 3
_TINY = np.finfo(float).tiny


def pursuit(
    values: FloatArray, directions: FloatArray, counts: IntArray, *, positive: bool = True
) -> FloatArray:
    """Return codes of rows: k_n of them are not zero, or all where there are not so many.

    Parameters
    ----------
    values
        Shape (rows, dims).
    directions
        Of length one, shape (directions, dims).
    counts
        k_n.
    positive
        Whether codes are not negative.
    """
    codes = np.zeros((len(values), len(directions)))
    for n, (row, number) in enumerate(zip(values, counts, strict=True)):
        chosen: list[int] = []
        residual, fit = row, np.zeros(0)
        for _ in range(min(int(number), len(directions))):
            along = directions @ residual if positive else np.abs(directions @ residual)
            along[chosen] = -np.inf
            chosen.append(int(along.argmax()))
            basis = directions[chosen].T
            fit = nnls(basis, row)[0] if positive else np.linalg.lstsq(basis, row)[0]
            residual = row - fit @ directions[chosen]
        codes[n, chosen] = np.where(fit == 0.0, _TINY, fit)  # chosen, if only just
    return codes


def ksvd(
    values: FloatArray, number: int, counts: IntArray, seed: int, *, positive: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return codes, as `pursuit` gives them, and so many directions of length one."""
    rng, best = np.random.default_rng([seed, 8]), np.inf
    for start in range(_STARTS):
        order = rng.permutation(np.flatnonzero(counts))
        if start == 0:
            order = order[np.argsort(counts[order], kind="stable")]
        directions = _unit(values[np.resize(order, number)])
        for _ in range(_ROUNDS):
            codes = pursuit(values, directions, counts, positive=positive)
            left = float(((values - codes @ directions) ** 2).sum())
            if left < best:
                best, found = left, (codes, directions)
            codes, directions = improved(values, codes, directions, positive=positive)
    return found


def improved(
    values: FloatArray, codes: FloatArray, directions: FloatArray, *, positive: bool
) -> tuple[FloatArray, FloatArray]:
    """Return codes and directions after one update of each direction and its codes."""
    codes, directions = codes.copy(), directions.copy()
    residual = values - codes @ directions
    badness = (residual**2).sum(axis=1)
    for i in range(len(directions)):
        users = np.flatnonzero(codes[:, i])
        if users.size == 0:
            worst = int(badness.argmax())
            badness[worst] = 0.0  # once only
            directions[i] = _unit(values[worst])
            continue
        theirs, code = residual[users] + np.outer(codes[users, i], directions[i]), codes[users, i]
        for _ in range(_STEPS):
            if not (along := theirs.T @ code).any():
                break
            directions[i] = _unit(along)
            code = theirs @ directions[i]
            code = np.maximum(code, 0.0) if positive else code
        codes[users, i] = code
        residual[users] = theirs - np.outer(code, directions[i])
    return codes, directions


def _unit(rows: FloatArray) -> FloatArray:
    """Return rows of length one; a row of zeros stays."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), _TINY))
