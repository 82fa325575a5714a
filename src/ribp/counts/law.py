"""The contract of a count law.

A count law f is a distribution on {0, 1, 2, ...}: how many features a row has. Every law
answers the same few questions: log f(k), the ends of its support, its mean, its tail
P(count > k), and exact draws. A law knows more than a vector of numbers: its support may be
unbounded, and its far tail is right to a few units in the last place.

A law writes the private half below (`_ends`, `_mean`, `_log_prob`, `_log_mass`, `_draw`, and
`_given`, what it becomes when the count is known to lie in an interval) and prints itself in the
text form that `ribp.counts.parse` reads. The public half is the same for all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError

LARGEST_COUNT = 2**63 - 1
"""Draws are int64, so no count is larger than this."""


class CountLaw(ABC):
    """A distribution f on the counts 0, 1, 2, ...; make one with the functions of `ribp.counts`.

    Laws are immutable, hashable and compare by value; ``str(law)`` is a short text that
    `ribp.counts.parse` turns back into the same law.
    """

    @abstractmethod
    def _ends(self) -> tuple[int, int | None]:
        """Return the smallest and the largest count, None if the support is unbounded."""

    @abstractmethod
    def _mean(self) -> float:
        """Return the expected count."""

    @abstractmethod
    def _log_prob(self, k: IntArray) -> FloatArray:
        """Return log f at each k >= 0, -inf where f is zero."""

    @abstractmethod
    def _log_mass(self, lo: int, hi: int | None) -> float:
        """Return log P(lo <= count <= hi), -inf if that is zero; `hi` None is no upper end."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        """Return n independent draws."""

    @abstractmethod
    def _given(self, lo: int, hi: int | None) -> CountLaw:
        """Return the law given lo <= count <= hi; called only if that cuts some of the mass."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the text form."""

    @property
    def smallest(self) -> int:
        """The smallest count with positive probability."""
        return self._ends()[0]

    @property
    def largest(self) -> int | None:
        """The largest count with positive probability; None if the support is unbounded."""
        return self._ends()[1]

    @property
    def mean(self) -> float:
        """The expected count."""
        return self._mean()

    def log_probs(self, k_max: int) -> FloatArray:
        """Return log f(0), ..., log f(k_max): not renormalised, -inf where f is zero."""
        return self._log_prob(np.arange(checks.integer("k_max", k_max) + 1))

    def probs(self, k_max: int) -> FloatArray:
        """Return f(0), ..., f(k_max), not renormalised."""
        return np.exp(self.log_probs(k_max))

    def tail(self, k: int) -> float:
        """Return P(count > k), accurate however small it is; 1 for k = -1."""
        return math.exp(self.log_tail(k))

    def log_tail(self, k: int) -> float:
        """Return log P(count > k), -inf if that is zero."""
        return self._log_mass(checks.integer("k", k, least=-1) + 1, None)

    def sample(self, rng: np.random.Generator, size: int) -> IntArray:
        """Return `size` independent exact draws."""
        return self._draw(checks.generator("rng", rng), checks.integer("size", size))

    def restricted_log_probs(self, lo: int, hi: int) -> FloatArray:
        """Return log P(count = k | lo <= count <= hi) for k = 0..hi, -inf below `lo`.

        This is f as a model with a finite number of features uses it: with I features,
        ``law.restricted_log_probs(0, I)``.
        """
        lo, hi = interval(lo, hi)
        log_f = self.log_probs(hi)
        log_f[:lo] = -np.inf
        total = logsumexp(log_f)
        if total == -np.inf:
            raise no_mass(self, lo, hi)
        return np.asarray(log_f - total)

    def __repr__(self) -> str:
        text = str(self)
        return text if len(text) <= 120 else f"{text[:80]} ... {text[-36:]}"


def count(argument: str, value: Any) -> int:
    """Return a whole number from 0 to `LARGEST_COUNT`."""
    k = checks.integer(argument, value)
    if k > LARGEST_COUNT:
        raise InputError(argument, "must be below 2**63", k, "Counts are 64-bit integers.")
    return k


def interval(lo: Any, hi: Any) -> tuple[int, int]:
    """Return whole numbers 0 <= lo <= hi."""
    lo, hi = count("lo", lo), count("hi", hi)
    if hi < lo:
        raise InputError("hi", f"must be at least lo = {lo}", hi, "Exchange lo and hi.")
    return lo, hi


def no_mass(law: CountLaw, lo: int, hi: int | None) -> InputError:
    """Return the error for a law that has no mass on lo..hi."""
    largest = "..." if law.largest is None else law.largest
    return InputError(
        "law",
        f"must have mass on {lo}..{'' if hi is None else hi}",
        f"{law!r}, which lives on {law.smallest}..{largest}",
        "Widen the interval (more features allow larger counts) or change the law.",
    )


def written(x: float) -> str:
    """Return the shortest text that reads back as x, whole numbers without a point."""
    return str(int(x)) if x == math.floor(x) and abs(x) < 1e16 else repr(x)
