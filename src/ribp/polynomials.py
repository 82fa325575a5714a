"""Rows of counts: independent Poisson or negative binomial entries, restricted.

Feature i carries a polynomial g_i(x) = sum_z a_i(z) x^{phi(z)}, with a_i(z) proportional to the
law of its entry. Independent entries given sum_i phi(z_i) = J have normaliser [x^J] prod_i g_i(x).

Entries: ``"poisson"``, z_i ~ Poisson(lambda_i), weights log lambda_i; ``"negative_binomial"``,
P(z) = C(z+r-1, z) (1-pi_i)^r pi_i^z, weights the log-odds of pi_i, r = `failures`.

Restrictions, J ~ f being

- ``"nonzeros"``, phi = 1(z > 0): the support has the row law of `ribp.RestrictedBernoulli` with
  odds (1 - P_i(0)) / P_i(0); each non-zero entry then has its own law given that it is positive;
- ``"ones"``, all non-zero entries are one: the row law with odds P_i(1) / P_i(0);
- ``"sum"``, phi = z: for Poisson entries Multinomial(J, lambda / sum lambda); for negative binomial
  ones the polynomials g_i(x) = (1 - pi_i x)^{-r} are multiplied, O(I J^2), and walked back.

The mixture has J ~ f whatever the weights; the tilted law keeps independent rows with probability
f(J), as for binary rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, parse
from ribp.errors import InputError
from ribp.measures import support_odds
from ribp.measures.special import log_gamma_ratio
from ribp.restricted_bernoulli import RestrictedBernoulli, sample_sets, tilted_log_weights

__all__ = ["ENTRIES", "RESTRICTIONS", "RestrictedEntries", "SparseRows"]

ENTRIES = ("poisson", "negative_binomial")
ALL = slice(None)
_LARGEST = 30.0  # e^30 is 10^13: entries fit 64 bits, and 1 - pi a double
RESTRICTIONS = ("nonzeros", "sum", "ones")


class SparseRows(NamedTuple):
    """Rows laid end to end: row n owns the next ``lengths[n]`` members and values."""

    members: IntArray | NDArray[np.int32]
    values: IntArray
    lengths: IntArray


class RestrictedEntries:
    """Law of a row of counts with given weights and a law on its number of non-zeros or its sum.

    Parameters
    ----------
    log_weights
        Shape (features,): log lambda (Poisson entries) or log-odds of pi (negative binomial).
    counts
        The law f of the restricted quantity, or its text form.
    entries, restrict
        See the module's description.
    kind
        "mixture" or "tilted".
    failures
        r of the negative binomial law.

    Examples
    --------
    >>> import numpy as np
    >>> row = RestrictedEntries(np.log([1.0, 2.0, 3.0]), "exactly(4)", restrict="sum")
    >>> int(row.sample(np.random.default_rng(0), 2).sum(axis=1)[1])
    4
    """

    def __init__(
        self,
        log_weights: ArrayLike,
        counts: CountLaw | str,
        *,
        entries: str = "poisson",
        restrict: str = "nonzeros",
        kind: str = "mixture",
        failures: float = 1.0,
    ) -> None:
        self.log_weights = checks.log_odds(log_weights, "log_weights")
        if self.log_weights.ndim != 1 or not np.isfinite(self.log_weights).all():
            raise InputError(
                "log_weights",
                "must be one finite vector",
                f"shape {self.log_weights.shape}",
                "Leave out features that are never on.",
            )
        self.counts = parse(counts) if isinstance(counts, str) else counts
        if not isinstance(self.counts, CountLaw):
            raise InputError(
                "counts", "must be a count law", counts, "Pass one, such as ribp.counts.exactly(3)."
            )
        self.entries = checks.one_of("entries", entries, ENTRIES)
        self.restrict = checks.one_of("restrict", restrict, RESTRICTIONS)
        self.kind = checks.one_of("kind", kind, ("mixture", "tilted"))
        self.failures = checks.positive("failures", failures)
        if restrict == "nonzeros" and self.log_weights.max() > _LARGEST:
            raise InputError(
                "log_weights",
                f"must be at most {_LARGEST:g} here, where entries grow like their exponential",
                self.log_weights.max(),
                "Use a smaller scale, or restrict='ones' or 'sum'.",
            )
        if restrict != "sum":
            odds = support_odds(entries, restrict, self.failures)
            own = self.log_weights if odds is None else odds(self.log_weights)
            self._support = RestrictedBernoulli(own, self.counts, kind)

    def log_prob(self, z: ArrayLike) -> FloatArray:
        """Return log P(z) for rows of counts, shape (..., features)."""
        rows = checks.integers("z", z)
        if rows.ndim == 0 or rows.shape[-1] != self.log_weights.size:
            raise InputError(
                "z",
                f"must have {self.log_weights.size} features on its last axis",
                f"shape {rows.shape}",
                "Pass rows of counts, one column a feature.",
            )
        if self.restrict == "sum":
            return self._log_prob_of_sum(rows)
        of_support = self._support.log_prob((rows > 0).astype(np.int8))
        if self.restrict == "ones":
            return np.where((rows > 1).any(axis=-1), -np.inf, of_support)
        positive = self._log_entries(ALL, np.maximum(rows, 1)) - self._support.log_odds
        return np.asarray(of_support + np.where(rows > 0, positive, 0.0).sum(axis=-1))

    def sample(self, rng: np.random.Generator | int, n: int) -> IntArray:
        """Draw n rows, shape (n, features)."""
        rng = checks.generator("rng", rng)
        rows = self.sample_sparse(rng, self.sample_totals(rng, checks.integer("n", n)))
        n = rows.lengths.size
        z = np.zeros((n, self.log_weights.size), np.int64)
        z[np.repeat(np.arange(n), rows.lengths), rows.members] = rows.values
        return z

    def sample_totals(self, rng: np.random.Generator, n: int) -> IntArray:
        """Draw the restricted quantity J of n rows."""
        if self.restrict == "sum" and self.kind == "mixture":
            return self.counts.sample(rng, n)
        log_law = (
            self._tilted_log_totals() if self.restrict == "sum" else self._support.count_log_probs()
        )
        return rng.choice(log_law.size, size=n, p=np.exp(log_law))

    def sample_sparse(self, rng: np.random.Generator, totals: IntArray) -> SparseRows:
        """Draw one row for each given value of the restricted quantity."""
        totals = checks.integers("totals", totals)
        if self.restrict == "sum":
            return self._sample_sums(rng, totals)
        if totals.max(initial=0) > self.log_weights.size:
            raise InputError(
                "totals",
                f"must be at most the number of features, {self.log_weights.size}",
                totals.max(),
                "Pass more features or smaller counts.",
            )
        members = sample_sets(rng, self._support.log_odds, totals)
        values = np.ones(members.size, np.int64)
        if self.restrict == "nonzeros":
            values = self._positive_values(rng, members)
        return SparseRows(members, values, totals)

    def _positive_values(self, rng: np.random.Generator, members: NDArray[np.int32]) -> IntArray:
        """Draw entries given that they are positive.

        A Poisson number with rate m, given that it is positive: its first arrival is an exponential
        time below m, and the rest is Poisson. A negative binomial number is a sum of Poisson many,
        at rate m = -r log(1-pi), numbers with the logarithmic law.
        """
        theta = self.log_weights[members]
        poisson = self.entries == "poisson"
        rate = np.exp(theta) if poisson else self.failures * np.logaddexp(0.0, theta)
        first = -np.log1p(-rng.random(rate.size) * -np.expm1(-rate))
        parts = 1 + rng.poisson(np.maximum(rate - first, 0.0))
        if poisson:
            return parts
        p = np.exp(-np.logaddexp(0.0, -np.repeat(theta, parts)))
        steps = rng.logseries(np.maximum(p, 1e-300))
        starts = np.cumsum(parts) - parts
        return np.add.reduceat(steps, starts) if parts.size else parts

    def _log_entries(self, features: slice | int, z: IntArray) -> FloatArray:
        """Return log a_i(z) = log P_i(z) - log P_i(0) for the given features, which z ends in."""
        theta = self.log_weights[features]
        if self.entries == "poisson":
            return np.asarray(z * theta - gammaln(z + 1.0))
        r, log_pi = self.failures, -np.logaddexp(0.0, -theta)
        return np.asarray(log_gamma_ratio(r, z) - gammaln(z + 1.0) + z * log_pi)

    # --- the sum ---------------------------------------------------------------------------

    def log_coefficients(self, most: int) -> FloatArray:
        """Return log [x^j] prod_{l <= i} g_l(x) at [i, j], for i = 0 .. I and j = 0 .. most."""
        j = np.arange(most + 1)
        table = np.full((self.log_weights.size + 1, most + 1), -np.inf)
        table[0, 0] = 0.0
        if self.entries == "poisson":
            totals = np.logaddexp.accumulate(self.log_weights)
            table[1:] = j * totals[:, None] - gammaln(j + 1.0)
            return table
        gap = j[:, None] - j  # [all together, left to the others]
        for i in range(1, table.shape[0]):
            own = self._log_entries(i - 1, np.maximum(gap, 0))
            table[i] = logsumexp(np.where(gap >= 0, own + table[i - 1], -np.inf), axis=1)
        return table

    def _tilted_log_totals(self) -> FloatArray:
        """Return the log law of the sum; the constant of the unrestricted law cancels."""
        theta = np.minimum(self.log_weights, 700.0)
        mean = np.exp(theta).sum() * (1.0 if self.entries == "poisson" else self.failures)
        weights = tilted_log_weights(
            self.counts, lambda top: self.log_coefficients(top)[-1], float(mean), None
        )
        return np.asarray(weights - logsumexp(weights))

    def _log_prob_of_sum(self, rows: IntArray) -> FloatArray:
        total = rows.sum(axis=-1)
        most = int(total.max(initial=0))
        if self.kind == "mixture":
            of_total = self.counts.log_probs(most)
        else:
            law = self._tilted_log_totals()
            of_total = np.full(max(most + 1, law.size), -np.inf)
            of_total[: law.size] = law
        inside = self._log_entries(ALL, rows).sum(axis=-1) - self.log_coefficients(most)[-1][total]
        return np.asarray(of_total[total] + inside)

    def _sample_sums(self, rng: np.random.Generator, totals: IntArray) -> SparseRows:
        n, features = totals.size, self.log_weights.size
        if self.entries == "poisson":
            probs = np.exp(self.log_weights - logsumexp(self.log_weights))
            picks = np.searchsorted(np.cumsum(probs)[:-1], rng.random(totals.sum()), side="right")
            keys = np.repeat(np.arange(n), totals) * features + picks
            cells, values = np.unique(keys, return_counts=True)
            lengths = np.bincount(cells // features, minlength=n)
            return SparseRows(cells % features, values, lengths)
        return self._walk_back(rng, totals)

    def _walk_back(self, rng: np.random.Generator, totals: IntArray) -> SparseRows:
        """Draw entries from the last feature to the first, each given what is left to share."""
        most = int(totals.max(initial=0))
        table = self.log_coefficients(most)
        z = np.arange(most + 1)
        left = totals.copy()
        found = [np.empty((3, 0), np.int64)]
        for i in range(self.log_weights.size, 0, -1):
            log_own = self._log_entries(i - 1, z)
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
