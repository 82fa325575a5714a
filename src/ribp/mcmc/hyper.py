"""Mass and concentration given the weights and rows, by slice steps on their logarithms.

    alpha ~ Gamma(1, 1) on (0, I),    c ~ Gamma(2, rate 2),    theta | alpha, c ~ a weight prior.

The weak limit needs alpha < I; the other priors obey the same rule, so that one law serves all.
Of a prior nothing is asked but p(theta | alpha, c), and `dataclasses.replace` gives it at other
values. Priors that kernels know are updated by one call of `ribp.kernels.weight_slices`.

Rare features know the product c alpha well, and little else knows either factor: the two are
strongly correlated. When both are learned, a third step moves c with c alpha held fixed. It gives
two to ten times as many effective draws as the first two alone.

Log-odds that the rows say nothing of know alpha well too, and given them it hardly moves: those of
features that no row has, which spread over about I/(c alpha) to the left, and the mean of all
others, since rows do not see a shift of all log-odds. So alpha also moves together with them, to
alpha e^s while these log-odds are multiplied by e^{-s}, which leaves their prior nearly as it is:
three to five times as many effective draws of alpha. The slice is on s; its density has a factor
e^{-s} for each feature without rows and one for the mean of the others, and the rows, which see the
spare features a little, have their say.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.kernels.weight_slices import update_hyper
from ribp.mcmc.slice_sampling import slice_step
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.weights import WeightPrior
from ribp.weights.density import row_log_density
from ribp.weights.hyper_prior import log_concentration_density, log_mass_density


class Hyper(NamedTuple):
    """Mass, concentration, and weights that moved with them."""

    log_odds: FloatArray
    mass: float
    concentration: float


def update(
    rng: np.random.Generator,
    model: Model,
    state: Any,
    log_odds: FloatArray,
    sizes: IntArray,
    histogram: IntArray,
) -> Hyper:
    """Return new mass and concentration if the model learns them, otherwise those of the state.

    Parameters
    ----------
    rng
    model
    state
        Has the present mass and concentration.
    log_odds
        theta; features that no row has get new ones, if the mass is learned.
    sizes, histogram
        How many rows have each feature, and how many rows have each count.
    """
    prior = model.weight_prior(state.mass, state.concentration)
    learns = (model.mass is None, model.concentration is None)
    if prior.compiled is None or not any(learns):
        return update_in_python(rng, prior, learns, log_odds, sizes, histogram)
    theta = np.array(log_odds, np.float64)
    sums, counts = (np.array(x, np.float64) for x in (sizes, histogram))
    law = (prior.compiled, float(prior.mass), float(prior.concentration))
    return Hyper(theta, *update_hyper(kernel_seed(rng), theta, sums, counts, *law, *learns))


def update_in_python(
    rng: np.random.Generator,
    prior: WeightPrior,
    learns: tuple[bool, bool],
    log_odds: FloatArray,
    sizes: IntArray,
    histogram: IntArray,
) -> Hyper:
    """Do the same with any prior; `learns` says whether mass and concentration are learned."""
    learns_mass, learns_concentration = learns
    if learns_mass:
        prior = _with(prior, update_mass(rng, prior, log_odds), prior.concentration)
    if learns_concentration:
        prior = _with(prior, prior.mass, update_concentration(rng, prior, log_odds))
    if all(learns):
        prior = _with(prior, *update_ratio(rng, prior, log_odds))
    mass = prior.mass
    if learns_mass:
        mass, log_odds = update_with_spare(rng, prior, log_odds, sizes, histogram)
    return Hyper(log_odds, mass, prior.concentration)


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


def update_with_spare(
    rng: np.random.Generator,
    prior: WeightPrior,
    log_odds: FloatArray,
    sizes: IntArray,
    histogram: IntArray,
) -> tuple[float, FloatArray]:
    """Draw alpha together with the log-odds of spare features, and with the mean of the others."""
    spare = sizes == 0
    number = int(np.count_nonzero(spare)) + (not spare.all())
    middle = float(log_odds[~spare].mean()) if not spare.all() else 0.0

    def moved(by: float) -> FloatArray:
        shrink = math.exp(-by)
        return np.where(spare, log_odds * shrink, log_odds + middle * (shrink - 1.0))

    def log_density(by: float) -> float:
        theta = moved(by)
        value = _log_joint(prior, prior.mass * math.exp(by), prior.concentration, theta)
        return value + row_log_density(theta, sizes, histogram) - number * by

    top = math.log(prior.n_features / prior.mass)
    by = slice_step(rng, 0.0, log_density, high=top)
    return prior.mass * math.exp(by), moved(by)


def _log_joint(
    prior: WeightPrior, mass: float, concentration: float, log_odds: FloatArray
) -> float:
    """Return log p(theta, log alpha, log c), up to a constant."""
    if mass >= prior.n_features:
        return -math.inf
    value: float = log_mass_density(mass) + log_concentration_density(concentration)
    return value + _with(prior, mass, concentration).log_density(log_odds)


def _with(prior: WeightPrior, mass: float, concentration: float) -> WeightPrior:
    return replace(prior, mass=mass, concentration=concentration)
