"""Laws made of laws: mixture and truncated.

- ``mixture([(w_1, f_1), ...])``: f(k) = sum_j w_j f_j(k).
- ``truncated(f, lo, hi)``: f(k) / f(lo..hi) on lo..hi. A family that is closed under it stays in
  the family: a uniform law is cut to a shorter one, and a mixture becomes the mixture of its
  truncated components with weights w_j f_j(lo..hi) / f(lo..hi).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.counts.finite import Learned, normalised, probabilities
from ribp.counts.law import CountLaw, count, interval, no_mass, written
from ribp.errors import InputError


@dataclass(frozen=True, repr=False)
class Mixture(CountLaw):
    """The law of a count that comes from ``laws[j]`` with probability ``weights[j]``."""

    weights: tuple[float, ...]
    laws: tuple[CountLaw, ...]

    def _ends(self) -> tuple[int, int | None]:
        ends = [law.largest for law in self.laws]
        bounded = [end for end in ends if end is not None]
        largest = max(bounded) if len(bounded) == len(ends) else None
        return min(law.smallest for law in self.laws), largest

    def _mean(self) -> float:
        return math.fsum(w * law.mean for w, law in zip(self.weights, self.laws, strict=True))

    def _log_prob(self, k: IntArray) -> FloatArray:
        parts = [law._log_prob(k) for law in self.laws]
        return np.asarray(logsumexp(np.log(self.weights)[:, None] + parts, axis=0))

    def _log_mass(self, lo: int, hi: int | None) -> float:
        return float(logsumexp(self._log_masses(lo, hi)))

    def _log_masses(self, lo: int, hi: int | None) -> FloatArray:
        return np.log(self.weights) + [law._log_mass(lo, hi) for law in self.laws]

    def _draw(self, rng: np.random.Generator, n: int) -> IntArray:
        source = rng.choice(len(self.laws), size=n, p=self.weights)
        draws = np.empty(n, dtype=np.int64)
        for j, law in enumerate(self.laws):
            rows = np.flatnonzero(source == j)
            draws[rows] = law._draw(rng, rows.size)
        return draws

    def _given(self, lo: int, hi: int | None) -> CountLaw:
        log_masses = self._log_masses(lo, hi)
        weights = np.exp(log_masses - logsumexp(log_masses))
        return _mixed(
            (w, truncated(law, lo, hi)) for w, law in zip(weights, self.laws, strict=True) if w > 0
        )

    def __str__(self) -> str:
        terms = zip(self.weights, self.laws, strict=True)
        return " + ".join(f"{written(w)}*{law}" for w, law in terms)


def mixture(components: Iterable[tuple[float, CountLaw]]) -> CountLaw:
    """Return the law of a count drawn from one of several laws.

    Parameters
    ----------
    components
        Pairs (weight, law); the weights sum to one. A mixture inside is flattened, a component
        of weight zero is dropped, and a single component is returned as it is.
    """
    try:
        pairs = [(weight, law) for weight, law in components]
    except (TypeError, ValueError):
        raise _not_pairs(repr(components)) from None
    for pair in pairs:
        if not isinstance(pair[1], CountLaw):
            raise _not_pairs(repr(pair))
    weights = probabilities("weights", [weight for weight, _ in pairs])
    laws = [law for _, law in pairs]
    return _mixed(zip(weights, laws, strict=False))  # zero weights at the end are gone already


def _mixed(pairs: Iterable[tuple[float, CountLaw]]) -> CountLaw:
    flat = [part for weight, law in pairs for part in _flattened(weight, law) if part[0] > 0]
    laws = tuple(law for _, law in flat)
    if len(laws) == 1:
        return laws[0]
    for law in laws:
        if isinstance(law, Learned):
            raise InputError(
                "components",
                "must be known laws",
                law,
                "A learned law stands alone: learn the whole table, or mix with table(p).",
            )
    return Mixture(normalised(np.array([weight for weight, _ in flat])), laws)


def _flattened(weight: float, law: CountLaw) -> list[tuple[float, CountLaw]]:
    if not isinstance(law, Mixture):
        return [(weight, law)]
    return [(weight * w, part) for w, part in zip(law.weights, law.laws, strict=True)]


def _not_pairs(value: str) -> InputError:
    return InputError(
        "components",
        "must be pairs (weight, law)",
        value,
        "Pass for example [(0.8, exactly(1)), (0.2, poisson(9))].",
    )


def truncated(law: CountLaw, lo: int = 0, hi: int | None = None) -> CountLaw:
    """Return `law` given that the count lies in lo..hi (no upper end if `hi` is None)."""
    if not isinstance(law, CountLaw):
        raise InputError("law", "must be a count law", repr(law), "Pass for example poisson(9).")
    if hi is None:
        lo = count("lo", lo)
    else:
        lo, hi = interval(lo, hi)
    if law._log_mass(lo, hi) == -math.inf:
        raise no_mass(law, lo, hi)
    reaches = hi is None or (law.largest is not None and law.largest <= hi)
    return law if reaches and lo <= law.smallest else law._given(lo, hi)
