"""How data come from rows and features: one base class (`likelihood`), one file a likelihood."""

from typing import Any

from ribp.likelihoods.data import Data
from ribp.likelihoods.gaussian_settings import GaussianParameters
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters
from ribp.plugins import Registry

__all__ = [
    "LIKELIHOODS",
    "Data",
    "GaussianParameters",
    "Likelihood",
    "LinearGaussian",
    "PoissonCounts",
    "PoissonParameters",
    "register",
]

LIKELIHOODS: Registry[type[Likelihood[Any]]] = Registry(
    "likelihood",
    "ribp.likelihoods",
    Likelihood,
    {"gaussian": LinearGaussian, "poisson": PoissonCounts},
)
register = LIKELIHOODS.register
