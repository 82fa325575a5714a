"""States of the variational methods, and a draw of everything but the rows.

q of the rows is a table in a row store. All other factors, and the points, are in a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.counts.tables import tallied_log_probs
from ribp.likelihoods import GaussianParameters
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, State, Tally
from ribp.rows.store import Packed
from ribp.variational.features import FeatureFactor, RowSums, draw_features
from ribp.variational.point_weights import PointWeights


class VariationalState(NamedTuple):
    """The state of the structured method and of the hybrid."""

    features: FeatureFactor
    """q(A); the background, if there is one, is the last feature."""
    parameters: GaussianParameters
    """Scales at their best points, and the mean features."""
    log_odds: FloatArray
    """theta, shape (features,)."""
    mass: float
    """alpha."""
    concentration: float
    """c."""
    law_counts: FloatArray
    """Expected numbers of rows with each count, shape (laws, features + 1)."""
    bound: float
    """The bound at this state."""
    number: int = 0
    """How many updates were made."""


class StochasticState(NamedTuple):
    """The state of the stochastic method: the same, and running averages of sums over rows."""

    sums: RowSums
    sizes: FloatArray
    """sum_n E[z_ni], shape (features,)."""
    law_counts: FloatArray
    """Expected numbers of rows with each count, shape (laws, features + 1)."""
    features: FeatureFactor
    """q(A)."""
    parameters: GaussianParameters
    """Scales, and the mean features."""
    log_odds: FloatArray
    """theta, shape (features,)."""
    mass: float
    """alpha."""
    concentration: float
    """c."""
    z: Packed
    """Z drawn in the last pass; without rows before the first one, and at rest."""
    bound: float
    """That of the last pass, or at rest."""
    at_rest: bool = False
    """Whether q of every row was computed: it is with the rows."""
    n_updates: int = 0
    """How many batches were used."""
    number: int = 0
    """How many passes were made."""


def weights_of(state: VariationalState | StochasticState) -> PointWeights:
    """Return the weights of a state."""
    return PointWeights(state.log_odds, state.mass, state.concentration)


def draw(
    rng: np.random.Generator,
    state: VariationalState | StochasticState,
    model: Model,
    tally: Tally,
) -> State:
    """Return a state without rows: A drawn from q, learned laws given Z, and the points."""
    parameters = draw_features(rng, gaussian(model), state.features, state.parameters)
    return state_without_rows(
        state, parameters, tallied_log_probs(rng, model.counts, tally.histograms)
    )


def state_without_rows(
    state: VariationalState | StochasticState, parameters: GaussianParameters, laws: FloatArray
) -> State:
    """Return a draw without its rows, with the weights of a state."""
    none = np.zeros((0, state.log_odds.size), np.int8)
    return State(none, *weights_of(state), laws, parameters, state.number)
