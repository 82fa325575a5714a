"""Binomial numbers against their law."""

import numpy as np
from scipy import stats

from ribp.testing.goodness import frequencies_p_value


def binomial_p_value(found, n, p):
    """Return the p-value of draws, in at most 60 cells of about equal probability."""
    cuts = np.unique(stats.binom.ppf(np.linspace(0, 1, 61)[1:-1], n, p))
    probs = np.diff(np.concatenate([[0.0], stats.binom.cdf(cuts, n, p), [1.0]]))
    return frequencies_p_value(
        np.bincount(np.searchsorted(cuts, found), minlength=probs.size), probs
    )
