"""What an entry of a row is, given the weight of its feature: one base class, one file a kind.

Restricting a row of independent entries z_i to have J non-zeros, or J ones and nothing else, leaves
the law of a binary row with other odds for the same atom:

    entries                 atom carries     non-zero: (1-P(0))/P(0)      one: P(1)/P(0)
    Bernoulli(pi)           log-odds         pi/(1-pi)                    pi/(1-pi)
    Poisson(lambda)         log lambda       e^lambda - 1                 lambda
    NB(r, pi)               log-odds         (1-pi)^{-r} - 1              r pi

where NB(r, pi) has P(0) = (1-pi)^r. As functions of the size they are convex and vanish at zero,
which is all that a bound on the tail needs.

For a given sum, feature i carries the polynomial g_i(x) = sum_z a_i(z) x^z, a_i(z) = P_i(z)/P_i(0):
polynomials are multiplied, O(I J^2), and walked back, unless a kind knows a quicker way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.measures import Odds
from ribp.restricted_bernoulli import sample_sets

RESTRICTIONS = ("nonzeros", "sum", "ones")
"""What may be restricted: the number of non-zeros, the sum, or the sum with all values one."""


class SparseRows(NamedTuple):
    """Rows laid end to end: row n owns the next ``lengths[n]`` members and values."""

    members: IntArray | NDArray[np.int32]
    values: IntArray | NDArray[np.int8]
    lengths: IntArray


@dataclass(frozen=True)
class EntryKind(ABC):
    """The law of an entry, given what the atom of its feature carries: its log-weight theta."""

    failures: float = 1.0
    """r of the negative binomial law; other kinds may use it or not."""

    atoms: ClassVar[tuple[str, ...]] = ("probabilities", "sizes")
    """What atoms may be, as `Measure.atoms` says it."""
    restrictions: ClassVar[tuple[str, ...]] = ("nonzeros", "ones")
    """Which of `RESTRICTIONS` it knows."""
    largest: ClassVar[float] = 30.0
    """The largest log-weight if values are free: e^30 is 10^13, so that entries fit 64 bits."""
    binary: ClassVar[bool] = False
    """Whether entries are 0 and 1: then there are more samplers, and the tilted law."""

    @abstractmethod
    def odds(self, restrict: str) -> Odds | None:
        """Return the odds that an atom gives a row, as a function of theta; None: e^theta.

        "nonzeros" and "ones": those of the table above. "sum": what the bound for sums adds up over
        the atoms left out.
        """

    @abstractmethod
    def log_ratios(self, theta: FloatArray, z: IntArray) -> FloatArray:
        """Return log P(z) - log P(0)."""

    @abstractmethod
    def draw_positive(self, rng: np.random.Generator, theta: FloatArray) -> IntArray:
        """Draw an entry for each theta, given that it is not zero."""

    def log_odds(self, restrict: str, theta: FloatArray) -> FloatArray:
        """Return the logarithms of the odds."""
        odds = self.odds(restrict)
        return theta if odds is None else odds(theta)

    def check(self, restrict: str, theta: FloatArray) -> None:
        """Raise an `InputError` if entries could be too large for their type."""
        if restrict == "nonzeros" and theta.max() > self.largest:
            raise InputError(
                "log_weights",
                f"must be at most {self.largest:g} here, where entries grow like their exponential",
                theta.max(),
                "Use a smaller scale, or restrict='ones' or 'sum'.",
            )

    def draw_rows(
        self, rng: np.random.Generator, restrict: str, theta: FloatArray, totals: IntArray
    ) -> SparseRows:
        """Draw one row for each given value of the restricted quantity."""
        if restrict == "sum":
            return self.draw_sums(rng, theta, totals)
        members = sample_sets(rng, self.log_odds(restrict, theta), totals)
        values: IntArray | NDArray[np.int8]
        if self.binary:
            values = np.ones(members.size, np.int8)
        elif restrict == "nonzeros":
            values = self.draw_positive(rng, theta[members])
        else:
            values = np.ones(members.size, np.int64)
        return SparseRows(members, values, totals)

    # The sum

    def mean_total(self, theta: FloatArray) -> float:
        """Return the expected sum of a row that is not restricted; for sums only."""
        raise NotImplementedError

    def has_bound(self, restrict: str) -> bool:
        """Return whether what a truncation loses is bounded."""
        return restrict != "sum"

    def sum_bounds(self, theta: FloatArray, log_tail: float, levels: IntArray) -> FloatArray:
        """Return the bound for each sum in `levels`, given the head and the log of T."""
        raise NotImplementedError

    def log_coefficients(self, theta: FloatArray, most: int) -> FloatArray:
        """Return log [x^j] prod_{l <= i} g_l(x) at [i, j], for i = 0 .. I and j = 0 .. most."""
        j = np.arange(most + 1)
        table = np.full((theta.size + 1, most + 1), -np.inf)
        table[0, 0] = 0.0
        gap = j[:, None] - j  # [all together, left to the others]
        for i in range(1, table.shape[0]):
            own = self.log_ratios(theta[i - 1], np.maximum(gap, 0))
            table[i] = logsumexp(np.where(gap >= 0, own + table[i - 1], -np.inf), axis=1)
        return table

    def draw_sums(
        self, rng: np.random.Generator, theta: FloatArray, totals: IntArray
    ) -> SparseRows:
        """Draw entries from the last feature to the first, each given what is left to share."""
        most = int(totals.max(initial=0))
        table = self.log_coefficients(theta, most)
        z = np.arange(most + 1)
        left = totals.copy()
        found = [np.empty((3, 0), np.int64)]
        for i in range(theta.size, 0, -1):
            log_own = self.log_ratios(theta[i - 1], z)
            drawn = np.zeros_like(left)
            for total in np.unique(left[left > 0]):
                log_law = log_own[: total + 1] + table[i - 1, total::-1]
                law = np.exp(log_law - log_law.max())
                at = np.flatnonzero(left == total)
                drawn[at] = rng.choice(total + 1, size=at.size, p=law / law.sum())
            left -= drawn
            at = np.flatnonzero(drawn)
            found.append(np.stack([at, np.full(at.size, i - 1), drawn[at]]))
        rows, members, values = np.concatenate(found, axis=1)
        order = np.argsort(rows, kind="stable")
        lengths = np.bincount(rows, minlength=totals.size)
        return SparseRows(members[order], values[order], lengths)
