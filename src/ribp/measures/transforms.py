"""Three views of the same weights, and why a row cannot tell them apart.

The restricted law of a row,

    R-BeP(z; w, f) = f(|z|) prod_i w_i^{z_i} / e_{|z|}(w),

does not change when every odds w_i is multiplied by e^beta: numerator and denominator both gain
e^{beta |z|}. So the weights pi_i, the odds w_i = pi_i/(1-pi_i) (atoms of a beta-prime process) and
the odds divided by their sum (a normalised beta-prime process) direct the same rows. In log-odds
the multiplication is a shift, and for the weights it is the Esscher transform

    pi -> pi e^beta / (pi e^beta + 1 - pi).

The absolute scale of w is fixed by the prior on the weights alone; any shift may be used for
arithmetic, such as the one that makes the expected count of independent entries equal to J.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError


def odds(log_odds: ArrayLike) -> FloatArray:
    """Return the odds w = exp(log_odds); above log-odds 709 they are infinite in floating point."""
    with np.errstate(over="ignore"):
        result: FloatArray = np.exp(checks.log_odds(log_odds))
    return result


def normalised_log_odds(log_odds: ArrayLike) -> FloatArray:
    """Return log(w_i / sum_j w_j) over the last axis: the normalised beta-prime view.

    Nothing underflows, since all stays in logarithms; `odds` of the result sums to one. The row law
    is the same as that of `log_odds`.
    """
    theta = checks.log_odds(log_odds)
    log_total = special.logsumexp(theta, axis=-1, keepdims=True)
    if not np.isfinite(log_total).all():
        raise InputError(
            "log_odds",
            "must have a finite, non-zero sum of odds",
            f"a sum of {float(np.exp(log_total[~np.isfinite(log_total)].flat[0]))}",
            "Remove features that are always on (+inf); keep one that can be on (not -inf).",
        )
    result: FloatArray = theta - log_total
    return result


def esscher(log_odds: ArrayLike, shift: float) -> FloatArray:
    """Return log_odds + shift: the weights tilted to pi e^shift / (pi e^shift + 1 - pi).

    The row law is the same as that of `log_odds`; the law of independent Bernoulli entries is not,
    which is what makes the tilt useful as a proposal.

    Parameters
    ----------
    log_odds : array_like of shape (..., features)
    shift : float
        beta, finite.
    """
    beta = checks.number("shift", shift)
    if not np.isfinite(beta):
        raise InputError("shift", "must be finite", beta, "Pass a finite number.")
    return checks.log_odds(log_odds) + beta
