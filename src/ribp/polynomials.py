"""Rows of counts: independent Poisson or negative binomial entries, restricted.

Feature i carries a polynomial g_i(x) = sum_z a_i(z) x^{phi(z)}, with a_i(z) proportional to the
law of its entry. Independent entries given sum_i phi(z_i) = J have normaliser [x^J] prod_i g_i(x).

Entries are of any kind in `ribp.entries`. Restrictions, J ~ f being

- ``"nonzeros"``, phi = 1(z > 0): the support has the row law of `ribp.RestrictedBernoulli` with
  odds (1 - P_i(0)) / P_i(0); each non-zero entry then has its own law given that it is positive;
- ``"ones"``, all non-zero entries are one: the row law with odds P_i(1) / P_i(0);
- ``"sum"``, phi = z: for Poisson entries Multinomial(J, lambda / sum lambda); for negative binomial
  ones the polynomials g_i(x) = (1 - pi_i x)^{-r} are multiplied, O(I J^2), and walked back.

The mixture has J ~ f whatever the weights; the tilted law keeps independent rows with probability
f(J), as for binary rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, parse
from ribp.entries import SparseRows, make_entries
from ribp.errors import InputError
from ribp.restricted_bernoulli import RestrictedBernoulli, tilted_log_weights


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
        self.entries, self.restrict = make_entries(entries, restrict, failures), restrict
        self.kind = checks.one_of("kind", kind, ("mixture", "tilted"))
        self.entries.check(restrict, self.log_weights)
        if restrict != "sum":
            own = self.entries.log_odds(restrict, self.log_weights)
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
        positive = (
            self.entries.log_ratios(self.log_weights, np.maximum(rows, 1)) - self._support.log_odds
        )
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
        if self.restrict != "sum" and totals.max(initial=0) > self.log_weights.size:
            raise InputError(
                "totals",
                f"must be at most the number of features, {self.log_weights.size}",
                totals.max(),
                "Pass more features or smaller counts.",
            )
        return self.entries.draw_rows(rng, self.restrict, self.log_weights, totals)

    # The sum

    def log_coefficients(self, most: int) -> FloatArray:
        """Return log [x^j] prod_{l <= i} g_l(x) at [i, j], for i = 0 .. I and j = 0 .. most."""
        return self.entries.log_coefficients(self.log_weights, most)

    def _tilted_log_totals(self) -> FloatArray:
        """Return the log law of the sum; the constant of the unrestricted law cancels."""
        theta = np.minimum(self.log_weights, 700.0)
        mean = self.entries.mean_total(theta)
        weights = tilted_log_weights(
            self.counts, lambda top: self.log_coefficients(top)[-1], mean, None
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
        inside = (
            self.entries.log_ratios(self.log_weights, rows).sum(axis=-1)
            - self.log_coefficients(most)[-1][total]
        )
        return np.asarray(of_total[total] + inside)
