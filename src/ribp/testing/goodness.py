"""From draws to one verdict, in two stages, with one rate of false alarms for a whole suite.

A *check* draws and returns p-values: ``check(n, seed)`` makes `n` independent replicates from
`seed` and gives one p-value for each statistic, as a list or by name. `holds` asks twice:

1. A statistic with p < 1e-7 (`AT_ONCE`) fails. One with p >= 1e-3 (`DOUBTFUL`) passes.
2. What lies between is looked at again, with a fresh seed and ten times the replicates, and fails
   if p < 1e-5 (`AGAIN`) there. Only doubtful statistics are judged a second time.

**False alarms.** The stages are independent, so a right statistic fails with probability at most
1e-7 + 1e-3 x 1e-5 = 1.1e-7. By the union bound a suite of `SUITE_STATISTICS` of them, however
dependent, fails with probability below 1e-3 (`SUITE_RATE`); the suite counts its statistics, and
does not pass with more. P-values are taken from Student's t and from chi-square with ten expected
in each cell, which are not exact far out in the tail; statistics are bounded or logarithms, so that
their means are near normal.

**Power.** A wrong statistic need only become doubtful: with ten times the replicates it then fails.
A shift of .2 standard deviations becomes doubtful in 600 replicates with probability
Phi(.2 sqrt(600) - 3.29) = .95, one of .07 in 5000 with .95.

Seeds are fixed, so what passes goes on passing, and the environment moves them all: RIBP_TEST_SEED
(0 unless set) for fresh seeds, RIBP_TEST_TIER=slow for more replicates (`replicates`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ribp.checks import FloatArray

__all__ = ["AGAIN", "AT_ONCE", "DOUBTFUL", "SUITE_RATE", "SUITE_STATISTICS", "Check", "Numbers",
           "Outcome", "by_name", "frequencies_p_value", "holds", "is_caught", "is_slow",
           "mean_p_value", "replicates", "two_sample_p_value", "watchers"]  # fmt: skip

AT_ONCE, DOUBTFUL, AGAIN, TIMES = 1e-7, 1e-3, 1e-5, 10
SUITE_RATE = 1e-3
SUITE_STATISTICS = int(SUITE_RATE / (AT_ONCE + DOUBTFUL * AGAIN))

Numbers = Mapping[str, float] | Sequence[float] | FloatArray
Check = Callable[[int, int], Numbers]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check; true if it passed."""

    p_values: dict[str, float]
    """Of the first stage, by the name or the number of the statistic."""
    again: dict[str, float] = field(default_factory=dict)
    """Of the second stage: those that were doubtful in the first."""
    n_replicates: int = 0
    """In the first stage."""

    def __bool__(self) -> bool:
        return self.least >= AT_ONCE and all(p >= AGAIN for p in self.again.values())

    def __repr__(self) -> str:
        kind = "passed" if self else "failed"
        texts = [f"{name}: p = {self.p_values[name]:.2g}" for name in self.again or self._worst()]
        more = TIMES * self.n_replicates
        texts += [f"{name}: p = {p:.2g} of {more} replicates" for name, p in self.again.items()]
        return f"<{kind}, {self.n_replicates} replicates; {'; '.join(texts)}>"

    @property
    def least(self) -> float:
        """The least p-value of the first stage."""
        return min(self.p_values.values(), default=1.0)

    def _worst(self) -> list[str]:
        return sorted(self.p_values, key=self.p_values.__getitem__)[:1]


watchers: list[Callable[[Outcome], object]] = []
"""Called with the verdict of every `holds`: a suite counts its statistics this way."""


def holds(check: Check, n_replicates: int, seed: int = 0) -> Outcome:
    """Return the verdict on a check of something that should be right.

    Parameters
    ----------
    check
        Called as check(n_replicates, seed); returns p-values, in the same order each time.
    n_replicates
        Of the first stage; the second has ten times as many.
    seed
        Any whole number, so that two checks in one test differ.
    """
    verdict = _judged(check, n_replicates, seed)
    for tell in watchers:
        tell(verdict)
    return verdict


def is_caught(check: Check, n_replicates: int, seed: int = 0) -> bool:
    """Return whether a check of something that is wrong on purpose fails, as it must."""
    return not _judged(check, n_replicates, seed)


