"""Gibbs sampling for the (unrestricted) Indian buffet with linear-Gaussian data.

    Z ~ IBP(alpha, c),    alpha ~ Gamma(1, 1),    X | Z as in `ribp.likelihoods.linear_gaussian`.

Rows are drawn with features and weights integrated out (`ribp.kernels.sweep_buffet`); the number of
features is not limited. Given K dishes in N rows, alpha ~ Gamma(1 + K, 1 + sum_j c/(c+j-1)). The
state is that of the other samplers, its features those that some row has; the log-odds are drawn
from Beta(m_i, c + N - m_i), the law of the weights given the rows.

A chain begins at a start of the search that all methods share (`ribp.search.pool`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ribp.checks import FloatArray
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.measures.variates import beta_log_odds_variates
from ribp.model import State
from ribp.search import following
from ribp.search.growth import GrowingBuffet
from ribp.weights.hyper_prior import draw_mass


@dataclass(frozen=True)
class BuffetModel:
    """An Indian buffet and a linear-Gaussian likelihood; mass None means learned."""

    n_rows: int
    likelihood: LinearGaussian
    mass: float | None = None
    concentration: float = 1.0

    def simulate(self, rng: np.random.Generator, dims: int) -> tuple[State, FloatArray]:
        """Draw a state and complete data from the prior."""
        mass = self.mass or draw_mass(rng)
        rows = self.draw_rows(rng, mass)
        parameters = self.likelihood.draw_prior(rng, rows.shape[1], dims)
        state = self.with_weights(rng, self.buffet.state(rows, mass, parameters))
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
        return self.buffet.log_joint(state, data)

    @property
    def buffet(self) -> GrowingBuffet:
        """The buffet with weights integrated out."""
        return GrowingBuffet(self.likelihood, self.mass, self.concentration)

    def with_weights(self, rng: np.random.Generator, state: State) -> State:
        """Return a state with the weights drawn given its rows."""
        sizes = state.rows.sum(axis=0)
        missing = self.concentration + self.n_rows - sizes
        log_odds = beta_log_odds_variates(rng, sizes, missing, sizes.size)
        return state._replace(log_odds=log_odds, count_log_probs=np.zeros((0, sizes.size + 1)))


def best_start(
    rng: np.random.Generator, model: BuffetModel, data: Data, n_starts: int = 6
) -> State:
    """Return a state at the best of several starts."""
    return from_state(rng, model, following.best_start(rng, model, data, n_starts))


def from_state(rng: np.random.Generator, model: BuffetModel, state: State) -> State:
    """Return the state of a buffet with the rows and parameters of another model's state."""
    used = state.rows.any(axis=0)
    features = state.parameters.features[used]
    rows = np.ascontiguousarray(state.rows[:, used])
    parameters = state.parameters._replace(features=features)
    buffet = model.buffet.state(rows, model.mass or state.mass, parameters)
    return model.with_weights(rng, buffet)


def update(
    rng: np.random.Generator, seed: np.uint64, state: State, model: BuffetModel, data: Data
) -> State:
    """Make one sweep over everything."""
    return model.with_weights(rng, model.buffet.update(rng, seed, state, data))
