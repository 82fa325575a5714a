"""A Gibbs sweep over rows with the features kept, entry by entry, as printed or right.

The log-odds of z_ni = 1 given the other entries, with k ones among them, are

    log f(k+1) - log f(k) + theta_i + log p(x_n | z_ni = 1) - log p(x_n | z_ni = 0) - log(divisor),

    divisor as printed: the sum of the odds w_j of the features that are off, i counted as off;
    right:              e_{k+1} / e_k, symmetric polynomials of the odds of ALL features.

Where f is a point mass no entry can change, and the paper relocates ones instead, which is right as
printed and not repeated here.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import GaussianParameters
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import gibbs
from ribp.model import Model, State, SweepInfo
from ribp.symmetric import log_esp

__all__ = ["sweep_rows", "update"]


def update(
    rng: np.random.Generator, state: State, model: Model, data: Data, *, printed: bool = True
) -> tuple[State, SweepInfo]:
    """Make one sweep: rows as above, all else as the library does it."""
    rows = sweep_rows(
        rng, data, state.rows, state.parameters, state.log_odds, state.count_log_probs,
        model.counts.law_of_row, printed=printed,
    )  # fmt: skip
    return gibbs.finish_in_memory(rng, state._replace(rows=rows), model, data)


def sweep_rows(
    rng: np.random.Generator,
    data: Data,
    rows: Rows,
    parameters: GaussianParameters,
    log_odds: FloatArray,
    log_probs: FloatArray,
    which: IntArray,
    *,
    printed: bool = True,
) -> Rows:
    """Return new rows; every feature is visited once, in all rows together.

    Parameters
    ----------
    rng
    data
        Linear-Gaussian data; entries may be missing.
    rows
        z, shape (rows, features).
    parameters
        Features and noise.
    log_odds
        theta, shape (features,).
    log_probs
        log f of each count law, shape (laws, features + 1).
    which
        The law of each row.
    printed
        Whether to divide as printed, or rightly.
    """
    z, n = rows.astype(np.float64), np.arange(len(rows))
    law, log_ratios = log_probs[which], np.diff(log_esp(log_odds))
    scaled = parameters.features / parameters.noise_scale
    seen = np.ones(data.values.shape) if data.complete else data.observed.astype(np.float64)
    offset = np.where(seen > 0, data.values - parameters.background, 0.0) / parameters.noise_scale
    residual = seen * (offset - z @ scaled)
    for i, feature in enumerate(scaled):
        others = z.sum(axis=1) - z[:, i]
        k = others.astype(np.int64)
        residual += seen * np.outer(z[:, i], feature)
        gain = residual @ feature - 0.5 * seen @ feature**2
        divisor = _log_free(log_odds, z, i) if printed else log_ratios[k]
        up, down = law[n, k + 1] + log_odds[i] - divisor + gain, law[n, k]
        uniform = rng.random(len(z))
        stuck = np.isneginf(up) & np.isneginf(down)
        with np.errstate(invalid="ignore"):
            on = np.log(uniform) - np.log1p(-uniform) < up - down
        z[:, i] = np.where(stuck, z[:, i], on)
        residual -= seen * np.outer(z[:, i], feature)
    return z.astype(np.int8)


def _log_free(log_odds: FloatArray, z: FloatArray, i: int) -> FloatArray:
    """Return the log of the sum of the odds of features that are off, i counted as off."""
    off = 1.0 - z
    off[:, i] = 1.0
    return np.asarray(logsumexp(np.broadcast_to(log_odds, z.shape), b=off, axis=1))
