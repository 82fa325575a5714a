"""The I largest atoms of a beta process, as a set without order.

Atoms form a Poisson process with intensity nu(theta) = c alpha (1 + e^theta)^{-c} in log-odds (that
is c alpha pi^{-1} (1-pi)^{c-1} d pi), and N(x) of them are expected above x. The I largest, named
1..I at random, have density

    log p(theta) = sum_i log nu(theta_i) - N(min theta) - log I!

over all of R^I: one for each of the I! orders, hence the last term. For c = 1 this is
alpha^I (min pi)^alpha prod pi_i^{-1} / I! times the Jacobian prod pi_i (1 - pi_i). It is concave,
flat to the left down to the least atom, and that atom falls like e^{c alpha theta}.

**Rare features**, given the others, have density prod_i g_i(theta_i) exp(-N(least of all)), with
g_i(theta) close to nu(theta) w^{m_i} (1 + w/s)^{-k}, m_i the number of rows that have the feature
and the last factor for those that have not (`weight_prior`). Let x be the least of them,
y the least of the others, G_i the tail integral of g_i. Then

    x ~ sum_j (g_j/G_j)(x) prod_i G_i(x) exp(-N(min(x, y))),    it is feature j ~ (g_j/G_j)(x),
    the rest are independent with densities g_i on (x, oo).

All are drawn from a table that takes g_i constant within narrow bins: hence its density is known.

Only this prior knows what it leaves out: the tail below its least atom is again a Poisson process,
so `truncation_bound` can say how far rows are from rows of the whole measure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expit, gammaln

from ribp.checks import FloatArray, IntArray
from ribp.measures import BetaProcess
from ribp.measures.levy import log_upper_total
from ribp.prior.certificate import ones_bounds
from ribp.weights.weight_prior import Pull, RareLaw, WeightPrior

_SERIES_TERMS = 64  # 0.6^64 is nothing
_LEFT_BINS = 200
_MOST_RIGHT_BINS = 4000
_FLAT = 8.0  # odds below e^-8 of where the rows start to matter do not feel them


@dataclass(frozen=True)
class SizeOrderedPrior(WeightPrior):
    """The I largest atoms of a beta process with mass alpha and concentration c."""

    @property
    def _measure(self) -> BetaProcess:
        return BetaProcess(self.mass, self.concentration)

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta)."""
        size, c = log_odds.size, self.concentration
        value = size * math.log(c * self.mass) - c * np.logaddexp(0.0, log_odds).sum()
        return float(value - self._expected_above(float(log_odds.min())) - gammaln(size + 1.0))

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return -c pi, and nu more at the least atom."""
        c, least = self.concentration, int(log_odds.argmin())
        slope = -c * expit(log_odds)
        slope[least] += c * self.mass * math.exp(-c * np.logaddexp(0.0, log_odds[least]))
        return np.asarray(slope)

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of the largest atoms, in random order."""
        return rng.permutation(self._measure.size_ordered(rng, n_features))

    def _expected_above(self, x: float) -> float:
        """Return N(x).

        N/(c alpha) is the sum over k >= 0 of (1-pi)^{c+k}/(c+k), which is short for large pi. For
        small pi it is -log pi - psi(c) - gamma_E - the sum over k >= 1 of (1-c)_k pi^k/(k k!).
        """
        c, size = self.concentration, float(expit(x))
        k = np.arange(1, _SERIES_TERMS + 1)
        if size > 0.4:
            powers = np.exp(-(c + k - 1) * np.logaddexp(0.0, x))
            return c * self.mass * float((powers / (c + k - 1)).sum())
        if c * size > 2.0:  # the second sum would cancel
            return math.exp(float(self._measure.log_levy_tail(x)))
        series = float((np.cumprod((k - c) / k * size) / k).sum())
        return c * self.mass * (float(np.logaddexp(0.0, -x) - digamma(c)) - np.euler_gamma - series)

    def truncation_bound(self, log_odds: FloatArray, histogram: IntArray) -> float:
        """Return a bound on the total variation that rows lose with the atoms below the least.

        Parameters
        ----------
        log_odds
            Shape (features,).
        histogram
            How many rows have 0, 1, 2, ... ones.

        Returns
        -------
        float
            The sum over the rows of 1 - exp(-R_J T), at most 1; the total odds T of the tail are
            above the value used with probability 1e-9 (`ribp.prior.certificate`).
        """
        least = float(log_odds.min())
        log_tail = log_upper_total(float(self._measure.log_expected_tail_odds(least)), least)
        levels = np.flatnonzero(histogram)
        return min(1.0, float(ones_bounds(log_odds, log_tail, levels) @ histogram[levels]))

    def precision(self, rare: NDArray[np.bool_]) -> FloatArray:
        """Return 1 + (c alpha)^2 for rare features, of which one is the least, else c alpha/3.

        The least atom moves in steps of 1/(c alpha), the scale of the edge in its density, and
        others that come close to it should not move much faster.
        """
        whole = self.concentration * self.mass
        return np.where(rare, 1.0 + whole**2, whole / 3.0)

    def rare_law(self, sums: FloatArray, others: FloatArray, pull: Pull) -> RareLaw:
        """Return the least of them from a table, then the rest above it."""
        return _Table(self, sums, others, pull)


