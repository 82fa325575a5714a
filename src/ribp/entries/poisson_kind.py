"""Poisson entries: z ~ Poisson(lambda), the atom carries log lambda.

A sum J of them is shared out by Multinomial(J, lambda / sum lambda), and with Lambda the rate of
the atoms kept and T that of the others, rows with the sum J are within 1 - (1 + T/Lambda)^{-J} of
their law under the whole measure.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.entries.entry_kind import RESTRICTIONS, EntryKind, SparseRows
from ribp.measures import Odds
from ribp.measures.special import log_exprel


def poisson_nonzero(log_size: ArrayLike) -> FloatArray:
    """Return log(e^lambda - 1) from log lambda: the log-odds that a Poisson entry is not zero."""
    log_size = np.asarray(log_size, dtype=np.float64)
    with np.errstate(over="ignore"):
        size = np.exp(log_size)
    finite = np.isfinite(size)
    return np.where(finite, log_size + log_exprel(np.where(finite, size, 0.0)), np.inf)


def draw_positive_poisson(rng: np.random.Generator, rate: FloatArray) -> IntArray:
    """Draw Poisson numbers given that they are positive.

    The first arrival is an exponential time below the rate, and the rest is Poisson.
    """
    first = -np.log1p(-rng.random(rate.size) * -np.expm1(-rate))
    return 1 + rng.poisson(np.maximum(rate - first, 0.0))


class PoissonEntries(EntryKind):
    """Entries with rates e^theta."""

    atoms = ("sizes",)
    restrictions = RESTRICTIONS

    def odds(self, restrict: str) -> Odds | None:
        """Return e^lambda - 1 for non-zeros; otherwise the odds are lambda itself."""
        return poisson_nonzero if restrict == "nonzeros" else None

    def log_ratios(self, theta: FloatArray, z: IntArray) -> FloatArray:
        """Return log(lambda^z / z!)."""
        return np.asarray(z * theta - gammaln(z + 1.0))

    def draw_positive(self, rng: np.random.Generator, theta: FloatArray) -> IntArray:
        """Draw positive Poisson numbers."""
        return draw_positive_poisson(rng, np.exp(theta))

    def mean_total(self, theta: FloatArray) -> float:
        """Return the sum of the rates."""
        return float(np.exp(theta).sum())

    def has_bound(self, restrict: str) -> bool:
        """Return True."""
        return True

    def sum_bounds(self, theta: FloatArray, log_tail: float, levels: IntArray) -> FloatArray:
        """Return 1 - (1 + T/Lambda)^{-J}."""
        share = math.exp(min(log_tail - float(logsumexp(theta)), 700.0))
        return np.asarray(-np.expm1(-levels * np.log1p(share)))

    def log_coefficients(self, theta: FloatArray, most: int) -> FloatArray:
        """Return log(Lambda_i^j / j!), Lambda_i the rate of the first i features."""
        j = np.arange(most + 1)
        table = np.full((theta.size + 1, most + 1), -np.inf)
        table[0, 0] = 0.0
        table[1:] = j * np.logaddexp.accumulate(theta)[:, None] - gammaln(j + 1.0)
        return table

    def draw_sums(
        self, rng: np.random.Generator, theta: FloatArray, totals: IntArray
    ) -> SparseRows:
        """Draw multinomial rows."""
        n, features = totals.size, theta.size
        probs = np.exp(theta - logsumexp(theta))
        picks = np.searchsorted(np.cumsum(probs)[:-1], rng.random(totals.sum()), side="right")
        keys = np.repeat(np.arange(n), totals) * features + picks
        cells, values = np.unique(keys, return_counts=True)
        lengths = np.bincount(cells // features, minlength=n)
        return SparseRows(cells % features, values, lengths)
