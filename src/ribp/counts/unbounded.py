"""Laws on all counts: Poisson and negative binomial, whole or cut to an interval.

- ``poisson(m)``: log f(k) = k log m - m - log k!, and P(count > k) is the regularised incomplete
  gamma function P(k + 1, m).
- ``negative_binomial(m, d)``: mean m, variance m + d m^2. With r = 1/d,

      log f(k) = k log m + sum_{j<k} log(1 + j d) - log k! - (k + r) log(1 + d m),

  which tends to the Poisson as d -> 0 without cancellation, and P(count > k) is the regularised
  incomplete beta function I_x(k + 1, r) at x = d m / (1 + d m).

Both fall away from one mode, so a sum over an interval needs only the terms near the point of
the interval closest to the mode. Both are size-biased into their own family, k f(k) = m g(k - 1),
which gives the mean of the law cut to an interval: m P_g(lo - 1..hi - 1) / P_f(lo..hi).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaln, logsumexp, xlogy

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts.finite import Uniform, exactly
from ribp.counts.law import LARGEST_COUNT, CountLaw, written
from ribp.errors import InputError

LARGEST_MEAN = 1e15
SMALLEST_DISPERSION = 1e-100


class Unimodal(CountLaw):
    """A law on all of 0, 1, 2, ... that falls away from one mode."""

    @property
    @abstractmethod
    def _mode(self) -> int:
        """The most likely count."""

    @abstractmethod
    def _upper(self, k: int) -> float:
        """Return P(count > k) for k >= 0; zero where that is below the range of doubles."""

    @abstractmethod
    def _size_biased(self) -> Unimodal:
        """Return the law g with k f(k) = mean g(k - 1)."""

    def _ends(self) -> tuple[int, None]:
        return 0, None

    def _log_mass(self, lo: int, hi: int | None) -> float:
        lo = max(lo, 0)
        if hi is not None and hi < lo:
            return -math.inf
        above = self._upper(lo - 1) if lo > 0 else 1.0
        mass = above - (0.0 if hi is None else self._upper(hi))
        if mass > max(1e-3 * above, 1e-290):  # neither cancellation nor underflow
            return math.log(mass)
        return float(logsumexp(self._log_prob(self._bulk(lo, hi))))

    def _bulk(self, lo: int, hi: int | None) -> IntArray:
        """Return the counts of lo..hi that carry all but exp(-40) of its mass."""
        hi = LARGEST_COUNT if hi is None else hi
        nearest = min(max(lo, self._mode), hi)
        first, last = self._edge(nearest, lo, -1), self._edge(nearest, hi, 1)
        return first + np.arange(last - first + 1)

    def _edge(self, start: int, limit: int, step: int) -> int:
        """Walk from `start` towards `limit` by doubling, until what lies beyond is negligible."""
        top = self._log_prob(np.array([start]))[0]
        distance = 64
        while True:
            k = start + step * distance
            if step * (limit - k) <= 0:
                return limit
            if self._log_prob(np.array([k]))[0] + math.log(distance) < top - 45:
                return k
            distance *= 2

    def _given(self, lo: int, hi: int | None) -> Truncated:
        return Truncated(self, lo, hi)


@dataclass(frozen=True, repr=False)
class Poisson(Unimodal):
    """The Poisson law with mean `rate` > 0."""

    rate: float

    def _mean(self) -> float:
        return self.rate

    @property
    def _mode(self) -> int:
        return math.floor(self.rate)

    def _log_prob(self, k: IntArray) -> FloatArray:
        return np.asarray(xlogy(k, self.rate) - self.rate - gammaln(k + 1.0))

    def _upper(self, k: int) -> float:
        return float(gammainc(k + 1.0, self.rate))

    def _size_biased(self) -> Poisson:
        return self

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        return rng.poisson(self.rate, size=n)

    def __str__(self) -> str:
        return f"poisson({written(self.rate)})"


@dataclass(frozen=True, repr=False)
class NegativeBinomial(Unimodal):
    """The law with mean `average` > 0 and variance average + dispersion * average^2."""

    average: float
    dispersion: float

    def _mean(self) -> float:
        return self.average

    @property
    def _mode(self) -> int:
        return math.floor(max(0.0, 1 - self.dispersion) * self.average)

    def _log_prob(self, k: IntArray) -> FloatArray:
        m, d = self.average, self.dispersion
        log_rising = _log_rising(k, d)
        return np.asarray(
            xlogy(k, m) + log_rising - gammaln(k + 1.0) - (k + 1 / d) * math.log1p(d * m)
        )

    def _upper(self, k: int) -> float:
        scale = self.dispersion * self.average
        return float(betainc(k + 1.0, 1 / self.dispersion, scale / (1 + scale)))

    def _size_biased(self) -> NegativeBinomial:
        m, d = self.average, self.dispersion
        return NegativeBinomial(m * (1 + d), d / (1 + d))

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        # numpy's own sampler takes the success probability, which rounds to 1 for small d.
        rates = rng.gamma(1 / self.dispersion, self.dispersion * self.average, size=n)
        return rng.poisson(rates)

    def __str__(self) -> str:
        return f"negative_binomial({written(self.average)}, {written(self.dispersion)})"


@dataclass(frozen=True, repr=False)
class Truncated(CountLaw):
    """A Poisson or negative binomial law given that the count lies in lo..hi."""

    law: Unimodal
    lo: int
    hi: int | None

    def _ends(self) -> tuple[int, int | None]:
        return self.lo, self.hi

    def _mean(self) -> float:
        if self._is_rare:
            k, p = self._bulk()
            return float(k @ p)
        below = None if self.hi is None else self.hi - 1
        log_ratio = self.law._size_biased()._log_mass(self.lo - 1, below) - self._log_norm
        return self.law.mean * math.exp(log_ratio)

    @cached_property
    def _log_norm(self) -> float:
        return self.law._log_mass(self.lo, self.hi)

    @property
    def _is_rare(self) -> bool:
        return self._log_norm < math.log(0.1)

    def _bulk(self) -> tuple[IntArray, FloatArray]:
        """Return the counts that carry all but exp(-40) of the mass, and their probabilities."""
        k = self.law._bulk(self.lo, self.hi)
        p = np.exp(self.law._log_prob(k) - self._log_norm)
        return k, p / p.sum()

    def _inside(self, k: IntArray) -> NDArray[np.bool_]:
        return (self.lo <= k) & (k <= (np.inf if self.hi is None else self.hi))

    def _log_prob(self, k: IntArray) -> FloatArray:
        return np.where(self._inside(k), self.law._log_prob(k) - self._log_norm, -np.inf)

    def _log_mass(self, lo: int, hi: int | None) -> float:
        return self.law._log_mass(*self._clip(lo, hi)) - self._log_norm

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        if self._is_rare:
            k, p = self._bulk()
            return rng.choice(k, size=n, p=p)
        kept = np.empty(0, dtype=np.int64)
        while kept.size < n:
            k = self.law._draw(rng, 16 + int(1.1 * (n - kept.size) / math.exp(self._log_norm)))
            kept = np.append(kept, k[self._inside(k)])
        return kept[:n]

    def _given(self, lo: int, hi: int | None) -> Truncated:
        return Truncated(self.law, *self._clip(lo, hi))

    def _clip(self, lo: int, hi: int | None) -> tuple[int, int | None]:
        ends = [end for end in (hi, self.hi) if end is not None]
        return max(lo, self.lo), min(ends, default=None)

    def __str__(self) -> str:
        end = "" if self.hi is None else f", {self.hi}"
        return f"truncated({self.law}, {self.lo}{end})"


def poisson(rate: float) -> Poisson | Uniform:
    """Return the Poisson law with mean `rate` >= 0; at rate 0 that is ``exactly(0)``."""
    rate = _checked_mean("rate", rate)
    return Poisson(rate) if rate > 0 else exactly(0)


def negative_binomial(mean: float, dispersion: float) -> NegativeBinomial | Uniform:
    """Return the negative binomial law with variance mean + dispersion * mean**2.

    It is a Poisson law whose rate is gamma distributed: the larger `dispersion` > 0, the
    more the counts vary.
    """
    mean, dispersion = _checked_mean("mean", mean), checks.positive("dispersion", dispersion)
    if dispersion < SMALLEST_DISPERSION:
        raise InputError(
            "dispersion", f"must be at least {SMALLEST_DISPERSION}", dispersion, "Use poisson."
        )
    if mean * dispersion > LARGEST_MEAN:
        raise InputError(
            "dispersion",
            f"must keep mean * dispersion below {LARGEST_MEAN:.0e}",
            dispersion,
            "Its draws would not fit in 64 bits; choose a smaller one.",
        )
    return NegativeBinomial(mean, dispersion) if mean > 0 else exactly(0)


def _checked_mean(argument: str, value: Any) -> float:
    result = checks.number(argument, value)
    if isinstance(value, (bool, np.bool_)) or not 0 <= result <= LARGEST_MEAN:
        raise InputError(
            argument, f"must be between 0 and {LARGEST_MEAN:.0e}", value, "Pass for example 3.0."
        )
    return result


def _log_rising(k: IntArray, d: float) -> FloatArray:
    """Return sum_{j<k} log(1 + j d) = log Gamma(k + r) - log Gamma(r) - k log r with r = 1/d."""
    r = 1 / d
    if r < 100:
        return np.asarray(gammaln(k + r) - gammaln(r) - k * math.log(r))
    # Stirling's formula for both, in which the large terms cancel by algebra.
    return np.asarray((k + r - 0.5) * np.log1p(k * d) - k + _stirling(k + r) - _stirling(r))


def _stirling(x: Any) -> Any:
    """Return what Stirling's formula leaves of log Gamma(x), for x >= 100."""
    return (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
