"""Mean field for the (unrestricted) Indian buffet with finitely many features: two baselines.

    pi_i ~ Beta(a, b),   a = c alpha/I,   b = c - a,    z_ni ~ Bern(pi_i),    alpha ~ Gamma(1, 1),

and linear-Gaussian data, features independent under q, entries of rows too
(`ribp.variational.mean_field`). The weights are treated in one of two ways.

**beta**, the variational buffet: q(pi_i) = Beta(tau_i), tau_i = (a + m_i, b + N - m_i) with the
expected sizes m_i = sum_n nu_ni. Rows see E log pi and E log(1 - pi). A mass that is learned is the
point that is best together with these factors: it maximises
sum_i [log B(tau_i) - log B(a, b)] + log alpha - alpha, the density of log alpha.

**sample**, the hybrid buffet: weights are fixed, and every 25 iterations drawn from Beta(a + m_i,
b + N - m_i), with m_i the sizes in rows drawn from q; then a learned mass, given the weights.

With the first the bound never falls, with the second it does not fall between draws. It includes
the log prior of scales, mass and drawn weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, digamma

from ribp import checks
from ribp.checks import FloatArray
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import hyper
from ribp.measures.variates import beta_log_odds_variates
from ribp.model import State
from ribp.variational.features import FeatureFactor, RowSums, draw_features
from ribp.variational.mean_field import (
    all_sums,
    coins,
    data_bound,
    draw_rows,
    first_features,
    improve_features,
    sweep_rows,
)
from ribp.weights import WeakLimitPrior
from ribp.weights.hyper_prior import log_mass_density

WeightKind = Literal["beta", "sample"]

_LEAST_MASS = 1e-6


@dataclass(frozen=True)
class FiniteBuffetModel:
    """A buffet of finitely many features, with linear-Gaussian data; mass None means learned."""

    n_rows: int
    n_features: int
    likelihood: LinearGaussian
    mass: float | None = None
    concentration: float = 1.0

    def __post_init__(self) -> None:
        checks.below_features(self.mass, self.n_features)

    def weight_prior(self, mass: float) -> WeakLimitPrior:
        """Return the prior of the log-odds."""
        return WeakLimitPrior(mass, self.concentration, self.n_features)

    def shapes(self, sizes: FloatArray, mass: float) -> FloatArray:
        """Return the Beta law of each weight given the sizes of the features, (2, features)."""
        a = self.weight_prior(mass).shape
        return np.stack([a + sizes, self.concentration - a + (self.n_rows - sizes)])

    def log_evidence(self, sizes: FloatArray, mass: float) -> float:
        """Return sum_i [log B(tau_i) - log B(a, b)]: the weights at their best, or integrated."""
        nothing = self.weight_prior(mass).shape
        total = betaln(*self.shapes(sizes, mass)).sum()
        return float(total - sizes.size * betaln(nothing, self.concentration - nothing))

    def log_mass_prior(self, mass: float) -> float:
        """Return the log density of log alpha if it is learned."""
        return log_mass_density(mass) if self.mass is None else 0.0


class BuffetState(NamedTuple):
    """Where the optimisation is."""

    nu: FloatArray
    """q(z_ni = 1), shape (rows, features)."""
    features: FeatureFactor
    """q(A), independent features; the background, if there is one, is the last."""
    parameters: GaussianParameters
    """Mean features, and scales at their best points."""
    shapes: FloatArray
    """tau of q(pi), shape (2, features); (2, 0) where weights are drawn."""
    log_odds: FloatArray
    """The weights as last drawn, or the expectation of theta under q(pi)."""
    mass: float
    concentration: float
    bound: float
    number: int = 0
    """Of iterations made."""


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: BuffetState,
    model: FiniteBuffetModel,
    data: Data,
    *,
    every: int = 25,
    n_threads: int = 1,
) -> tuple[BuffetState, bool]:
    """Make one iteration, and return whether weights were drawn before it.

    Where they are drawn at all, it is before each `every`-th iteration.
    """
    redrawn = not state.shapes.size and state.number > 0 and state.number % every == 0
    if redrawn:
        state = _redraw(rng, seed, state, model)
    return improve(state, model, data, n_threads), redrawn


def improve(
    state: BuffetState, model: FiniteBuffetModel, data: Data, n_threads: int
) -> BuffetState:
    """Update every factor once; weights that are drawn stay what they are."""
    n_rows, log_none = len(state.nu), _log_none(state)
    nu, _, value, sums = sweep_rows(
        model.likelihood, data, coins(state.log_odds, log_none), np.zeros(n_rows, np.int64),
        state.features, state.parameters, state.nu, np.zeros((n_rows, 3)), n_threads,
    )  # fmt: skip
    state = state._replace(nu=nu, number=state.number + 1)
    if state.shapes.size:
        sizes = nu.sum(axis=0)
        value -= float(sizes @ state.log_odds) + n_rows * log_none  # what is left is entropy
        state = _with_best_weights(state, model, sizes)
    value += _weight_bound(state, model, nu.sum(axis=0))
    return _with_features(state, model, sums, value)


def _with_features(
    state: BuffetState, model: FiniteBuffetModel, sums: RowSums, value: float
) -> BuffetState:
    """Return the state with better features and scales; `value` is the rest of the bound."""
    features, parameters = improve_features(
        model.likelihood, sums, state.features, state.parameters
    )
    value += data_bound(model.likelihood, sums, features, parameters)
    return state._replace(features=features, parameters=parameters, bound=value)


# The weights


def _log_none(state: BuffetState) -> float:
    """Return log p(z = 0) of a row, or its expectation under q(pi)."""
    if state.shapes.size:
        return float((digamma(state.shapes[1]) - digamma(state.shapes.sum(axis=0))).sum())
    return -float(np.logaddexp(0.0, state.log_odds).sum())


def _weight_bound(state: BuffetState, model: FiniteBuffetModel, sizes: FloatArray) -> float:
    """Return what weights and mass add to the bound; with q(pi) at its best, also what rows do."""
    value = model.log_mass_prior(state.mass)
    if state.shapes.size:
        return value + model.log_evidence(sizes, state.mass)
    return value + model.weight_prior(state.mass).log_density(state.log_odds)


def _with_best_weights(
    state: BuffetState, model: FiniteBuffetModel, sizes: FloatArray
) -> BuffetState:
    """Return the state with the best q(pi), and mass."""
    mass = state.mass if model.mass is not None else _best_mass(model, sizes, state.mass)
    shapes = model.shapes(sizes, mass)
    return state._replace(
        shapes=shapes, log_odds=digamma(shapes[0]) - digamma(shapes[1]), mass=mass
    )


def _best_mass(model: FiniteBuffetModel, sizes: FloatArray, mass: float) -> float:
    """Return the mass that maximises the bound together with q(pi), never a worse one."""

    def loss(log_mass: float) -> float:
        there = math.exp(log_mass)
        return -model.log_evidence(sizes, there) - model.log_mass_prior(there)

    limits = math.log(_LEAST_MASS), math.log(model.n_features) - 1e-9
    best = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-9})
    return math.exp(best.x) if best.fun <= loss(math.log(mass)) else mass


def _redraw(
    rng: np.random.Generator, seed: np.uint64, state: BuffetState, model: FiniteBuffetModel
) -> BuffetState:
    """Return a state with weights and mass drawn given rows drawn from q."""
    sizes = draw_rows(rng, seed, state.nu).sum(axis=0, dtype=np.float64)
    on, off = model.shapes(sizes, state.mass)
    log_odds = beta_log_odds_variates(rng, on, off, sizes.size)
    mass = model.mass or hyper.update_mass(rng, model.weight_prior(state.mass), log_odds)
    return state._replace(log_odds=log_odds, mass=mass)


# To begin, and to show


def from_rows(
    model: FiniteBuffetModel, data: Data, rows: Rows, state: State, weights: WeightKind = "beta"
) -> BuffetState:
    """Return a state that begins at 0/1 rows, after one iteration from there.

    Mass and scales are those of `state`; weights have their law given the rows.
    """
    nu = rows.astype(np.float64)
    sums = all_sums(model.likelihood, data, nu)
    features = first_features(model.likelihood, sums, state.parameters)
    return begin(model, data, nu, nu.sum(axis=0), *features, state.mass, weights)


def begin(
    model: FiniteBuffetModel,
    data: Data,
    nu: FloatArray,
    sizes: FloatArray,
    features: FeatureFactor,
    parameters: GaussianParameters,
    mass: float,
    weights: WeightKind,
) -> BuffetState:
    """Return a state that begins at these factors, after one iteration from there.

    `sizes` are the expected sizes of the features, from which the weights follow.
    """
    none = np.empty((2, 0))
    first = BuffetState(nu, features, parameters, none, sizes, mass, model.concentration, -math.inf)
    first = _with_best_weights(first, model, sizes)
    if weights == "sample":
        first = first._replace(shapes=none)
    return improve(first, model, data, 1)._replace(number=0)


def draw(
    rng: np.random.Generator, seed: np.uint64, state: BuffetState, model: FiniteBuffetModel
) -> State:
    """Return a draw from q, with weights as they are if they are not part of it."""
    log_odds = state.log_odds
    if state.shapes.size:
        log_odds = beta_log_odds_variates(rng, state.shapes[0], state.shapes[1], log_odds.size)
    return State(
        draw_rows(rng, seed, state.nu),
        log_odds,
        state.mass,
        state.concentration,
        np.zeros((0, model.n_features + 1)),
        draw_features(rng, model.likelihood, state.features, state.parameters),
        state.number,
    )