class _Table:
    """The proposal for rare features, in bins; `kind` is which of the different sums each has."""

    def __init__(
        self, prior: SizeOrderedPrior, sums: FloatArray, others: FloatArray, pull: Pull
    ) -> None:
        c, whole = prior.concentration, prior.concentration * prior.mass
        log_slope = float(np.logaddexp(math.log(c), pull.log_slope))
        kinds, self.kind = np.unique(sums, return_inverse=True)
        self.edges = _edges(whole, sums, c + pull.power) - log_slope
        width, middle = np.diff(self.edges), _halfway(self.edges)
        log_nu = math.log(whole) - c * np.logaddexp(0.0, middle)
        log_rows = -pull.power * np.logaddexp(0.0, middle - pull.log_scale)
        self.log_g = log_nu + log_rows + kinds[:, None] * (middle + log_slope)
        self.tail = _tail_integral(np.exp(self.log_g) * width)
        log_tail = np.log(np.maximum(_halfway(self.tail), 1e-300))
        self.log_hazard = self.log_g - log_tail
        number = np.bincount(self.kind)
        expected = _tail_integral(np.exp(log_nu) * width)
        lowest = np.interp(others.min(initial=math.inf), self.edges, expected)
        log_p = np.logaddexp.reduce(self.log_hazard + np.log(number)[:, None]) + number @ log_tail
        log_p -= np.maximum(_halfway(expected), lowest)
        p = np.exp(log_p - log_p.max()) * width
        self.log_p = log_p
        self.cumulative = np.append(0.0, np.cumsum(p / p.sum()))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        least = float(np.interp(rng.random(), self.cumulative, self.edges))
        chance = np.exp(self._log_chance(int(np.searchsorted(self.edges, least)) - 1))
        theta = np.empty(self.kind.size)
        for kind, tail in enumerate(self.tail):
            at = np.flatnonzero(self.kind == kind)
            goal = rng.uniform(0.0, np.interp(least, self.edges, tail), at.size)
            theta[at] = np.interp(goal, tail[::-1], self.edges[::-1])
        theta[rng.choice(self.kind.size, p=chance)] = least
        return theta

    def log_density(self, theta: FloatArray) -> float:
        if theta.min() <= self.edges[0] or theta.max() >= self.edges[-1]:
            return -math.inf
        first = int(theta.argmin())
        bins = np.searchsorted(self.edges, theta) - 1
        least = self.log_p[bins[first]] + self._log_chance(int(bins[first]))[first]
        tail = np.array([np.interp(theta[first], self.edges, tail) for tail in self.tail])
        each = self.log_g[self.kind, bins] - np.log(tail)[self.kind]
        return float(least + np.delete(each, first).sum())

    def _log_chance(self, at: int) -> FloatArray:
        """Return the log probability of each feature to be the least, if that is in bin `at`."""
        log_hazard = self.log_hazard[self.kind, at]
        return np.asarray(log_hazard - np.logaddexp.reduce(log_hazard))


def _edges(whole: float, sums: FloatArray, power: float) -> FloatArray:
    """Return edges of bins in log(slope w): coarse where rows are not felt, then fine."""
    unused = int((sums == 0).sum())
    far = (unused + 8.0 * math.sqrt(unused) + 40.0) / whole
    top = whole + float(sums.max())
    high = math.log(top + 12.0 * math.sqrt(top) + 40.0) + 25.0 / power
    n_right = min(_MOST_RIGHT_BINS, math.ceil((_FLAT + high) * max(10.0, 2.0 * whole)))
    left = np.union1d(np.linspace(-_FLAT - far, -_FLAT, _LEFT_BINS), -_FLAT - 0.5 * np.arange(50))
    return np.append(left, np.linspace(-_FLAT, high, n_right + 1)[1:])


def _tail_integral(masses: FloatArray) -> FloatArray:
    """Return, at each edge of the bins, the mass of the bins to its right."""
    sums = np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([sums, np.zeros((*masses.shape[:-1], 1))], axis=-1)


def _halfway(at_edges: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (at_edges[..., :-1] + at_edges[..., 1:]))
