"""Directing measures: the laws of the feature weights, and how they are made finite.

Weights travel as log-odds. See `ribp.measures.measure` for what every measure offers.
"""

from ribp.measures.beta_process import BetaProcess
from ribp.measures.entries import (
    negative_binomial_nonzero,
    negative_binomial_one,
    poisson_nonzero,
    support_odds,
)
from ribp.measures.gamma_process import GammaProcess
from ribp.measures.levy import CompletelyRandomMeasure
from ribp.measures.measure import AtomStream, Measure, Odds
from ribp.measures.normalized import DirichletWeights, PitmanYorWeights
from ribp.measures.transforms import esscher, normalised_log_odds, odds
from ribp.measures.truncation import Certified, SizeOrdered, Truncation, WeakLimit

__all__ = [
    "AtomStream",
    "BetaProcess",
    "Certified",
    "CompletelyRandomMeasure",
    "DirichletWeights",
    "GammaProcess",
    "Measure",
    "Odds",
    "PitmanYorWeights",
    "SizeOrdered",
    "Truncation",
    "WeakLimit",
    "esscher",
    "negative_binomial_nonzero",
    "negative_binomial_one",
    "normalised_log_odds",
    "odds",
    "poisson_nonzero",
    "support_odds",
]
