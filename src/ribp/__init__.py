"""Restricted Indian Buffet Process: hidden binary features when you know how many each row has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ribp.version import __version__

if TYPE_CHECKING:
    from ribp import counts, datasets, kinds, likelihoods, plots, testing
    from ribp.estimators import IndianBuffet, RestrictedIBP, load
    from ribp.measures import (
        BetaProcess,
        Certified,
        DirichletWeights,
        GammaProcess,
        PitmanYorWeights,
        SizeOrdered,
        WeakLimit,
        esscher,
        normalised_log_odds,
        odds,
    )
    from ribp.poisson_binomial import PoissonBinomial
    from ribp.polynomials import RestrictedEntries
    from ribp.prior.simulation import simulate
    from ribp.prior_checks import prior_predictive
    from ribp.restricted_bernoulli import RestrictedBernoulli
    from ribp.symmetric import inclusion_probs, log_esp, log_odds_from_inclusion
    from ribp.totals import total_moments


# Where each public name lives; it is imported when it is first used. `ribp.numpyro` is an extra, so
# that `__all__` does not name it.
_HOMES = {
    "counts": "ribp.counts",
    "datasets": "ribp.datasets",
    "kinds": "ribp.kinds",
    "likelihoods": "ribp.likelihoods",
    "numpyro": "ribp.numpyro",
    "plots": "ribp.plots",
    "testing": "ribp.testing",
    "IndianBuffet": "ribp.estimators",
    "RestrictedIBP": "ribp.estimators",
    "load": "ribp.estimators",
    "BetaProcess": "ribp.measures",
    "Certified": "ribp.measures",
    "DirichletWeights": "ribp.measures",
    "GammaProcess": "ribp.measures",
    "PitmanYorWeights": "ribp.measures",
    "SizeOrdered": "ribp.measures",
    "WeakLimit": "ribp.measures",
    "esscher": "ribp.measures",
    "normalised_log_odds": "ribp.measures",
    "odds": "ribp.measures",
    "PoissonBinomial": "ribp.poisson_binomial",
    "RestrictedEntries": "ribp.polynomials",
    "simulate": "ribp.prior.simulation",
    "prior_predictive": "ribp.prior_checks",
    "RestrictedBernoulli": "ribp.restricted_bernoulli",
    "inclusion_probs": "ribp.symmetric",
    "log_esp": "ribp.symmetric",
    "log_odds_from_inclusion": "ribp.symmetric",
    "total_moments": "ribp.totals",
}

__all__ = [
    "BetaProcess",
    "Certified",
    "DirichletWeights",
    "GammaProcess",
    "IndianBuffet",
    "PitmanYorWeights",
    "PoissonBinomial",
    "RestrictedBernoulli",
    "RestrictedEntries",
    "RestrictedIBP",
    "SizeOrdered",
    "WeakLimit",
    "__version__",
    "counts",
    "datasets",
    "esscher",
    "inclusion_probs",
    "kinds",
    "likelihoods",
    "load",
    "log_esp",
    "log_odds_from_inclusion",
    "normalised_log_odds",
    "odds",
    "plots",
    "prior_predictive",
    "simulate",
    "testing",
    "total_moments",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ribp' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if module.__name__ == f"ribp.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
