"""The beta process and its power-law extension, the stable-beta process.

Atoms of size pi in (0, 1) form a Poisson process with intensity

    nu(d pi) = alpha C pi^{-1-s} (1-pi)^{c+s-1} d pi,    C = Gamma(1+c)/(Gamma(1-s) Gamma(c+s)),

where alpha is `mass` (the expected number of features of an unrestricted row), c is
`concentration` (large: many features of small weight) and s is `discount` (the number of distinct
features in N rows grows as log N for s = 0, as N^s for s > 0). For s = 0, C = c and nu is the beta
process c alpha pi^{-1} (1-pi)^{c-1}.

With B_x(p, q) the incomplete beta integral, nearly everything here is one formula. Of the atoms
below t that M rows have left alone, with intensity (1-pi)^M nu, the next row takes on average

    integral_0^t pi (1-pi)^M nu(d pi) = alpha C B_t(1-s, c+s+M).

That is the rate of new atoms in the lazy sampler; at t = 1 it is the rate of new dishes in the
collapsed one; at M = 0 the expected total size of the atoms below t; at M = -1 their expected total
odds E[T | t], which for c = 1, s = 0 is -alpha log(1-t). The Levy tail is
N(x) = alpha C B_{1-x}(c+s, -s), which for c = 1, s = 0 is -alpha log x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.measures.incomplete_beta import inverse_log_incomplete_beta, log_incomplete_beta
from ribp.measures.levy import CompletelyRandomMeasure, convex_tail_bound
from ribp.measures.measure import Odds, checked_discount, no_weak_limit
from ribp.measures.newton import invert_log_integral
from ribp.measures.special import log_beta, logit_from_log, softplus
from ribp.measures.variates import beta_log_odds_variates


@dataclass(frozen=True)
class BetaProcess(CompletelyRandomMeasure):
    """The directing measure of the Indian buffet process.

    Parameters
    ----------
    mass : float
        alpha > 0.
    concentration : float
        c > -discount; 1 gives the one-parameter Indian buffet process.
    discount : float
        0 <= s < 1; above zero the number of features grows as a power of the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ribp.measures import BetaProcess
    >>> log_odds = BetaProcess(mass=5).size_ordered(np.random.default_rng(0), 3)
    >>> bool(np.all(np.diff(log_odds) < 0))
    True
    """

    atoms = "probabilities"

    mass: float
    concentration: float = 1.0
    discount: float = 0.0

    def __post_init__(self) -> None:
        mass = checks.positive("mass", self.mass)
        discount, concentration = checked_discount(
            self.discount, "concentration", self.concentration,
            "Pass concentration=1.0 for the one-parameter process.",
        )  # fmt: skip
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "concentration", concentration)
        object.__setattr__(self, "discount", discount)

    # The measure's atoms

    def log_levy_tail(self, log_odds: ArrayLike) -> FloatArray:
        """Return log N: N is the expected number of atoms above the given log-odds."""
        p, q = self.concentration + self.discount, -self.discount
        return self._log_scale + log_incomplete_beta(-np.asarray(log_odds), p, q)

    def weak_limit(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of I weights, iid Beta(c alpha/I, c - c alpha/I); needs I > alpha."""
        rng = checks.generator("rng", rng)
        n_features = checks.integer("n_features", n_features, least=1)
        if self.discount > 0:
            raise no_weak_limit(self.discount)
        if n_features <= self.mass:
            raise InputError(
                "n_features",
                f"must exceed mass = {self.mass:g} in the weak limit",
                n_features,
                "Use more features, a smaller mass, or SizeOrdered.",
            )
        share = self.mass / n_features
        c = self.concentration
        return beta_log_odds_variates(rng, c * share, c * (1.0 - share), n_features)

    def log_expected_tail_odds(
        self, log_threshold: ArrayLike, odds: Odds | None = None
    ) -> FloatArray:
        """Return log E[T | t]: exact for odds pi/(1-pi), a bound for other convex odds.

        Parameters
        ----------
        log_threshold : array_like
            The log-odds of t; +inf means t = 1.
        odds : callable, optional
            Log-odds of the row as a function of the log-odds of pi, such as
            `negative_binomial_nonzero`.
        """
        log_threshold = np.asarray(log_threshold, dtype=np.float64)
        if odds is None:
            return self._log_rate(-1, log_threshold)
        log_size = -softplus(-log_threshold)
        return convex_tail_bound(self._log_rate(0, log_threshold), log_size, odds(log_threshold))

    # What a row that takes an atom for the first time sees

    def new_atom_rate(self, n_seen: ArrayLike, log_threshold: ArrayLike = np.inf) -> FloatArray:
        """Return the expected number of atoms below t that the next row takes.

        Parameters
        ----------
        n_seen : array_like of int
            M, the rows proposed so far; none of them took these atoms.
        log_threshold : array_like
            The log-odds of t; +inf means t = 1.
        """
        rate: FloatArray = np.exp(self._log_rate(n_seen, log_threshold))
        return rate

    def draw_new_atoms(
        self, rng: np.random.Generator, n_atoms: int, n_seen: int, log_threshold: float = np.inf
    ) -> FloatArray:
        """Draw the log-odds of atoms just taken: Beta(1-s, c+s+M), truncated to (0, t).

        Parameters
        ----------
        rng : numpy.random.Generator
        n_atoms : int
            How many; their number is Poisson with mean `new_atom_rate`.
        n_seen, log_threshold
            M and the log-odds of t, as in `new_atom_rate`.
        """
        p, q = 1.0 - self.discount, self.concentration + self.discount + n_seen
        if log_threshold == np.inf:
            return beta_log_odds_variates(rng, p, q, n_atoms)
        log_integral = log_incomplete_beta(log_threshold, p, q) - rng.standard_exponential(n_atoms)
        return np.minimum(inverse_log_incomplete_beta(log_integral, p, q), log_threshold)

    def dish_probability(self, n_taken: ArrayLike, n: ArrayLike) -> FloatArray:
        """Return (m - s)/(c + n - 1), the chance that customer n = 2, 3, ... takes a dish.

        Parameters
        ----------
        n_taken : array_like of int
            m >= 1, the earlier customers who took the dish.
        n : array_like of int
            The customer's number, from 1.
        """
        taken = np.asarray(n_taken, dtype=np.float64)
        probability: FloatArray = (taken - self.discount) / (self.concentration + np.subtract(n, 1))
        return probability

    def new_dish_rate(self, n: ArrayLike) -> FloatArray:
        """Return the expected new dishes of customer n = 1, 2, ...; alpha/n for c = 1, s = 0."""
        return self.new_atom_rate(np.subtract(n, 1))

    # The one formula

    @property
    def _log_scale(self) -> float:
        """The logarithm of alpha C, with C = 1/B(1-s, c+s)."""
        log_c = -log_beta(1.0 - self.discount, self.concentration + self.discount)
        return math.log(self.mass) + float(log_c)

    def _log_rate(self, n_seen: ArrayLike, log_threshold: ArrayLike) -> FloatArray:
        """Return log of alpha C B_t(1-s, c+s+M); M = -1 is allowed."""
        q = self.concentration + self.discount + np.asarray(n_seen, dtype=np.float64)
        return self._log_scale + log_incomplete_beta(log_threshold, 1.0 - self.discount, q)

    def _invert_tail(self, arrivals: FloatArray) -> FloatArray:
        c, s = self.concentration, self.discount
        if c == 1.0 and s == 0.0:
            return logit_from_log(-arrivals / self.mass)
        return invert_log_integral(
            self.log_levy_tail,
            lambda theta: self._log_scale + s * softplus(-theta) - (c + s) * softplus(theta),
            np.log(arrivals),
            self._near_inverse(arrivals),
            sign=-1,
        )

    def _near_inverse(self, arrivals: FloatArray) -> FloatArray:
        """Return a start for Newton: N by its leading term on each side of pi = 1/(c+s+1)."""
        a, s = self.concentration + self.discount, self.discount
        middle = -math.log(a)
        log_middle = float(self.log_levy_tail(middle))
        right = middle + (log_middle - np.log(arrivals)) / a
        excess = np.maximum(arrivals - math.exp(log_middle), 0.0)
        excess = excess / math.exp(self._log_scale + s * float(softplus(-middle)))
        left = middle - (np.log1p(s * excess) / s if s > 0 else excess)
        return np.where(excess > 0, left, right)
