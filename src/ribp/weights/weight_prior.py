"""What a prior on the log-odds theta offers: a density of theta, draws, and help for its sampler.

A prior inherits from `WeightPrior`, whose fields are (mass, concentration, n_features):
`dataclasses.replace(prior, mass=...)` is the same prior with another mass.

The last two methods are for the weight update (`ribp.mcmc.weight_moves`). Features that few rows or
none have are its hard part: how far to the left they reach is the prior's affair. Given the others,
one with odds w that m rows have meets the rows only through

    w^m prod_k (1 + r_k w)^{-N_k} = w^m exp(-slope w + curvature w^2/2 - ...),    r_k = e_{k-1}/e_k,

N_k the number of rows with k ones, e_k of the other features: `Pull` holds the logarithms of
slope = sum_k N_k r_k and curvature = sum_k N_k r_k^2. A prior turns it into a joint proposal for
all rare features; what it leaves out is put right by a Metropolis-Hastings step.

The update is compiled for priors whose `compiled` is a number, and otherwise asks these methods.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray


class Pull(NamedTuple):
    """How rows pull the odds of a feature to zero; both -inf if there are none."""

    log_slope: float
    log_curvature: float

    @property
    def power(self) -> float:
        """The k of (1 + w/s)^{-k}, which has the same slope and curvature."""
        rows = self.log_slope > -math.inf
        return math.exp(2.0 * self.log_slope - self.log_curvature) if rows else 0.0

    @property
    def log_scale(self) -> float:
        """The log s of (1 + w/s)^{-k}."""
        return self.log_slope - self.log_curvature if self.log_slope > -math.inf else 0.0


class RareLaw(Protocol):
    """A joint proposal for the log-odds of rare features."""

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw all of them."""

    def log_density(self, log_odds: FloatArray) -> float:
        """Return its log density, up to a constant."""


@dataclass(frozen=True)
class WeightPrior(ABC):
    """The law of the log-odds of I features, which are exchangeable."""

    mass: float
    """Parameter alpha."""
    concentration: float
    """Parameter c."""
    n_features: int
    """The number I of features."""

    compiled: ClassVar[int | None] = None
    """Its number in `ribp.kernels.weight_density`, if kernels know it; not inherited."""

    def __init_subclass__(cls) -> None:
        """Let no class whose density may be another one be taken for its parent by kernels."""
        cls.compiled = cls.__dict__.get("compiled")

    @abstractmethod
    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta), normalised over all of R^I."""

    @abstractmethod
    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return the gradient of the log density."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw the log-odds of all features, in no order."""

    @abstractmethod
    def precision(self, rare: NDArray[np.bool_]) -> FloatArray:
        """Return what trajectories add to the precision of each feature, roughly.

        Parameters
        ----------
        rare
            Which features are drawn by `rare_law`: these may be heavy, the others may not.
        """

    @abstractmethod
    def rare_law(self, sums: FloatArray, others: FloatArray, pull: Pull) -> RareLaw:
        """Return a law for the log-odds of rare features, close to theirs given the others.

        Parameters
        ----------
        sums
            How many rows have each rare feature.
        others
            The log-odds of the other features.
        pull
            What the rows do to rare features.
        """
