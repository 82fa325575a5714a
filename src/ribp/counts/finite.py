"""Laws on finitely many counts: uniform, window, exactly, table, empirical, learned.

- ``uniform(lo, hi)``: f(k) = 1/(hi - lo + 1) on lo..hi. ``exactly(k)`` is ``uniform(k, k)`` and
  ``window(c, h)`` is uniform on the integers k >= 0 with |k - c| <= h.
- ``table(p)``: f(k) = p[k]. ``empirical(ks)`` is the table of observed frequencies.
- ``learned(base)``: the table itself is unknown, f ~ Dirichlet(base). As a law it stands for
  one count drawn from an unknown f, which has probability E f(k) = base[k] / sum(base). After
  the histogram N of counts drawn from f, f ~ Dirichlet(base + N); and given that the count
  lies in a set, f on that set is Dirichlet with the base of that set.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts.law import CountLaw, count, interval, written
from ribp.errors import InputError

LONGEST_TABLE = 10**6
USUAL_COUNTS = 20
"""The largest count of a law of which nobody knows anything."""


@dataclass(frozen=True, repr=False)
class Uniform(CountLaw):
    """Every count in lo..hi is equally likely."""

    lo: int
    hi: int

    def _ends(self) -> tuple[int, int]:
        return self.lo, self.hi

    def _mean(self) -> float:
        return (self.lo + self.hi) / 2

    def _log_prob(self, k: IntArray) -> FloatArray:
        inside = (self.lo <= k) & (k <= self.hi)
        return np.where(inside, -math.log(self.hi - self.lo + 1), -np.inf)

    def _log_mass(self, lo: int, hi: int | None) -> float:
        lo, hi = self._clip(lo, hi)
        return math.log((hi - lo + 1) / (self.hi - self.lo + 1)) if lo <= hi else -math.inf

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        return rng.integers(self.lo, self.hi, size=n, endpoint=True)

    def _given(self, lo: int, hi: int | None) -> Uniform:
        return Uniform(*self._clip(lo, hi))

    def _clip(self, lo: int, hi: int | None) -> tuple[int, int]:
        return max(lo, self.lo), self.hi if hi is None else min(hi, self.hi)

    def __str__(self) -> str:
        return f"exactly({self.lo})" if self.lo == self.hi else f"uniform({self.lo}, {self.hi})"


class Tabulated(CountLaw):
    """A law given by the vector f(0), ..., f(largest)."""

    @cached_property
    @abstractmethod
    def _vector(self) -> FloatArray:
        """f(0), ..., f(largest); the last entry is positive."""

    def _ends(self) -> tuple[int, int]:
        return int(np.flatnonzero(self._vector)[0]), len(self._vector) - 1

    def _mean(self) -> float:
        return float(np.arange(len(self._vector)) @ self._vector)

    def _log_prob(self, k: IntArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_f = np.log(np.append(self._vector, 0.0))
        return np.asarray(log_f[np.minimum(k, len(self._vector))])

    def _log_mass(self, lo: int, hi: int | None) -> float:
        mass = math.fsum(self._vector[lo : None if hi is None else hi + 1])
        return math.log(mass) if mass > 0 else -math.inf

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        return rng.choice(len(self._vector), size=n, p=self._vector)


@dataclass(frozen=True, repr=False)
class Table(Tabulated):
    """The law with probabilities ``p[0], p[1], ...``."""

    p: tuple[float, ...]

    @cached_property
    def _vector(self) -> FloatArray:
        return np.array(self.p)

    def _given(self, lo: int, hi: int | None) -> Table:
        kept = _only(self.p, lo, hi)
        return Table(normalised(kept / kept.max()))

    def __str__(self) -> str:
        return f"table({', '.join(map(written, self.p))})"


@dataclass(frozen=True, repr=False)
class Learned(Tabulated):
    """An unknown table with a Dirichlet prior; as a law, its prior mean.

    `sample` draws every count from the prior mean, independently. Counts that share one unknown
    table are ``law.draw_table(rng).sample(rng, size)``, which is what `RowCounts.sample` does.
    """

    base: tuple[float, ...]

    @cached_property
    def _vector(self) -> FloatArray:
        base = np.array(self.base)
        return np.array(normalised(base / base.max()))

    def draw_table(self, rng: np.random.Generator) -> Table:
        """Return a table f ~ Dirichlet(base)."""
        rng = checks.generator("rng", rng)
        base = np.array(self.base)
        on = np.flatnonzero(base)
        # Gamma(a) = Gamma(a + 1) U^(1/a), in logarithms because it underflows for small a.
        log_gamma = np.log(rng.standard_gamma(base[on] + 1))
        log_gamma -= rng.standard_exponential(len(on)) / base[on]
        f = np.zeros(len(base))
        f[on] = np.exp(log_gamma - log_gamma.max())
        return Table(normalised(f))

    def posterior(self, histogram: ArrayLike) -> Learned:
        """Return the law after `histogram[k]` rows with count k were drawn from its table."""
        seen = checks.integers("histogram", histogram)
        if seen.ndim != 1 or seen[len(self.base) :].any():
            raise InputError(
                "histogram",
                f"must be one list of how often each count 0..{self.largest} was seen",
                histogram,
                "Make it with numpy.bincount; give `base` an entry for every possible count.",
            )
        seen = np.pad(seen[: len(self.base)], (0, max(0, len(self.base) - len(seen))))
        base = np.array(self.base)
        impossible = np.flatnonzero((base == 0) & (seen > 0))
        if impossible.size:
            raise InputError(
                "histogram",
                "must be zero where base is zero",
                f"{seen[impossible[0]]} rows with count {impossible[0]}",
                "Give that count a positive entry in `base`.",
            )
        return Learned(tuple((base + seen).tolist()))

    def _given(self, lo: int, hi: int | None) -> Learned:
        return learned(_only(self.base, lo, hi))

    def __str__(self) -> str:
        return f"learned({', '.join(map(written, self.base))})"


def exactly(k: int) -> Uniform:
    """Return the law of a count that is always `k`."""
    k = count("k", k)
    return Uniform(k, k)


def uniform(lo: int, hi: int) -> Uniform:
    """Return the law with equal probability on lo, lo + 1, ..., hi."""
    return Uniform(*interval(lo, hi))


def window(centre: float, half_width: float) -> Uniform:
    """Return the uniform law on the integers k >= 0 with ``|k - centre| <= half_width``.

    Numbers count as the decimals they print as: ``window(4.4, 1.4)`` reaches down to 3,
    although 4.4 - 1.4 is a little more than 3 in binary arithmetic.
    """
    c, h = (
        Fraction(repr(_finite(name, x)))
        for name, x in (("centre", centre), ("half_width", half_width))
    )
    lo, hi = max(0, math.ceil(c - h)), math.floor(c + h)
    if hi < lo:
        raise InputError(
            "half_width",
            f"must leave a count k >= 0 with |k - {written(float(c))}| <= half_width",
            half_width,
            "Widen or move the window.",
        )
    return uniform(lo, hi)


def table(p: ArrayLike) -> Table:
    """Return the law with P(count = k) = p[k], from k = 0; `p` must sum to one."""
    return Table(probabilities("p", p))


def empirical(ks: ArrayLike) -> Table:
    """Return the table of the frequencies of the observed counts `ks`."""
    seen = checks.integers("ks", ks)
    if seen.ndim != 1 or seen.size == 0:
        raise InputError(
            "ks", "must be a list of at least one count", f"shape {seen.shape}", "Pass the counts."
        )
    if seen.max() >= LONGEST_TABLE:
        raise InputError(
            "ks",
            f"must be below {LONGEST_TABLE}",
            int(seen.max()),
            "Check that entry; for counts so large use a mixture of exactly(k).",
        )
    return Table(normalised(np.bincount(seen) / seen.size))


def learned(base: ArrayLike) -> Learned:
    """Return the law of counts from one unknown table f ~ Dirichlet(base), from k = 0.

    A zero in `base` makes that count impossible.
    """
    values = vector("base", base)
    if not values.any():
        raise InputError(
            "base", "must have a positive entry", base, "Pass for example [1, 1, 1] for 0..2."
        )
    return Learned(tuple(np.trim_zeros(values, "b").tolist()))


def free_law(most: int | None = None) -> Learned:
    """Return the law of rows of which nothing is known: learned, few features rather than many."""
    return learned([1.0 / (k + 1) for k in range((most or USUAL_COUNTS) + 1)])


def probabilities(argument: str, values: Any) -> tuple[float, ...]:
    """Return probabilities that sum to one, after checking that they do so within 1e-9."""
    p = vector(argument, values)
    total = math.fsum(p)
    if abs(total - 1) > 1e-9:
        raise InputError(argument, "must sum to one", f"a sum of {total!r}", "Divide by the sum.")
    return normalised(p)


def normalised(values: FloatArray) -> tuple[float, ...]:
    """Return the values divided by their sum, without trailing zeros.

    A sum within rounding of one is left alone, so that doing it twice is doing it once.
    """
    total = math.fsum(values)
    p = values if abs(total - 1) < 1e-15 else values / total
    return tuple(np.trim_zeros(p, "b").tolist())


def vector(argument: str, values: Any) -> FloatArray:
    """Return a flat array of finite non-negative numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            argument, "must be a list of numbers", repr(values), "Pass for example [0.2, 0.8]."
        ) from None
    if array.ndim != 1:
        raise InputError(
            argument, "must be a flat list", f"shape {array.shape}", "Pass one number per count."
        )
    wrong = array[~((array >= 0) & (array < np.inf))]
    if wrong.size:
        raise InputError(
            argument, "must be non-negative and finite", float(wrong[0]), "Correct that entry."
        )
    return array + 0.0  # -0.0 becomes 0.0, and the caller's array stays its own


def _finite(argument: str, value: Any) -> float:
    result = checks.number(argument, value)
    if not math.isfinite(result):
        raise InputError(argument, "must be finite", value, "Use uniform, poisson or table.")
    return result


def _only(values: tuple[float, ...], lo: int, hi: int | None) -> FloatArray:
    kept = np.zeros(len(values))
    span = slice(lo, None if hi is None else hi + 1)
    kept[span] = values[span]
    return kept
