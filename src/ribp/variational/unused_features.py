"""A use for a feature that no row has: what rows that are badly explained have in common.

The residual of a row is r_n = (x_n - E[z_n] A)/s, zero where x is missing. Of the rows of a batch
the 32 with the largest |r_n| are taken, and of these the one that the others agree with most, whose
sum of r_n . r_m over all others is largest. (The farthest row of all is often one that lacks a
feature and has a wrong one besides.) The unused feature becomes what that row alone would make of
it: q(A_d) = N(h s_d r_nd, h s_d^2) with h = t^2/(1 + t^2), and it gets the odds of the rarest
feature in use. Batches to come make it better, or leave it alone: then it is unused again.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import BoolArray, Data
from ribp.variational.features import FeatureFactor

_FARTHEST = 32  # rows that are compared


def seeded(
    likelihood: LinearGaussian,
    data: Data,
    means: FloatArray,
    factor: FeatureFactor,
    parameters: GaussianParameters,
    log_odds: FloatArray,
    in_use: BoolArray,
) -> tuple[FeatureFactor, FloatArray]:
    """Return features of which an unused one explains what some rows have in common, and weights.

    Parameters
    ----------
    likelihood, data
        Whether there is a background; the rows of a batch.
    means
        E[z_n] of these rows, shape (rows, features).
    factor, parameters
        q(A), and the scales.
    log_odds
        theta, shape (features,).
    in_use
        Which features some rows have, shape (features,): some, not all.
    """
    scale, t = parameters.noise_scale, likelihood.relative_scale(parameters)
    background = factor.mean[-1] if likelihood.background else 0.0
    rest = (data.values - means @ factor.mean[: means.shape[1]] - background) / scale
    if not data.complete:
        rest[~data.observed] = 0.0
    unused, share = int(np.argmin(in_use)), t**2 / (1.0 + t**2)
    mean, covariance, theta = factor.mean.copy(), factor.covariance.copy(), log_odds.copy()
    mean[unused] = share * scale * rest[_typical(rest)]
    covariance[:, unused, :] = covariance[:, :, unused] = 0.0
    covariance[:, unused, unused] = share
    theta[unused] = log_odds[in_use].min()
    return FeatureFactor(mean, covariance), theta


def _typical(rest: FloatArray) -> int:
    """Return which of the rows that are far from zero most others agree with."""
    far = np.argsort(-(rest**2).sum(axis=1), kind="stable")[:_FARTHEST]
    products = rest[far] @ rest[far].T
    np.fill_diagonal(products, 0.0)
    return int(far[np.argmax(products.sum(axis=1))])
