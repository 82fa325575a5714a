"""How data come from rows and features: one base class (`likelihood`), one file a likelihood."""

from typing import Any

from ribp import checks
from ribp.errors import InputError
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import Data
from ribp.likelihoods.gaussian_multiplicities import (
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
)
from ribp.likelihoods.gaussian_settings import GaussianParameters
from ribp.likelihoods.gaussian_strengths import GaussianStrengths
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.noisy_or import NoisyOr
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters
from ribp.likelihoods.poisson_strengths import PoissonStrengths
from ribp.plugins import Registry

__all__ = [
    "ENTRIES",
    "LIKELIHOODS",
    "ColumnsOfKinds",
    "Data",
    "GaussianParameters",
    "GaussianStrengths",
    "Likelihood",
    "LinearGaussian",
    "NegativeBinomialMultiplicities",
    "NoisyOr",
    "PoissonCounts",
    "PoissonMultiplicities",
    "PoissonParameters",
    "PoissonStrengths",
    "names_of",
    "register",
    "with_entries",
]

LIKELIHOODS: Registry[type[Likelihood[Any]]] = Registry(
    "likelihood",
    "ribp.likelihoods",
    Likelihood,
    {
        "gaussian": LinearGaussian,
        "poisson": PoissonCounts,
        "kinds": ColumnsOfKinds,
        "noisy-or": NoisyOr,
    },
)
register = LIKELIHOODS.register

SIZED: dict[tuple[str, str], type[Likelihood[Any]]] = {
    ("gaussian", "strengths"): GaussianStrengths,
    ("poisson", "strengths"): PoissonStrengths,
    ("gaussian", "poisson"): PoissonMultiplicities,
    ("gaussian", "negative_binomial"): NegativeBinomialMultiplicities,
}
"""Likelihoods of entries with a size, by the name of the likelihood and the kind of entries."""
ENTRIES = ("binary", *dict.fromkeys(entries for _, entries in SIZED))


def with_entries(name: str, entries: str) -> type[Likelihood[Any]]:
    """Return a likelihood by its name, of binary entries or of those with a size."""
    plain = LIKELIHOODS[name]
    if checks.one_of("entries", entries, ENTRIES) == "binary":
        return plain
    if (name, entries) not in SIZED:
        names = " or ".join(f'"{one}"' for one, other in SIZED if other == entries)
        raise InputError(
            "likelihood", f'must be {names} with entries="{entries}"', name, "Choose one of these."
        )
    return SIZED[name, entries]


def names_of(kind: type[Likelihood[Any]]) -> tuple[str, str]:
    """Return the name of a likelihood, and what its entries are."""
    sized = {one: names for names, one in SIZED.items()}
    return sized[kind] if kind in sized else (LIKELIHOODS.name_of(kind), "binary")
