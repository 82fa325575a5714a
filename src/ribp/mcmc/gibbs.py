"""The default sampler, features integrated out: assembly only.

One sweep: every row given all other rows (`ribp.kernels.rows_collapsed`), the weights given the
rows (`weights`), the mass given the weights, then features, noise and scales given the rows
(`gaussian`). Complete data; the count law of every row is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray
from ribp.counts import RowCounts
from ribp.kernels.rows_collapsed import sweep as sweep_rows
from ribp.mcmc import gaussian, weights
from ribp.mcmc.slice_sampling import slice_step
from ribp.mcmc.weight_priors import WeakLimitPrior
from ribp.symmetric import log_esp

__all__ = ["GibbsModel", "GibbsState", "draw_data", "draw_prior", "update", "update_mass"]


@dataclass(frozen=True, eq=False)
class GibbsModel:
    """What stays fixed: count laws, truncation, concentration and the priors of the scales."""

    counts: RowCounts
    n_features: int
    concentration: float
    priors: gaussian.GaussianPriors

    def tables(self, log_odds: FloatArray) -> FloatArray:
        """Return log f(k) - log e_k for each count law, k = 0 .. features."""
        laws = [law.restricted_log_probs(0, self.n_features) for law in self.counts.laws]
        return np.array(laws) - log_esp(log_odds)


class GibbsState(NamedTuple):
    """Where the chain is."""

    rows: NDArray[np.int8]  # z, (rows, features)
    log_odds: FloatArray  # theta, (features,)
    mass: float  # alpha
    noise_scale: FloatArray  # s, (dims,)
    feature_scale: float  # tau
    number: int  # of the sweep, part of the key of the random numbers


def update(
    rng: np.random.Generator,
    state: GibbsState,
    model: GibbsModel,
    data: FloatArray,
    seed: np.uint64,
) -> tuple[GibbsState, weights.WeightInfo]:
    """Make one sweep over everything."""
    scaled = data / state.noise_scale
    rows = state.rows.copy()
    summary = gaussian.summarise(scaled, rows.astype(float), state.feature_scale)
    tables = model.tables(state.log_odds)
    sweep_rows(
        seed, state.number, scaled, rows, *summary, state.log_odds, tables, model.counts.index
    )
    sums, ones = rows.sum(axis=0, dtype=np.int64), rows.sum(axis=1)
    histogram = np.bincount(ones, minlength=model.n_features + 1)
    prior = WeakLimitPrior(state.mass, model.concentration, model.n_features)
    log_odds, info = weights.update(rng, state.log_odds, sums, histogram, prior)
    mass = update_mass(rng, state.mass, log_odds, model.concentration)
    used = rows[:, sums > 0].astype(float)
    features = gaussian.draw_features(rng, data, used, state.noise_scale, state.feature_scale)
    noise_scale, feature_scale = gaussian.update_scales(
        rng, data, used, features, state.feature_scale, model.priors
    )
    return GibbsState(rows, log_odds, mass, noise_scale, feature_scale, state.number + 1), info


def update_mass(
    rng: np.random.Generator, mass: float, log_odds: FloatArray, concentration: float
) -> float:
    """Draw alpha given the weights: prior Gamma(1, 1) on (0, I), by a slice step on log alpha."""
    top = math.log(log_odds.size)

    def log_density(log_mass: float) -> float:
        if log_mass >= top:
            return -math.inf
        alpha = math.exp(log_mass)
        prior = WeakLimitPrior(alpha, concentration, log_odds.size)
        return prior.log_density(log_odds) - alpha + log_mass

    return math.exp(slice_step(rng, math.log(mass), log_density, high=top))


def draw_prior(rng: np.random.Generator, model: GibbsModel, dims: int) -> GibbsState:
    """Draw a state from the prior."""
    from ribp.restricted_bernoulli import RestrictedBernoulli

    mass = math.inf
    while mass >= model.n_features:
        mass = float(rng.standard_exponential())
    prior = WeakLimitPrior(mass, model.concentration, model.n_features)
    log_odds = prior.sample(rng, model.n_features)
    rows = np.zeros((len(model.counts), model.n_features), np.int8)
    for which, law in enumerate(model.counts.laws):
        at = np.flatnonzero(model.counts.index == which)
        rows[at] = RestrictedBernoulli(log_odds, law).sample(rng, at.size)
    number = 1 if model.priors.shared else dims
    noise = 0.5 * model.priors.noise_variance / rng.standard_gamma(2.0, number)
    feature = 0.5 * model.priors.feature_variance / rng.standard_gamma(2.0)
    scale = np.broadcast_to(np.sqrt(noise), (dims,)).copy()
    return GibbsState(rows, log_odds, mass, scale, math.sqrt(feature), 0)


def draw_data(rng: np.random.Generator, state: GibbsState) -> FloatArray:
    """Draw data given a state, with new features from their prior."""
    dims = state.noise_scale.size
    features = (
        state.feature_scale * state.noise_scale * rng.standard_normal((state.log_odds.size, dims))
    )
    noise = state.noise_scale * rng.standard_normal((len(state.rows), dims))
    return np.asarray(state.rows @ features + noise)
