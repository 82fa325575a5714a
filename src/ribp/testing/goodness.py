"""From draws to one verdict, with one failure rate for the whole suite.

Seeds are fixed, so a test that passes goes on passing; the rates say how surprising a failure is
when the code or a seed changes. A suite of at most `SUITE_TESTS` checks fails by chance with
probability at most `SUITE_RATE`; each check therefore fails below `SUITE_RATE / SUITE_TESTS`.
The number of seeds is read from RIBP_TEST_SEEDS (`make test` uses few, `make test-slow` many).
"""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

__all__ = [
    "SUITE_RATE",
    "SUITE_TESTS",
    "agrees",
    "frequencies_p_value",
    "mean_p_value",
    "n_seeds",
    "two_sample_p_value",
]

SUITE_RATE = 1e-3
SUITE_TESTS = 10_000


def agrees(p_value: float) -> bool:
    """Return whether a p-value is compatible with a right sampler, at the suite's failure rate."""
    return p_value > SUITE_RATE / SUITE_TESTS


def n_seeds(few: int) -> int:
    """Return the number of seeds of a statistical test: `few`, or RIBP_TEST_SEEDS times as many."""
    return few * int(os.environ.get("RIBP_TEST_SEEDS", "1"))


def frequencies_p_value(observed: ArrayLike, probs: ArrayLike) -> float:
    """Return the p-value of a chi-square test of observed frequencies against probabilities.

    Cells that expect fewer than ten draws are pooled; a draw where the probability is zero is
    proof that the law is wrong and gives 0.
    """
    seen = np.asarray(observed, dtype=float).ravel()
    law = np.asarray(probs, dtype=float).ravel()
    if seen[law == 0].any():
        return 0.0
    expected = seen.sum() * law / law.sum()
    order = np.argsort(expected)
    seen, expected = seen[order], expected[order]
    pooled = int(np.searchsorted(np.cumsum(expected), 10.0)) + 1
    seen = np.append(seen[:pooled].sum(), seen[pooled:])
    expected = np.append(expected[:pooled].sum(), expected[pooled:])
    if seen.size < 2:
        return 1.0
    statistic = ((seen - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, seen.size - 1))


def mean_p_value(draws: ArrayLike, mean: float, standard_error: float = 0.0) -> float:
    """Return the p-value of independent draws having `mean`, known up to `standard_error`."""
    values = np.asarray(draws, dtype=float)
    spread = math.hypot(values.std(ddof=1) / math.sqrt(values.size), standard_error)
    if spread == 0.0:
        return float(values.mean() == mean)
    return float(2 * stats.norm.sf(abs(values.mean() - mean) / spread))


def two_sample_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p-value of two samples of independent draws having equal means."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    spread = math.hypot(a.std(ddof=1) / math.sqrt(a.size), b.std(ddof=1) / math.sqrt(b.size))
    if spread == 0.0:
        return float(a.mean() == b.mean())
    return float(2 * stats.norm.sf(abs(a.mean() - b.mean()) / spread))
