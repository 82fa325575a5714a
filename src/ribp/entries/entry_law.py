"""The law of rows of a model given the weights of its features, and what its count law restricts.

A row z has J(z) ~ f, and given J = j the entries are independent ones given that J(z) = j:

    P(z) = f(J)/normaliser_J prod_i a_i(z_i).

    entries               theta           a(v)                  weight prior    J(z)
    binary                log-odds        e^(theta v), v <= 1   any             number of non-zeros
    poisson               log lambda      lambda^v/v!           gamma odds      the same, or the sum
    negative_binomial     log-odds of pi  C(v+r-1, v) pi^v      weak limit      the same, or the sum

Normalisers are e_k of the odds that an entry is not zero, or the coefficients of a product of
polynomials (`ribp.kernels.entry_density`). Strengths are entries that are binary here: how strong
an entry is that is on is not a matter of the count law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw
from ribp.entries.negative_binomial_kind import NegativeBinomialEntries
from ribp.entries.poisson_kind import PoissonEntries
from ribp.errors import InputError
from ribp.kernels import entry_density as kernel
from ribp.restricted_bernoulli import sample_sets
from ribp.symmetric import falling, log_esp, sorted_log_esp

_KINDS = {"poisson": PoissonEntries, "negative_binomial": NegativeBinomialEntries}
_WEIGHT_PRIORS = {"poisson": "gamma-odds", "negative_binomial": "weak-limit"}


@dataclass(frozen=True)
class EntryLaw:
    """The law of rows given weights.

    Parameters
    ----------
    entries
        "binary", "poisson" or "negative_binomial".
    restrict
        What the count law is about: "nonzeros" or, if entries count, "sum".
    failures
        r of negative binomial entries; at least one where their non-zeros are restricted, which
        makes values log-concave.
    """

    entries: str = "binary"
    restrict: str = "nonzeros"
    failures: float = 1.0

    def __post_init__(self) -> None:
        allowed = ("nonzeros", "sum") if self.counts else ("nonzeros",)
        checks.one_of("restrict", self.restrict, allowed)
        checks.positive("failures", self.failures)
        if self.heavy_tailed and self.failures < 1.0:
            raise InputError(
                "failures",
                'must be at least 1 with restrict="nonzeros"',
                self.failures,
                'Raise it, or set restrict="sum".',
            )

    @property
    def counts(self) -> bool:
        """Whether entries count: multiplicities, not zeros and ones."""
        return self.entries != "binary"

    @property
    def by_sum(self) -> bool:
        """Whether the sum of a row is restricted."""
        return self.restrict == "sum"

    @property
    def heavy_tailed(self) -> bool:
        """Whether values have no limit, and a tail like v^-c, c the concentration."""
        return self.entries == "negative_binomial" and not self.by_sum

    @property
    def growth(self) -> float:
        """The number g of `ribp.kernels.value_weights`: 0 for Poisson entries, or 1/r."""
        return 1.0 / self.failures if self.entries == "negative_binomial" else 0.0

    @property
    def restriction(self) -> int:
        """The same as kernels have it."""
        return kernel.SUM if self.by_sum else kernel.NONZEROS

    @property
    def weight_prior(self) -> str | None:
        """The only weight prior there is, if entries count."""
        return _WEIGHT_PRIORS.get(self.entries)

    def sizes_type(self, most: int) -> np.dtype[Any]:
        """Return the type in which stored draws hold the sizes of entries, J being <= `most`."""
        if self.by_sum:
            return np.min_scalar_type(most)
        return np.dtype(np.uint32 if self.counts else np.float32)

    # What is restricted

    def most(self, laws: Sequence[CountLaw], n_features: int) -> int:
        """Return the largest J: the number of features, or the largest sum that laws allow."""
        if not self.by_sum:
            return n_features
        for law in laws:
            if law.largest is None:
                raise InputError(
                    "counts",
                    'must have a largest sum with restrict="sum"',
                    law,
                    "Cut it, such as truncated(poisson(4), 0, 20).",
                )
        return max((law.largest or 0 for law in laws), default=0)

    def totals(self, rows: Any) -> IntArray:
        """Return J of each row."""
        return np.asarray(
            rows.sum(axis=1) if self.by_sum else np.count_nonzero(rows, axis=1)
        ).astype(np.int64)

    def possible_rows(self, table: FloatArray, n_features: int) -> float:
        """Return how many z a law allows that has log f where `table` is finite."""
        allowed = np.flatnonzero(table > -np.inf).tolist()
        if self.by_sum:
            return float(sum(math.comb(n_features + j - 1, j) for j in allowed))
        if self.counts and any(allowed):
            return math.inf
        return float(sum(math.comb(n_features, k) for k in allowed))

    # Given weights

    def log_normalisers(self, theta: FloatArray, most: int) -> FloatArray:
        """Return the log normalisers of J = 0 .. most; -inf where J is not possible."""
        if self.counts:
            return np.asarray(
                kernel.log_normalisers(
                    np.array(theta, np.float64), self.growth, self.restriction, most
                )
            )
        if np.isfinite(theta).all():
            return np.asarray(sorted_log_esp(falling(theta), most))
        return np.asarray(log_esp(theta)[: most + 1])

    def tables(self, log_probs: FloatArray, theta: FloatArray) -> FloatArray:
        """Return log f(J) - log normaliser_J of each law, given log f (..., J)."""
        most = log_probs.shape[-1] - 1
        most = most if self.by_sum else min(most, theta.size)
        return np.asarray(log_probs[..., : most + 1] - self.log_normalisers(theta, most))

    def log_weights(self, theta: FloatArray) -> FloatArray:
        """Return the log-odds of an entry that is not zero, or of one unit more."""
        if not self.counts:
            return theta
        rates, _, odds = kernel.entry_weights(np.array(theta, np.float64), self.growth)
        return np.asarray(rates if self.by_sum else odds)

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Return the probability that an entry is not zero, if nothing is restricted."""
        if not self.counts:
            return np.asarray(expit(theta))
        with np.errstate(over="ignore"):
            odds = np.exp(theta) if self.growth == 0.0 else np.logaddexp(0.0, theta) / self.growth
        return np.asarray(-np.expm1(-odds))

    def draw_rows(self, rng: np.random.Generator, theta: FloatArray, totals: IntArray) -> Any:
        """Draw a row for each J: bytes, or doubles if entries count."""
        if not self.counts:
            rows = np.zeros((totals.size, theta.size), np.int8)
            members = sample_sets(rng, theta, totals)
            rows[np.repeat(np.arange(totals.size), totals), members] = 1
            return rows
        kind = _KINDS[self.entries](self.failures)
        sparse = kind.draw_rows(rng, self.restrict, theta, totals)
        values = np.zeros((totals.size, theta.size))
        values[np.repeat(np.arange(totals.size), sparse.lengths), sparse.members] = sparse.values
        return values


BINARY = EntryLaw()
