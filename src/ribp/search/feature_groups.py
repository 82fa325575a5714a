"""Which features go together: as rows that have them, and as what they add to the data.

What repairs (`ribp.search.repairs`) ask before they change rows.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Rows

SAME = 0.99
"""F1 of features that sweeps would make the same."""


def pairwise_f1(ones: Rows, others: Rows) -> FloatArray:
    """Return F1 of each feature of the first with each of the second."""
    both = 2.0 * (ones.T.astype(float) @ others)
    return np.asarray(both / np.maximum(ones.sum(axis=0)[:, None] + others.sum(axis=0), 1))


def correlations(ones: Rows, others: Rows) -> FloatArray:
    """Return the size of the correlation of each feature of the first with each of the second."""
    first, second = ones - ones.mean(axis=0), others - others.mean(axis=0)
    norms = np.outer(np.linalg.norm(first, axis=0), np.linalg.norm(second, axis=0))
    return np.asarray(np.abs(first.T @ second) / np.maximum(norms, 1e-12))


def are_same(fresh: Rows, old: Rows) -> bool:
    """Return whether these are the same features, in any order, or nearly."""
    if not fresh.size or fresh.shape != old.shape:
        return False
    f1 = pairwise_f1(fresh, old)
    return bool((f1.max(axis=0) >= SAME).all() and (f1.max(axis=1) >= SAME).all())


def lent(rng: np.random.Generator, rows: Rows, other: Rows) -> tuple[IntArray, IntArray]:
    """Return features of another start, and those of this one in whose place they come.

    One that the other start alone has, and all in either start that go with it: those whose rows
    correlate, and those that correlate with these. Both are empty if this start has all of them.
    """
    f1 = pairwise_f1(rows, other)
    fresh = np.flatnonzero(other.any(axis=0) & (f1.max(axis=0) < SAME))
    own = np.flatnonzero(rows.any(axis=0) & (f1.max(axis=1) < SAME))
    if not fresh.size:
        return fresh, own[:0]
    near = correlations(rows[:, own], other[:, fresh]) > rng.random()
    taken = np.arange(fresh.size) == rng.integers(fresh.size)
    gone = near @ taken
    return fresh[taken | (gone @ near)], own[gone]


def complements(rng: np.random.Generator, means: FloatArray, one: int, used: IntArray) -> list[int]:
    """Return features that, switched in all rows, have the sum that a common feature has.

    z A = A + (1 - z) (-A): a feature of nearly all rows may be the sum of some whose rows are the
    complements of what they should be.
    """
    left, chosen, others = means[one], [], [int(i) for i in used if i != one]
    while others:
        nearer = np.maximum(left @ left - ((left + means[others]) ** 2).sum(axis=1), 0.0)
        if not nearer.any():
            break
        chosen.append(others.pop(rng.choice(len(others), p=nearer / nearer.sum())))
        left = left + means[chosen[-1]]
    return chosen


def resembling(rng: np.random.Generator, means: FloatArray, size: int) -> list[int]:
    """Return a feature, and others of which it is nearly a combination (matching pursuit)."""
    number = len(means)
    norms = np.linalg.norm(means, axis=1) + 1e-12
    unit = means / norms[:, None]
    cosines = np.abs(unit @ unit.T)
    np.fill_diagonal(cosines, 0.0)
    weights = np.ones(number)
    if rng.random() < 0.5:  # rather one that resembles another
        weights = (cosines.max(axis=1) + 1e-3) ** 4
    chosen = [int(rng.choice(number, p=weights / weights.sum()))]
    left = unit[chosen[0]]
    while len(chosen) < min(size, number):
        along = (unit @ left) ** 2 + 1e-6
        along[chosen] = 0.0
        chosen.append(int(rng.choice(number, p=along / along.sum())))
        basis = unit[chosen[1:]]
        left = unit[chosen[0]] - np.linalg.lstsq(basis.T, unit[chosen[0]])[0] @ basis
        if left @ left < 0.05**2:
            left = unit[chosen[-1]]
    return chosen
