"""Rows of Gaussian data drawn again, given the features: all rows at once, in NumPy.

Kernels for rows with features kept would be compiled for this alone, which takes longer than a fit.
A step, with r the residual of a row over the entries that are shown, a_i = A_i/s, all else given:

- relocate: a feature that is on, chosen at random, goes to place i with probability proportional to
  exp(theta_i + r . a_i - |a_i|^2/2), r without it, over places that are not taken;
- flip: each feature in turn is on with log-odds theta_i + t(k+1) - t(k) + r . a_i - |a_i|^2/2, r
  and the count k without it, t the table of the row's law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Data, Rows, shown
from ribp.likelihoods.row_sweeps import RowPrior

_SWEEPS = 2
_RELOCATIONS = 2  # of each feature that is on, in a sweep, on average


def redrawn(
    rng: np.random.Generator,
    data: Data,
    rows: Rows,
    parameters: Any,
    prior: RowPrior,
    law_of_row: IntArray,
) -> Rows:
    """Return rows after a few steps given the features."""
    seen = shown(data).astype(np.float64)
    a = parameters.features / parameters.noise_scale
    left = (data.values - parameters.background) / parameters.noise_scale
    left = (left - rows.astype(np.float64) @ a) * seen
    base = prior.log_odds - 0.5 * (seen @ (a**2).T)  # theta_i - |a_i|^2/2 of each row
    on = rows > 0
    steps = np.diff(np.where(np.isfinite(prior.tables), prior.tables, -1e9), axis=1)[law_of_row]
    several = np.isfinite(prior.tables).sum(axis=1)[law_of_row] > 1
    for _ in range(_SWEEPS):
        for _ in range(round(_RELOCATIONS * float(on.sum(axis=1).mean())) if a.size else 0):
            _relocate(rng, on, left, seen, a, base)
        for i in range(on.shape[1]) if several.any() else ():
            _flip(rng, i, on, left, seen, a, base[:, i], steps, several)
    return on.astype(np.int8)


def _relocate(
    rng: np.random.Generator,
    on: Any,
    left: FloatArray,
    shown: FloatArray,
    a: FloatArray,
    base: FloatArray,
) -> None:
    """Move a feature of every row that has one, in place."""
    some = np.flatnonzero(on.any(axis=1))
    old = np.where(on[some], rng.random((some.size, len(a))), -1.0).argmax(axis=1)
    on[some, old] = False
    left[some] += a[old] * shown[some]
    scores = np.where(on[some], -np.inf, left[some] @ a.T + base[some])
    new = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    on[some, new] = True
    left[some] -= a[new] * shown[some]


def _flip(
    rng: np.random.Generator,
    i: int,
    on: Any,
    left: FloatArray,
    shown: FloatArray,
    a: FloatArray,
    base: FloatArray,
    steps: FloatArray,
    several: Any,
) -> None:
    """Draw feature i of every row whose law leaves a choice, in place."""
    was = on[:, i].copy()
    rest = on.sum(axis=1) - was
    along = left @ a[i] + was * (shown @ a[i] ** 2)
    log_odds = base + along + steps[np.arange(len(on)), rest]
    now = np.where(several, rng.random(len(on)) < expit(log_odds), was)
    left -= (now.astype(np.float64) - was)[:, None] * a[i] * shown
    on[:, i] = now