def _judged(check: Check, n_replicates: int, seed: int) -> Outcome:
    first = _p_values(check, n_replicates, _seed(seed, 1))
    doubtful = [name for name, p in first.items() if p < DOUBTFUL]
    if not doubtful or min(first.values()) < AT_ONCE:
        return Outcome(first, n_replicates=n_replicates)
    second = _p_values(check, TIMES * n_replicates, _seed(seed, 2))
    return Outcome(first, {name: second[name] for name in doubtful}, n_replicates)


def by_name(numbers: Numbers) -> dict[str, float]:
    """Return numbers by their names, or by their places if they have none."""
    if not isinstance(numbers, Mapping):
        numbers = {str(place): number for place, number in enumerate(np.ravel(numbers))}
    return {name: float(number) for name, number in numbers.items()}


def _p_values(check: Check, n_replicates: int, seed: int) -> dict[str, float]:
    p_values = by_name(check(n_replicates, seed))
    if not all(0.0 <= p <= 1.0 for p in p_values.values()):
        raise ValueError(f"a check returned what is no p-value: {p_values}")
    return p_values


def _seed(seed: int, stage: int) -> int:
    base = int(os.environ.get("RIBP_TEST_SEED", "0"))
    return int(np.random.SeedSequence([base, seed, stage]).generate_state(1)[0])


def is_slow() -> bool:
    """Return whether the slow tier is wanted: RIBP_TEST_TIER is "slow"."""
    return os.environ.get("RIBP_TEST_TIER") == "slow"


def replicates(few: int, many: int | None = None) -> int:
    """Return the replicates of a check: `few`, in the slow tier `many` or ten times as many."""
    if not is_slow():
        return few
    return TIMES * few if many is None else many


def frequencies_p_value(observed: ArrayLike, probs: ArrayLike) -> float:
    """Return the p-value of a chi-square test of observed frequencies against probabilities.

    Cells that expect fewer than ten draws are pooled; a draw where the probability is zero is
    proof that the law is wrong and gives 0.
    """
    counts = np.asarray(observed, dtype=float).ravel()
    law = np.asarray(probs, dtype=float).ravel()
    if counts[law == 0].any():
        return 0.0
    expected = counts.sum() * law / law.sum()
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    pooled = int(np.searchsorted(np.cumsum(expected), 10.0)) + 1
    counts = np.append(counts[:pooled].sum(), counts[pooled:])
    expected = np.append(expected[:pooled].sum(), expected[pooled:])
    if counts.size < 2:
        return 1.0
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, counts.size - 1))


def mean_p_value(draws: ArrayLike, mean: float, standard_error: float = 0.0) -> float:
    """Return the p-value of independent draws having `mean`, known up to `standard_error`.

    Exact for draws that are zero or one, of which the ones may be so rare that there is none.
    """
    values = np.asarray(draws, dtype=float)
    if standard_error == 0.0 and 0.0 < mean < 1.0 and np.isin(values, (0.0, 1.0)).all():
        return float(stats.binomtest(int(values.sum()), values.size, mean).pvalue)
    own = values.std(ddof=1) / math.sqrt(values.size)
    return _t_p_value(float(values.mean() - mean), [(own, values.size - 1), (standard_error, 1e9)])


def two_sample_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p-value of two samples of independent draws having equal means."""
    samples = [np.asarray(first, dtype=float), np.asarray(second, dtype=float)]
    errors = [(s.std(ddof=1) / math.sqrt(s.size), s.size - 1) for s in samples]
    return _t_p_value(float(samples[0].mean() - samples[1].mean()), errors)


def _t_p_value(difference: float, errors: Sequence[tuple[float, float]]) -> float:
    """Return the two-sided p-value of a difference, given errors and their degrees of freedom.

    Degrees of freedom of the sum are those of Welch and Satterthwaite.
    """
    variance = sum(error**2 for error, _ in errors)
    if variance == 0.0:
        return float(difference == 0.0)
    freedom = 1.0 / sum((error**2 / variance) ** 2 / df for error, df in errors)
    return float(2 * stats.t.sf(abs(difference) / math.sqrt(variance), freedom))
