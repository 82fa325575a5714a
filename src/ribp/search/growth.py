"""Rows of an unrestricted buffet found from no features at all: where other chains may begin.

All spread is taken for noise, and rows ask for features one by one. Two ways:

- `grown`: noise and features follow the rows, as in any chain, until there are more features than
  can be of use. Where several features explain a
  row only together, none of them may ever enter: on the chord spectra one feature is found.
- `annealed`: one noise for all columns, lowered step by step from a share of the spread of the
  data, while features have the size of that spread. Below the true noise rows would ask for more
  and more, so this ends when their number explodes, or when the log joint, with scales drawn given
  the rows, has lost a twentieth of what was gained; the best state on the way is the answer.

The mass is drawn given the number of dishes unless it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, Rows
from ribp.mcmc import rows_buffet
from ribp.model import State
from ribp.rng import kernel_seed
from ribp.weights.hyper_prior import log_mass_density

_COOL = 0.03  # where annealing ends at the latest, in units of the spread of the data
_SIZE = 0.7  # of features, in the same units
_STEPS = 100
_LOOK = 5  # steps between looks at the log joint
_LOSS = 0.05
_EXPLODED = 20  # more than twice the features of the last look, and so many


class GrowingBuffet(NamedTuple):
    """What is known of a buffet."""

    likelihood: LinearGaussian
    mass: float | None = None
    concentration: float = 1.0
    most: int | None = None
    """Growth ends with more features than this; None for twice as many as rows or columns."""

    def enough(self, state: State, data: Data) -> bool:
        """Return whether there are more features than can be of use."""
        return bool(state.rows.shape[1] > (self.most or 2 * min(data.values.shape)))

    def log_joint(self, state: State, data: Data) -> float:
        """Return log p(X, Z, log alpha, scales), Z up to the order of its columns."""
        value = rows_buffet.log_prior(state.rows, state.mass, self.concentration)
        if self.mass is None:
            value += log_mass_density(state.mass)
        return value + self.likelihood.log_joint(data, state.rows, state.parameters)

    def state(
        self, rows: Rows, mass: float, parameters: GaussianParameters, number: int = 0
    ) -> State:
        """Return a state without weights, which are integrated out."""
        nothing = np.empty(0)
        return State(rows, nothing, mass, self.concentration, nothing, parameters, number)

    def with_rows(
        self, rng: np.random.Generator, seed: np.uint64, state: State, data: Data
    ) -> State:
        """Draw rows and mass; parameters stay as they are."""
        rows = rows_buffet.update(rng, seed, state, self.likelihood, data)
        mass = self.mass or rows_buffet.draw_mass(rng, len(rows), rows.shape[1], self.concentration)
        return self.state(rows, mass, state.parameters, state.number + 1)

    def update(self, rng: np.random.Generator, seed: np.uint64, state: State, data: Data) -> State:
        """Make one sweep over everything."""
        moved = self.with_rows(rng, seed, state, data)
        parameters = self.likelihood.update(rng, data, moved.rows, state.parameters)
        return moved._replace(parameters=parameters)


def grown(
    rng: np.random.Generator,
    buffet: GrowingBuffet,
    data: Data,
    sweeps: int,
    tick: Callable[[], None],
) -> State:
    """Return the end of a short chain that begins without features."""
    state, seed = _featureless(rng, buffet, data), kernel_seed(rng)
    for _ in range(sweeps):
        tick()
        state = buffet.update(rng, seed, state, data)
        if buffet.enough(state, data):
            break
    return state


def annealed(
    rng: np.random.Generator,
    buffet: GrowingBuffet,
    data: Data,
    heat: float,
    tick: Callable[[], None],
) -> State:
    """Return the best state on the way from a high noise, `heat` times the spread, to a low one."""
    first = _featureless(rng, buffet, data)
    best, lowest = first, buffet.log_joint(first, data)
    highest = lowest
    for state in _cooling(rng, buffet, data, first, heat, tick):
        value = buffet.log_joint(state, data)
        if value > highest:
            best, highest = state, value
        elif highest - value > _LOSS * (highest - lowest) > 0.0:
            break
    return best


def _cooling(
    rng: np.random.Generator,
    buffet: GrowingBuffet,
    data: Data,
    state: State,
    heat: float,
    tick: Callable[[], None],
) -> Iterator[State]:
    """Yield states on the way, their parameters drawn given the rows."""
    likelihood, dims, seed = buffet.likelihood, data.values.shape[1], kernel_seed(rng)
    spread = likelihood.spread(data)
    background, most = state.parameters.background, _EXPLODED
    for step, noise in enumerate(np.geomspace(heat, _COOL, _STEPS), start=1):
        tick()
        given = likelihood.at_scales(state.rows.shape[1], dims, noise * spread, _SIZE * spread)
        given = given._replace(background=background)
        state = buffet.with_rows(rng, seed, state._replace(parameters=given), data)
        if state.rows.shape[1] > most or buffet.enough(state, data):
            return
        if step % _LOOK == 0:
            most = 2 * state.rows.shape[1] + _EXPLODED
            parameters = likelihood.first_guess(data, state.rows.shape[1])
            for _ in range(5):
                parameters = likelihood.update(rng, data, state.rows, parameters)
            background = parameters.background
            yield state._replace(parameters=parameters)


def _featureless(rng: np.random.Generator, buffet: GrowingBuffet, data: Data) -> State:
    rows = np.zeros((len(data.values), 0), np.int8)
    parameters = rows_buffet.featureless(rng, buffet.likelihood, data)
    return buffet.state(rows, buffet.mass or 1.0, parameters)
