"""Negative binomial entries: P(z) = C(z+r-1, z) (1-pi)^r pi^z, the atom carries the log-odds of pi.

r is `failures`. An entry is a sum of Poisson many, at rate -r log(1-pi), numbers with the
logarithmic law. The polynomials of a sum are g_i(x) = (1 - pi_i x)^{-r}; for r >= 1 their product
is log-concave, and with R_J the ratio of two of its coefficients, T the total of the pi left out
and t the least one kept, rows with the sum J are within 1 - exp(-r R_J T / (1 - t R_J)) of their
law under the whole measure.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.entries.entry_kind import RESTRICTIONS, EntryKind
from ribp.entries.poisson_kind import draw_positive_poisson
from ribp.measures import Odds
from ribp.measures.special import log_exprel, log_gamma_ratio, log_softplus, softplus
from ribp.symmetric import coefficient_ratios

_BELOW_ONE = math.nextafter(1.0, 0.0)


def negative_binomial_nonzero(log_odds: ArrayLike, shape: float) -> FloatArray:
    """Return log((1-pi)^{-r} - 1): the log-odds that an NB(r, pi) entry is not zero, `shape` r."""
    shape = checks.positive("shape", shape)
    finite = np.isfinite(log_odds)
    theta = np.where(finite, log_odds, 0.0)
    inside = np.log(shape) + log_softplus(theta) + log_exprel(shape * softplus(theta))
    return np.where(finite, inside, log_odds)


def negative_binomial_one(log_odds: ArrayLike, shape: float) -> FloatArray:
    """Return log(r pi): the log-odds of one against zero for an NB(r, pi) entry, `shape` r."""
    shape = checks.positive("shape", shape)
    result: FloatArray = np.log(shape) - softplus(-np.asarray(log_odds, dtype=np.float64))
    return result


class NegativeBinomialEntries(EntryKind):
    """Entries that count successes, with log-odds theta, before `failures` failures."""

    atoms = ("probabilities",)
    restrictions = RESTRICTIONS

    def odds(self, restrict: str) -> Odds:
        """Return (1-pi)^{-r} - 1 for non-zeros, r pi for ones, pi for sums."""
        if restrict == "nonzeros":
            return partial(negative_binomial_nonzero, shape=self.failures)
        shape = self.failures if restrict == "ones" else 1.0
        return partial(negative_binomial_one, shape=shape)

    def log_ratios(self, theta: FloatArray, z: IntArray) -> FloatArray:
        """Return log(C(z+r-1, z) pi^z)."""
        log_pi = -np.logaddexp(0.0, -theta)
        return np.asarray(log_gamma_ratio(self.failures, z) - gammaln(z + 1.0) + z * log_pi)

    def draw_positive(self, rng: np.random.Generator, theta: FloatArray) -> IntArray:
        """Draw sums of positively many numbers with the logarithmic law."""
        parts = draw_positive_poisson(rng, self.failures * np.logaddexp(0.0, theta))
        p = np.exp(-np.logaddexp(0.0, -np.repeat(theta, parts)))
        steps = rng.logseries(np.clip(p, 1e-300, _BELOW_ONE))
        starts = np.cumsum(parts) - parts
        return np.add.reduceat(steps, starts) if parts.size else parts

    def mean_total(self, theta: FloatArray) -> float:
        """Return the sum of r pi/(1-pi)."""
        return float(np.exp(theta).sum() * self.failures)

    def has_bound(self, restrict: str) -> bool:
        """Return whether what a truncation loses is bounded: sums with r < 1 are not."""
        return restrict != "sum" or self.failures >= 1

    def sum_bounds(self, theta: FloatArray, log_tail: float, levels: IntArray) -> FloatArray:
        """Return 1 - exp(-r R_J T / (1 - t R_J))."""
        log_e = self.log_coefficients(theta, int(levels.max(initial=0)))[-1]
        log_ratio = coefficient_ratios(log_e, levels)
        room = -np.expm1(log_ratio - np.logaddexp(0.0, -theta[-1]))  # 1 - t R_J
        with np.errstate(divide="ignore"):
            exponent = log_ratio + log_tail + math.log(self.failures)
            exponent -= np.log(np.maximum(room, 0.0))
        return np.asarray(-np.expm1(-np.exp(np.minimum(exponent, 700.0))))
