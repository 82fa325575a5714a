"""How data come from rows and features: one protocol (`base`), one file a likelihood."""

from ribp.likelihoods.base import Data, Likelihood
from ribp.likelihoods.linear_gaussian import GaussianParameters, LinearGaussian
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters

__all__ = [
    "Data",
    "GaussianParameters",
    "Likelihood",
    "LinearGaussian",
    "PoissonCounts",
    "PoissonParameters",
]
