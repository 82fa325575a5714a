"""Weights that sum to one: Dirichlet and Pitman-Yor, by breaking a stick.

    P_k = V_k prod_{j<k} (1 - V_j),    V_k ~ Beta(1-s, alpha + k s) independently, k = 1, 2, ...

with alpha the `mass` and s the `discount`; s = 0 is the Dirichlet process. The weights come in
size-biased order, descending on average only. They may replace the odds in the law of a row, which
does not depend on the scale of the odds: with a gamma process, or with its atoms divided by their
sum, the rows have the same law.

After k pieces the stick that is left, prod_{j<=k} (1 - V_j), is exactly the total odds T of all
weights still to come: nothing has to be averaged. Other odds w(P), convex with w(0) = 0, add up to
at most w of the stick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ribp import checks
from ribp.checks import FloatArray
from ribp.measures.measure import AtomStream, Measure, Odds, checked_discount, no_weak_limit
from ribp.measures.special import softplus
from ribp.measures.variates import beta_log_odds_variates, log_gamma_variates


@dataclass(frozen=True)
class PitmanYorWeights(Measure):
    """Pitman-Yor weights: the k-th largest falls as a power of k.

    Parameters
    ----------
    mass : float
        alpha > -discount.
    discount : float
        0 <= s < 1.
    """

    mass: float
    discount: float

    def __post_init__(self) -> None:
        discount, mass = checked_discount(self.discount, "mass", self.mass, "Pass mass=1.0.")
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "discount", discount)

    def weak_limit(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw Dirichlet(alpha/I) log-weights if discount is 0; otherwise there is no limit."""
        if self.discount > 0:
            raise no_weak_limit(self.discount)
        return DirichletWeights(self.mass).weak_limit(rng, n_features)

    def size_ordered(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the first `n_features` log-weights, in the order of the sticks."""
        n_features = checks.integer("n_features", n_features, least=1)
        return self.atom_stream(rng).extend(n_features)

    def atom_stream(self, rng: np.random.Generator) -> AtomStream:
        """Start to break a stick."""
        return _StickStream(checks.generator("rng", rng), self.mass, self.discount)


@dataclass(frozen=True)
class DirichletWeights(Measure):
    """Dirichlet-process weights: the atoms of a gamma process divided by their sum.

    Parameters
    ----------
    mass : float
        alpha > 0; large: many small weights.
    """

    mass: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", checks.positive("mass", self.mass))

    def weak_limit(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the logarithms of symmetric Dirichlet(alpha/I) weights."""
        rng = checks.generator("rng", rng)
        n_features = checks.integer("n_features", n_features, least=1)
        log_sizes = log_gamma_variates(rng, self.mass / n_features, n_features)
        weights: FloatArray = log_sizes - special.logsumexp(log_sizes)
        return weights

    def size_ordered(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the first `n_features` log-weights, in the order of the sticks."""
        return PitmanYorWeights(self.mass, 0.0).size_ordered(rng, n_features)

    def atom_stream(self, rng: np.random.Generator) -> AtomStream:
        """Start to break a stick."""
        return PitmanYorWeights(self.mass, 0.0).atom_stream(rng)


class _StickStream(AtomStream):
    """Pieces of a stick in the order they break off."""

    def __init__(self, rng: np.random.Generator, mass: float, discount: float) -> None:
        self._rng = rng
        self._mass = mass
        self._discount = discount
        self._n_broken = 0
        self._log_rest = 0.0

    def extend(self, n_atoms: int) -> FloatArray:
        n_atoms = checks.integer("n_atoms", n_atoms, least=1)
        k = self._n_broken + np.arange(1, n_atoms + 1)
        share = beta_log_odds_variates(
            self._rng, 1.0 - self._discount, self._mass + k * self._discount, n_atoms
        )
        log_rest = np.cumsum(np.concatenate([[self._log_rest], -softplus(share)]))
        self._n_broken += n_atoms
        self._log_rest = float(log_rest[-1])
        return log_rest[:-1] - softplus(-share)

    def log_expected_tail_odds(self, odds: Odds | None = None) -> float:
        return self._log_rest if odds is None else float(odds(np.asarray(self._log_rest)))
