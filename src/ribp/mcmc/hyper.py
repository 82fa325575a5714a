"""Mass and concentration given the weights, by slice steps on their logarithms.

    alpha ~ Gamma(1, 1) on (0, I),    c ~ Gamma(2, rate 2),    theta | alpha, c ~ a weight prior.

The weak limit needs alpha < I; the other priors obey the same rule, so that one law serves all.
Of a prior nothing is asked but p(theta | alpha, c), and `dataclasses.replace` gives it at other
values.

Rare features know the product c alpha well, and little else knows either factor: the two are
strongly correlated. When both are learned, a third step moves c with c alpha held fixed. It gives
two to ten times as many effective draws as the first two alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ribp.checks import FloatArray
from ribp.mcmc.slice_sampling import slice_step
from ribp.model import Model, State
from ribp.weight_priors import WeightPrior

__all__ = ["update", "update_concentration", "update_mass", "update_ratio"]


def update(
    rng: np.random.Generator, model: Model, state: State, log_odds: FloatArray
) -> tuple[float, float]:
    """Return mass and concentration: new if the model learns them, otherwise those of the state."""
    prior = model.weight_prior(state.mass, state.concentration)
    if model.mass is None:
        prior = _with(prior, update_mass(rng, prior, log_odds), prior.concentration)
    if model.concentration is None:
        prior = _with(prior, prior.mass, update_concentration(rng, prior, log_odds))
    if model.mass is None and model.concentration is None:
        return update_ratio(rng, prior, log_odds)
    return prior.mass, prior.concentration


def update_mass(rng: np.random.Generator, prior: WeightPrior, log_odds: FloatArray) -> float:
    """Draw alpha given c and the weights; `prior` holds the present values of both."""

    def log_density(by: float) -> float:
        return _log_joint(prior, prior.mass * math.exp(by), prior.concentration, log_odds)

    top = math.log(prior.n_features / prior.mass)
    return prior.mass * math.exp(slice_step(rng, 0.0, log_density, high=top))


def update_concentration(
    rng: np.random.Generator, prior: WeightPrior, log_odds: FloatArray
) -> float:
    """Draw c given alpha and the weights; `prior` holds the present values of both."""

    def log_density(by: float) -> float:
        return _log_joint(prior, prior.mass, prior.concentration * math.exp(by), log_odds)

    return prior.concentration * math.exp(slice_step(rng, 0.0, log_density))


def update_ratio(
    rng: np.random.Generator, prior: WeightPrior, log_odds: FloatArray
) -> tuple[float, float]:
    """Draw alpha and c given c alpha and the weights; `prior` holds the present values."""

    def moved(by: float) -> tuple[float, float]:
        return prior.mass * math.exp(-by), prior.concentration * math.exp(by)

    def log_density(by: float) -> float:
        return _log_joint(prior, *moved(by), log_odds)

    low = math.log(prior.mass / prior.n_features)
    return moved(slice_step(rng, 0.0, log_density, low=low))


def _log_joint(
    prior: WeightPrior, mass: float, concentration: float, log_odds: FloatArray
) -> float:
    """Return log p(theta, log alpha, log c), up to a constant."""
    if mass >= prior.n_features:
        return -math.inf
    value = math.log(mass) - mass + 2.0 * (math.log(concentration) - concentration)
    return value + _with(prior, mass, concentration).log_density(log_odds)


def _with(prior: WeightPrior, mass: float, concentration: float) -> WeightPrior:
    changed: Any = prior  # a frozen dataclass, as `WeightPrior` asks
    return replace(changed, mass=mass, concentration=concentration)  # type: ignore[no-any-return]
