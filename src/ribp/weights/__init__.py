"""Priors on the log-odds of finitely many features: one file each, chosen by name.

All take (mass alpha, concentration c, number of features I), and agree at small odds, where each is
the beta process c alpha w^{-1} (1+w)^{-c} dw cut in its own way: into I equal pieces (weak limit;
gamma odds, which replace (1+w)^{-c} by e^{-c w}) or at its I-th largest atom (size-ordered). See
`ribp.weights.weight_prior` for what a prior must offer.
"""

from ribp.plugins import Registry
from ribp.weights.gamma_odds import GammaOddsPrior
from ribp.weights.size_ordered import SizeOrderedPrior
from ribp.weights.weak_limit import WeakLimitPrior
from ribp.weights.weight_prior import Pull, RareLaw, WeightPrior

__all__ = [
    "WEIGHT_PRIORS",
    "GammaOddsPrior",
    "Pull",
    "RareLaw",
    "SizeOrderedPrior",
    "WeakLimitPrior",
    "WeightPrior",
    "register",
]

WEIGHT_PRIORS: Registry[type[WeightPrior]] = Registry(
    "weight_prior",
    "ribp.weights",
    WeightPrior,
    {
        "weak-limit": WeakLimitPrior,
        "size-ordered": SizeOrderedPrior,
        "gamma-odds": GammaOddsPrior,
    },
)
register = WEIGHT_PRIORS.register
