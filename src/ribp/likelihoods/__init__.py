"""How data come from rows and features: one protocol (`base`), one file a likelihood."""

from ribp.likelihoods.data import Data
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.linear_gaussian import GaussianParameters, LinearGaussian
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters
from ribp.likelihoods.registry import register

__all__ = [
    "Data",
    "GaussianParameters",
    "Likelihood",
    "LinearGaussian",
    "PoissonCounts",
    "PoissonParameters",
    "register",
]
