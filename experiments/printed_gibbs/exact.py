"""Posteriors of one row that can be enumerated, and where printed sweeps take them.

Six features with known values in four columns. For each count law and noise, features and rows x
are drawn from the model; a sweep of six steps is a 64 x 64 matrix, and its stationary law is set
beside p(z | x): total variation, and the mean count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.printed.rows import flip_matrix
from ribp import counts
from ribp.checks import FloatArray
from ribp.testing.exact import all_rows, row_probs

_WEIGHTS = np.array([0.7, 0.5, 0.4, 0.2, 0.1, 0.05])
THETA = np.log(_WEIGHTS / (1 - _WEIGHTS))
DIMS = 4
NOISES = (0.25, 0.5, 1.0, 2.0, 4.0, 100.0)
LAWS = {
    "one, or Poisson(3)": counts.truncated(
        counts.mixture([(0.8, counts.exactly(1)), (0.2, counts.poisson(3))]), 0, 6
    ),
    "1 to 3": counts.uniform(1, 3),
    "3 to 5": counts.uniform(3, 5),
}


def compare(n_rows: int) -> dict[str, Any]:
    """Return medians over rows for every law and noise; the last noise leaves the prior."""
    return {
        name: {f"{noise:g}": _summary(name, noise, n_rows) for noise in NOISES} for name in LAWS
    }


def _summary(name: str, noise: float, n_rows: int) -> dict[str, float]:
    law, rows = LAWS[name], all_rows(THETA.size)
    rng = np.random.default_rng([list(LAWS).index(name), NOISES.index(noise)])
    prior = row_probs(THETA, law)
    found = []
    for at in rng.choice(len(rows), n_rows, p=prior):
        features = rng.normal(size=(THETA.size, DIMS))
        x = rows[at] @ features + noise * rng.normal(size=DIMS)
        height = -0.5 * (((x - rows @ features) / noise) ** 2).sum(axis=1)
        target = prior * np.exp(height - height.max())
        target /= target.sum()
        wrong, right = (_stationary(law, height, target, printed) for printed in (True, False))
        ones = rows.sum(axis=1)
        found.append(
            (
                0.5 * np.abs(wrong - target).sum(),
                ones @ wrong - ones @ target,
                0.5 * np.abs(right - target).sum(),
            )
        )
    variation, shift, check = np.array(found).T
    return {
        "total variation, median": float(np.median(variation)),
        "total variation, largest": float(variation.max()),
        "mean count less the right one, mean": float(shift.mean()),
        "total variation of the right sweep is below 1e-9": bool(check.max() < 1e-9),
    }


def _stationary(
    law: counts.CountLaw, height: FloatArray, target: FloatArray, printed: bool
) -> FloatArray:
    """Return the law that a sweep over all entries keeps, on the rows that are possible."""
    size = THETA.size
    sweep = np.linalg.multi_dot(
        [flip_matrix(THETA, law, i, height, printed=printed) for i in range(size)]
    )
    possible = np.isin(all_rows(size).sum(axis=1), np.flatnonzero(law.probs(size)))
    answer = _kept_law(sweep[np.ix_(possible, possible)])
    whole = np.zeros(len(target))
    whole[possible] = answer
    return whole


def _kept_law(matrix: FloatArray) -> FloatArray:
    """Return the stationary law of a transition matrix, without any subtraction.

    States are taken out one after another, the last first (Grassmann, Taksar and Heyman): what is
    left is the chain watched on the others. Exact to rounding even where modes hardly exchange.
    """
    p, size = matrix.copy(), len(matrix)
    for last in range(size - 1, 0, -1):
        p[:last, last] /= p[last, :last].sum()
        p[:last, :last] += np.outer(p[:last, last], p[last, :last])
    law = np.zeros(size)
    law[0] = 1.0
    for state in range(1, size):
        law[state] = law[:state] @ p[:state, state]
    return law / law.sum()
