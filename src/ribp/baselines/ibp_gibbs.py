"""Gibbs sampling for the (unrestricted) Indian buffet with linear-Gaussian data.

    Z ~ IBP(alpha, c),    alpha ~ Gamma(1, 1),    X | Z as in `ribp.likelihoods.linear_gaussian`.

Rows are drawn with features and weights integrated out (`ribp.kernels.rows_buffet`); the number of
features is not limited. Given K dishes in N rows, alpha ~ Gamma(1 + K, 1 + sum_j c/(c+j-1)). The
state is that of the other samplers, its features those that some row has; the log-odds are drawn
from Beta(m_i, c + N - m_i), the law of the weights given the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.linear_gaussian import GaussianParameters, LinearGaussian
from ribp.mcmc import rows_buffet
from ribp.mcmc.start import Tick, no_tick
from ribp.measures.variates import beta_log_odds_variates
from ribp.model import State
from ribp.rng import kernel_seed

__all__ = ["BuffetModel", "best_start", "start", "update"]

_GROWING = 40  # sweeps of a chain before it is compared with others


@dataclass(frozen=True)
class BuffetModel:
    """An Indian buffet and a linear-Gaussian likelihood; mass None means learned."""

    n_rows: int
    likelihood: LinearGaussian
    mass: float | None = None
    concentration: float = 1.0

    def simulate(self, rng: np.random.Generator, dims: int) -> tuple[State, FloatArray]:
        """Draw a state and complete data from the prior."""
        mass = self.mass or float(rng.standard_exponential())
        rows = self.draw_rows(rng, mass)
        parameters = self.likelihood.draw_prior(rng, rows.shape[1], dims)
        state = self._state(rng, rows, mass, parameters, 0)
        return state, self.likelihood.draw_data(rng, rows, parameters)

    def draw_rows(self, rng: np.random.Generator, mass: float) -> Rows:
        """Draw the rows of a buffet, columns in order of appearance."""
        c = self.concentration
        taken: list[Rows] = []
        sizes = np.zeros(0)
        for n in range(self.n_rows):
            old = rng.random(sizes.size) < sizes / (c + n)
            new = rng.poisson(c * mass / (c + n))
            taken.append(np.concatenate([old, np.ones(new)]).astype(np.int8))
            sizes = np.concatenate([sizes + old, np.ones(new)])
        rows = np.zeros((self.n_rows, sizes.size), np.int8)
        for n, row in enumerate(taken):
            rows[n, : row.size] = row
        return rows

    def log_joint(self, state: State, data: Data) -> float:
        """Return log p(X, Z, log alpha, scales), Z up to the order of its columns."""
        c, n = self.concentration, self.n_rows
        sizes = state.rows.sum(axis=0)
        each = [
            math.lgamma(m) + math.lgamma(n - m + c) - math.lgamma(n + c) for m in sizes.tolist()
        ]
        _, repeats = np.unique(state.rows, axis=1, return_counts=True)
        value = (
            sizes.size * math.log(c * state.mass)
            + sum(each)
            - state.mass * rows_buffet.harmonic(n, c)
        )
        value -= sum(math.lgamma(k + 1) for k in repeats.tolist())
        value = float(value)
        if self.mass is None:
            value += math.log(state.mass) - state.mass
        return value + self.likelihood.log_joint(data, state.rows, state.parameters)

    def _state(
        self,
        rng: np.random.Generator,
        rows: Rows,
        mass: float,
        parameters: GaussianParameters,
        number: int,
    ) -> State:
        sizes = rows.sum(axis=0)
        missing = self.concentration + self.n_rows - sizes
        log_odds = beta_log_odds_variates(rng, sizes, missing, sizes.size)
        no_laws = np.zeros((0, sizes.size + 1))
        return State(rows, log_odds, mass, self.concentration, no_laws, parameters, number)


def start(rng: np.random.Generator, model: BuffetModel, data: Data) -> State:
    """Return a state without any features, all spread taken for noise: rows ask for features."""
    rows = np.zeros((model.n_rows, 0), np.int8)
    parameters = rows_buffet.featureless(rng, model.likelihood, data)
    return model._state(rng, rows, model.mass or 1.0, parameters, 0)


def best_start(
    rng: np.random.Generator,
    model: BuffetModel,
    data: Data,
    n_starts: int = 4,
    tick: Tick = no_tick,
) -> State:
    """Return the one of several short chains from `start` that ends at the highest log joint."""
    ends = []
    for done in range(n_starts):
        state, seed = start(rng, model, data), kernel_seed(rng)
        for _ in range(_GROWING):
            tick(done, n_starts)
            state = update(rng, seed, state, model, data)
        ends.append(state._replace(number=0))
    return max(ends, key=lambda state: model.log_joint(state, data))


def update(
    rng: np.random.Generator, seed: np.uint64, state: State, model: BuffetModel, data: Data
) -> State:
    """Make one sweep over everything."""
    rows = rows_buffet.update(rng, seed, state, model.likelihood, data)
    mass = model.mass or rows_buffet.draw_mass(rng, len(rows), rows.shape[1], model.concentration)
    parameters = model.likelihood.update(rng, data, rows, state.parameters)
    return model._state(rng, rows, mass, parameters, state.number + 1)
