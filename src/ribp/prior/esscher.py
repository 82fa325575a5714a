"""Rejection with tilted coins: as `rejection`, after moving the expected number of ones to J.

The Esscher transform adds a constant to all log-odds and leaves the law given the count unchanged.
With the expected count at J about one row in 2.5 standard deviations of the count is accepted.
Tilts are computed once for each J.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.prior.draw import Draw
from ribp.prior.inclusion import totals_and_weights
from ribp.prior.rejection import acceptance, throw
from ribp.prior.request import Request


def sample(request: Request) -> Draw:
    """Draw rows by coins tilted for the count of each row."""
    totals, weights = totals_and_weights(request)
    which, accept = acceptance(request, totals, None)
    probs = np.array([tilted_coins(weights.log_odds, level) for level in np.unique(totals)])
    return throw(request, weights, which, probs.reshape(-1, weights.log_odds.size), accept)


def tilted_coins(log_odds: FloatArray, ones: int | IntArray) -> FloatArray:
    """Return coin probabilities with the odds' ratios and `ones` as their sum."""
    from ribp.kernels.quadrature import solve_tilt

    if ones in (0, log_odds.size):
        return np.full(log_odds.size, float(ones > 0))
    return solve_tilt(log_odds, int(ones), 1e-10)[1]
