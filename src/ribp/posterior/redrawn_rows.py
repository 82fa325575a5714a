"""Rows drawn again, given the features and weights of a draw and some of the data.

All rows at once, in NumPy: kernels for rows with features kept would be compiled for this alone,
which takes longer than a fit. A step, with r the residual of a row over the entries that are shown,
a_i = A_i/s, all else given:

- relocate: a feature that is on, chosen at random, goes to place i with probability proportional to
  exp(theta_i + r . a_i - |a_i|^2/2), r without it, over places that are not taken;
- flip: each feature in turn is on with log-odds theta_i + t(k+1) - t(k) + r . a_i - |a_i|^2/2, r
  and the count k without it, t the table of the row's law.

Counts have their own kernels, which their fit has compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Data, Likelihood, LinearGaussian
from ribp.likelihoods.base import RowLaws, Rows
from ribp.likelihoods.rows_kept import RowPrior
from ribp.mcmc.rows_given_features import Step, Sweep, sweep_rows
from ribp.posterior.draws import Draws
from ribp.posterior.new_rows import laws_given

__all__ = ["redrawn_rows"]

_SWEEPS = 2
_RELOCATIONS = 2  # of each feature that is on, in a sweep, on average


def redrawn_rows(
    rng: np.random.Generator,
    draws: Draws,
    s: int,
    likelihood: Likelihood[Any],
    data: Data,
    which: IntArray,
) -> Rows:
    """Return rows given draw s of everything else, shape (rows, features).

    Parameters
    ----------
    rng, draws, s, likelihood
    data
        What is shown of the rows.
    which
        The count law of each row.
    """
    real, given = np.isfinite(draws.log_odds[s]), draws.parameters[s]
    parameters = given._replace(features=np.ascontiguousarray(given.features[real]))
    laws = laws_given(draws.log_odds[s][real], draws.count_log_probs[s], which)
    rows = np.ascontiguousarray(draws.unpacked(s)[:, real])
    if isinstance(likelihood, LinearGaussian):
        rows = _gaussian(rng, data, rows, parameters, laws)
    else:
        seed = rng.integers(2**63, dtype=np.uint64)
        sizes = np.bincount(which, minlength=len(laws.tables))
        prior = RowPrior(laws.log_odds, laws.tables, laws.whole, sizes)
        steps = tuple(Step(number, prior) for number in range(2 * _SWEEPS))
        rows, _ = sweep_rows(Sweep(likelihood, seed, parameters, steps), data, which, rows)
    found = np.zeros((len(rows), real.size), np.int8)
    found[:, real] = rows
    return found


def _gaussian(
    rng: np.random.Generator, data: Data, rows: Rows, parameters: Any, laws: RowLaws
) -> Rows:
    shown = data.observed.astype(np.float64)
    a = parameters.features / parameters.noise_scale
    left = (data.values - parameters.background) / parameters.noise_scale
    left = (left - rows.astype(np.float64) @ a) * shown
    base = laws.log_odds - 0.5 * (shown @ (a**2).T)  # theta_i - |a_i|^2/2 of each row
    on = rows > 0
    steps = np.diff(np.where(np.isfinite(laws.tables), laws.tables, -1e9), axis=1)[laws.which]
    several = np.isfinite(laws.tables).sum(axis=1)[laws.which] > 1
    for _ in range(_SWEEPS):
        for _ in range(round(_RELOCATIONS * float(on.sum(axis=1).mean())) if a.size else 0):
            _relocate(rng, on, left, shown, a, base)
        for i in range(on.shape[1]) if several.any() else ():
            _flip(rng, i, on, left, shown, a, base[:, i], steps, several)
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
