"""How an infinite measure becomes finitely many features.

- `WeakLimit`: I exchangeable weights. Simple, conjugate, and an approximation of order 1/I.
- `SizeOrdered`: the first I atoms of the measure, the largest for completely random measures. What
  is lost is bounded, through the law of the odds of the atoms below the last one kept.
- `Certified`: as many atoms as it takes to bring the total variation between the law of a row and
  its law under the whole measure below `tol`. The default for simulation.

With T the total odds of the atoms dropped and R_J = e_{J-1}/e_J of those kept, a row with J ones is
within 1 - exp(-R_J T) of the truth. For a beta process with c = 1, tol = 1e-12 needs about
30 alpha + J + alpha log alpha atoms; with discount s > 0 the number grows as tol^{-s/(1-s)}, so
`max_atoms` caps it and a `TruncationWarning` reports the bound achieved.
"""

from __future__ import annotations

from dataclasses import dataclass

from ribp import checks
from ribp.errors import InputError


@dataclass(frozen=True)
class WeakLimit:
    """Keep `n_features` exchangeable features.

    Parameters
    ----------
    n_features : int
        I >= 1; a beta process needs I > mass.
    """

    n_features: int

    def __post_init__(self) -> None:
        n_features = checks.integer("n_features", self.n_features, least=1)
        object.__setattr__(self, "n_features", n_features)


@dataclass(frozen=True)
class SizeOrdered:
    """Keep the first `n_features` features in the measure's own order.

    Parameters
    ----------
    n_features : int
        I >= 1.
    """

    n_features: int

    def __post_init__(self) -> None:
        n_features = checks.integer("n_features", self.n_features, least=1)
        object.__setattr__(self, "n_features", n_features)


@dataclass(frozen=True)
class Certified:
    """Keep features until a row is within `tol` of its law under the whole measure.

    Parameters
    ----------
    tol : float
        The largest total variation allowed for a row, in (0, 1).
    max_atoms : int
        Where to stop in any case, with a warning that carries the bound achieved.
    """

    tol: float = 1e-12
    max_atoms: int = 100_000

    def __post_init__(self) -> None:
        tol = checks.number("tol", self.tol)
        if not 0.0 < tol < 1.0:
            raise InputError("tol", "must be above 0 and below 1", tol, "Try tol=1e-12.")
        object.__setattr__(self, "tol", tol)
        max_atoms = checks.integer("max_atoms", self.max_atoms, least=1)
        object.__setattr__(self, "max_atoms", max_atoms)


Truncation = WeakLimit | SizeOrdered | Certified
