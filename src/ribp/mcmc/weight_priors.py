"""Priors on the log-odds theta of finitely many features, as densities of theta.

- `WeakLimitPrior`: pi_i iid Beta(a, b), a = c alpha/I, b = c - c alpha/I,
  log p = sum_i [a theta_i - (a+b) log(1+e^theta_i) - log B(a, b)];
- `GammaOddsPrior`: odds w_i iid Gamma(a) with scale s, a = alpha/I (Dirichlet when normalised),
  log p = sum_i [a theta_i - e^theta_i / s - log Gamma(a) - a log s].

Both fall like e^{a theta} to the left: a feature that no row has lives there, and `shape` = a lets
the weight update draw it afresh. `rate` is how fast the density falls to the right, per unit of
odds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import betaln, expit, gammaln

from ribp.checks import FloatArray
from ribp.measures import BetaProcess, GammaProcess

__all__ = ["GammaOddsPrior", "WeakLimitPrior", "WeightPrior"]


class WeightPrior(Protocol):
    """What the weight update needs to know of a prior."""

    @property
    def shape(self) -> float:
        """Exponent a of the left tail."""

    @property
    def rate(self) -> float:
        """Rate r of the approximation e^{a theta - r e^theta} at small odds."""

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta), normalised."""

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return its gradient."""

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw theta from the prior."""


@dataclass(frozen=True)
class WeakLimitPrior:
    """Independent Beta(a, b) weights: the weak limit of a beta process with I features."""

    mass: float
    concentration: float
    n_features: int

    @property
    def shape(self) -> float:
        """Parameter a = c alpha / I."""
        return self.concentration * self.mass / self.n_features

    @property
    def rate(self) -> float:
        """Sum a + b = c: (1+w)^{-c} falls like e^{-c w} at small odds."""
        return self.concentration

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta)."""
        a, c = self.shape, self.concentration
        value = a * log_odds.sum() - c * np.logaddexp(0.0, log_odds).sum()
        return float(value - log_odds.size * betaln(a, c - a))

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return a - (a+b) pi."""
        return np.asarray(self.shape - self.concentration * expit(log_odds))

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw log-odds from the weak limit."""
        return BetaProcess(self.mass, self.concentration).weak_limit(rng, n_features)


@dataclass(frozen=True)
class GammaOddsPrior:
    """Independent Gamma(alpha/I) odds: Dirichlet weights when normalised."""

    mass: float
    scale: float
    n_features: int

    @property
    def shape(self) -> float:
        """Parameter a = alpha / I."""
        return self.mass / self.n_features

    @property
    def rate(self) -> float:
        """Rate 1/s of the gamma law."""
        return 1.0 / self.scale

    def log_density(self, log_odds: FloatArray) -> float:
        """Return log p(theta)."""
        a = self.shape
        value = a * log_odds.sum() - np.exp(log_odds).sum() / self.scale
        return float(value - log_odds.size * (gammaln(a) + a * math.log(self.scale)))

    def gradient(self, log_odds: FloatArray) -> FloatArray:
        """Return a - w/s."""
        return np.asarray(self.shape - np.exp(log_odds) / self.scale)

    def sample(self, rng: np.random.Generator, n_features: int) -> FloatArray:
        """Draw log-odds from independent gamma laws."""
        return GammaProcess(self.mass, self.scale).weak_limit(rng, n_features)
