"""Directing measures: the laws of the feature weights, and how they are made finite.

Weights travel as log-odds. See `ribp.measures.measure` for what every measure offers.
"""

import re
from typing import Any

from ribp.errors import InputError
from ribp.measures.beta_process import BetaProcess
from ribp.measures.gamma_process import GammaProcess
from ribp.measures.levy import CompletelyRandomMeasure
from ribp.measures.measure import AtomStream, Measure, Odds
from ribp.measures.normalized import DirichletWeights, PitmanYorWeights
from ribp.measures.transforms import esscher, normalised_log_odds, odds
from ribp.measures.truncation import Certified, SizeOrdered, Truncation, WeakLimit
from ribp.plugins import Registry

__all__ = [
    "MEASURES",
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
    "as_measure",
    "esscher",
    "normalised_log_odds",
    "odds",
    "register",
]

MEASURES: Registry[type[Measure]] = Registry(
    "measure",
    "ribp.measures",
    Measure,
    {
        "beta-process": BetaProcess,
        "gamma-process": GammaProcess,
        "dirichlet": DirichletWeights,
        "pitman-yor": PitmanYorWeights,
    },
)
register = MEASURES.register


def as_measure(measure: Any) -> Measure:
    """Return a measure, or that of a text such as "beta-process(5, 1)"."""
    if isinstance(measure, Measure):
        return measure
    text = re.fullmatch(r"\s*([^()]*?)\s*\(([^()]*)\)\s*", str(measure))
    if text is None:
        raise InputError(
            "measure",
            "must be a directing measure",
            measure,
            f"Pass ribp.BetaProcess(mass=5), or a text with its numbers: {', '.join(MEASURES)}.",
        )
    try:
        numbers = list(map(float, text[2].split(",")))
    except ValueError:
        raise InputError(
            "measure", "must have numbers", measure, "Write beta-process(5)."
        ) from None
    return MEASURES[text[1]](*numbers)
