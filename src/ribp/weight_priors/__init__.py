"""Priors on the log-odds of finitely many features: one file each, chosen by name.

All take (mass alpha, concentration c, number of features I), and agree at small odds, where each is
the beta process c alpha w^{-1} (1+w)^{-c} dw cut in its own way: into I equal pieces (weak limit;
gamma odds, which replace (1+w)^{-c} by e^{-c w}) or at its I-th largest atom (size-ordered). See
`ribp.weight_priors.base` for what a prior must offer.
"""

from collections.abc import Callable

from ribp.weight_priors.base import Pull, RareLaw, WeightPrior
from ribp.weight_priors.gamma_odds import GammaOddsPrior
from ribp.weight_priors.size_ordered import SizeOrderedPrior
from ribp.weight_priors.weak_limit import WeakLimitPrior

__all__ = [
    "WEIGHT_PRIORS",
    "GammaOddsPrior",
    "Pull",
    "RareLaw",
    "SizeOrderedPrior",
    "WeakLimitPrior",
    "WeightPrior",
]

WEIGHT_PRIORS: dict[str, Callable[[float, float, int], WeightPrior]] = {
    "weak-limit": WeakLimitPrior,
    "size-ordered": SizeOrderedPrior,
    "gamma-odds": GammaOddsPrior,
}
