"""The odds that an atom gives a row, when entries are counts instead of 0 and 1.

Restricting a row of independent entries z_i to have J non-zeros, or J ones and nothing else, leaves
the law of a binary row with other odds for the same atom:

    entries                 atom carries     non-zero: (1-P(0))/P(0)      one: P(1)/P(0)
    Bernoulli(pi)           log-odds         pi/(1-pi)                    pi/(1-pi)
    Poisson(lambda)         log lambda       e^lambda - 1                 lambda
    NB(r, pi)               log-odds         (1-pi)^{-r} - 1              r pi

where NB(r, pi) has P(0) = (1-pi)^r. Three of the six are what the atom carries; the others are the
functions below, from logarithm to logarithm. As functions of the size they are convex and vanish
at zero, which is all that a bound on the tail needs: pass them as `odds` to
`log_expected_tail_odds`, with the shape bound by `functools.partial`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray
from ribp.measures.measure import Odds
from ribp.measures.special import log_exprel, log_softplus, softplus


def poisson_nonzero(log_size: ArrayLike) -> FloatArray:
    """Return log(e^lambda - 1) from log lambda: the log-odds that a Poisson entry is not zero."""
    log_size = np.asarray(log_size, dtype=np.float64)
    with np.errstate(over="ignore"):
        size = np.exp(log_size)
    finite = np.isfinite(size)
    return np.where(finite, log_size + log_exprel(np.where(finite, size, 0.0)), np.inf)


def negative_binomial_nonzero(log_odds: ArrayLike, shape: float) -> FloatArray:
    """Return log((1-pi)^{-r} - 1): the log-odds that an NB(r, pi) entry is not zero.

    Parameters
    ----------
    log_odds : array_like
        The log-odds of pi.
    shape : float
        r > 0.
    """
    shape = checks.positive("shape", shape)
    finite = np.isfinite(log_odds)
    theta = np.where(finite, log_odds, 0.0)
    inside = np.log(shape) + log_softplus(theta) + log_exprel(shape * softplus(theta))
    return np.where(finite, inside, log_odds)


def negative_binomial_one(log_odds: ArrayLike, shape: float) -> FloatArray:
    """Return log(r pi): the log-odds of one against zero for an NB(r, pi) entry.

    Parameters
    ----------
    log_odds : array_like
        The log-odds of pi.
    shape : float
        r > 0.
    """
    shape = checks.positive("shape", shape)
    result: FloatArray = np.log(shape) - softplus(-np.asarray(log_odds, dtype=np.float64))
    return result


def support_odds(entries: str, restrict: str, failures: float) -> Odds | None:
    """Return the odds of a restricted row's support, as a function of what an atom carries.

    None if they are what it carries: for binary rows, and for Poisson entries that are all one.

    Parameters
    ----------
    entries : str
        "bernoulli", "poisson" or "negative_binomial".
    restrict : str
        "nonzeros" or "ones".
    failures : float
        r of the negative binomial law.
    """
    if entries == "poisson" and restrict == "nonzeros":
        return poisson_nonzero
    if entries != "negative_binomial":
        return None
    odds = negative_binomial_nonzero if restrict == "nonzeros" else negative_binomial_one
    return partial(odds, shape=failures)
