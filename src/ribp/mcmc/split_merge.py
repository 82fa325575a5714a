"""Splitting a feature in two and merging two into one, their values integrated out (MATH 7).

Counts of rows are kept. U are the rows that have exactly one of the features i, j. If all of them
have i they are shared out between both (`ribp.kernels.split_merge`), in random order; if all have j
nothing is done; otherwise all go to i. The way back from a split is a merge, which is certain, so
the ratio has one over the probability of the shares. But where all rows were given to one feature
the way back is a split too (of the pair (j, i) if they went to j), and of equal probability: there
it cancels.

The sum of the two odds stays, and their shares phi = w_i/(w_i + w_j) are drawn afresh from
Beta(m_i' + 1, m_j' + 1); Jacobian 1 in (log(w_i + w_j), logit phi). Accepted on
p(X | Z) p(Z, theta), for complete data with unit noise (missing entries filled).

Single rows cannot do this: half-way between a feature and its two halves lies a valley. Used while
the noise is lowered at the start of a chain.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import betaln

from ribp.checks import FloatArray
from ribp.kernels.split_merge import share_out
from ribp.likelihoods.base import Rows
from ribp.mcmc.rows_collapsed import gaussian, summarise
from ribp.model import Model, State
from ribp.rng import kernel_seed

__all__ = ["split_or_merge"]


def log_marginal(scaled: FloatArray, rows: FloatArray, relative_scale: float) -> float:
    """Return log p(X | Z) of complete data with unit noise, up to a constant in Z."""
    precision = rows.T @ rows + np.eye(rows.shape[1]) / relative_scale**2
    root = cholesky(precision, lower=True)
    half = solve_triangular(root, rows.T @ scaled, lower=True)
    log_det = np.log(np.diag(root)).sum() + rows.shape[1] * math.log(relative_scale)
    return float(0.5 * (half**2).sum() - scaled.shape[1] * log_det)


def _log_target(model: Model, state: State, scaled: FloatArray) -> float:
    likelihood = gaussian(model)
    rows = likelihood.with_background(state.rows[:, state.rows.any(axis=0)]).astype(np.float64)
    scale = likelihood.relative_scale(state.parameters)
    return model.log_prior(state) + log_marginal(scaled, rows, scale)


def split_or_merge(
    rng: np.random.Generator, state: State, model: Model, scaled: FloatArray, n_moves: int
) -> tuple[State, int]:
    """Try `n_moves` moves on random pairs of features; return how many were accepted, too."""
    now, accepted = _log_target(model, state, scaled), 0
    for _ in range(n_moves):
        i, j = rng.choice(model.n_features, 2, replace=False)
        in_first = state.rows[:, i] > state.rows[:, j]
        in_second = state.rows[:, i] < state.rows[:, j]
        if not in_first.any():
            continue
        proposal, log_ratio = _split_or_merge_pair(
            rng, state, model, scaled, int(i), int(j), in_first | in_second
        )
        there = _log_target(model, proposal, scaled)
        if math.log(rng.random()) < there - now + log_ratio:
            state, now, accepted = proposal, there, accepted + 1
    return state, accepted


def _split_or_merge_pair(
    rng: np.random.Generator,
    state: State,
    model: Model,
    scaled: FloatArray,
    i: int,
    j: int,
    moving: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> tuple[State, float]:
    """Return the proposal and log q(back) - log q(there)."""
    likelihood = gaussian(model)
    splits = bool((state.rows[moving, i] == 1).all())
    order = rng.permutation(np.flatnonzero(moving))
    rows: Rows = likelihood.with_background(state.rows).copy()
    both = int((rows[:, i] & rows[:, j]).sum())
    rest = ~moving
    cov, mean, _ = summarise(
        scaled[rest],
        rows[rest].astype(np.float64),
        likelihood.relative_scale(state.parameters),
    )
    sizes = np.array([both, both])
    log_prob = share_out(
        kernel_seed(rng), 0, scaled, rows, i, j, order, cov, mean, sizes, not splits
    )
    if not splits:
        rows[moving, i], rows[moving, j] = 1, 0
        log_ratio = log_prob
    else:
        in_both = rows[moving, i].any() and rows[moving, j].any()
        log_ratio = -log_prob if in_both else 0.0
    rows = np.ascontiguousarray(rows[:, : model.n_features])
    log_odds = state.log_odds.copy()
    total = np.logaddexp(log_odds[i], log_odds[j])
    logit = log_odds[i] - log_odds[j]
    old = _sizes(state.rows, i, j)
    new = _sizes(rows, i, j)
    drawn = _logit_beta(rng, *new)
    log_odds[i] = total - np.logaddexp(0.0, -drawn)
    log_odds[j] = total - np.logaddexp(0.0, drawn)
    log_ratio += _log_logit_beta(logit, *old) - _log_logit_beta(drawn, *new)
    return state._replace(rows=rows, log_odds=log_odds), log_ratio


def _sizes(rows: Rows, i: int, j: int) -> tuple[float, float]:
    return float(rows[:, i].sum()) + 1.0, float(rows[:, j].sum()) + 1.0


def _logit_beta(rng: np.random.Generator, a: float, b: float) -> float:
    return math.log(rng.standard_gamma(a)) - math.log(rng.standard_gamma(b))


def _log_logit_beta(logit: float, a: float, b: float) -> float:
    """Return the log density of logit(phi), phi ~ Beta(a, b)."""
    return float(-a * np.logaddexp(0.0, -logit) - b * np.logaddexp(0.0, logit) - betaln(a, b))
