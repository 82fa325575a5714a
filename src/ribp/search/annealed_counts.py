"""Starts of rows whose entries count: units anywhere, annealed.

The noise is held at a temperature that falls to 1/4 of the spread of the data while everything
else is swept, weights nearly even; then the model's own noise is learned. From where it should fall
depends on the data: where it is too hot features die out, where it is not hot enough some are met
twice. A fall that ends badly is not made better by a longer one. So a start is the best of several
falls, from different temperatures, by log joint less the price of features in use.

With `max_features="auto"` a start that has used up its features is made again with more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Data
from ribp.likelihoods.gaussian_multiplicities import GaussianMultiplicities
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.rng import kernel_seed
from ribp.search import capacity
from ribp.search.given_rows import drawn_given, settled
from ribp.search.repairs import Scored

_SWEEPS = 150
_HOT = (1.0, 0.8, 0.6, 0.5) * 2  # noise, in units of the spread of the data
_COLD = 0.25
_EVEN, _CONCENTRATION = 0.9, 2.0  # mass a feature, and c, that leave all features about alike
_LIGHT = 0.75  # mass a feature where entries could grow without limit otherwise

Tick = Callable[[], None]


def start(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    tick: Tick = lambda: None,
    *,
    grow: bool = False,
) -> tuple[Model, Scored]:
    """Return a start and its model, which may have got more features.

    Parameters
    ----------
    rng
    model, data
        Of the rows that are searched, in standard units.
    tick
        Called now and then; it may raise to end the search.
    grow
        Whether the model may get more features.
    """
    for _ in range(capacity.MOST_GROWTH):
        ends = [fallen(rng, model, data, hot, tick) for hot in _HOT]
        found = max(ends, key=lambda one: one.score)
        if not (grow and capacity.needs_room(found.state.rows != 0)):
            break
        model = replace(model, n_features=math.ceil(capacity.GROWTH * model.n_features))
    return model, found


def fallen(
    rng: np.random.Generator, model: Model, data: Data, hot: float, tick: Tick = lambda: None
) -> Scored:
    """Return the state at the end of a fall of the noise from `hot`, settled in its model."""
    bare = _in_these_units(model.likelihood)
    share = _LIGHT if model.entry_law.heavy_tailed else _EVEN
    even = replace(model, mass=share * model.n_features, concentration=_CONCENTRATION)
    laws = mean_log_probs(model.counts, model.most)
    rows: Any = model.draw_rows(rng, np.zeros(model.n_features), laws)
    state = drawn_given(rng, replace(even, likelihood=bare), data, rows)
    spread, seed = bare.spread(data), kernel_seed(rng)
    for at in range(_SWEEPS):
        tick()
        noise = spread * hot * (_COLD / hot) ** (at / (_SWEEPS - 1))
        here = replace(even, likelihood=replace(bare, noise_scale=noise))
        given = state.parameters._replace(noise_scale=np.full(data.shape[1], noise))
        state = state._replace(parameters=given)
        state, _ = gibbs_rows.update_in_memory(rng, seed, state, here, data)
    return settled(rng, model, data, drawn_given(rng, model, data, state.rows), tick)


def _in_these_units(likelihood: object) -> GaussianMultiplicities:
    """Return a likelihood whose settings are in the units of the data, standard ones."""
    assert isinstance(likelihood, GaussianMultiplicities)
    known = tuple(map(tuple, likelihood.known_features.tolist()))
    return replace(likelihood, units=None, known=known, feature_scale=likelihood.fixed_size)
