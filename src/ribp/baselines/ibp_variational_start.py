"""Where the mean field of an unrestricted buffet begins: the best of several starts.

**Grown**: the rows of short Gibbs chains that begin without features, the most popular ones.

**Annealed**: random rows, then iterations at one noise for all columns, which is lowered step by
step from the spread of the data to a tenth of it, for features of the size of the spread. On the
chord spectra, where growing ends with one feature, this finds most of the notes, never all.

More than 2000 rows: the search is made on some of them, and the others follow from its features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ribp.baselines import ibp_gibbs
from ribp.baselines.ibp_variational import (
    BuffetState,
    FiniteBuffetModel,
    WeightKind,
    begin,
    from_rows,
    improve,
)
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data
from ribp.model import State
from ribp.search.starts import Tick, no_tick, searched_rows

_HOT, _COOL = 1.0, 0.1  # noise, in units of the spread of the data
_STEPS = 500
_SHARE = 0.3  # of entries that are one where annealing begins
_SETTLING = 30  # iterations before starts are compared


def start(
    rng: np.random.Generator,
    model: FiniteBuffetModel,
    data: Data,
    tick: Tick = no_tick,
    weights: WeightKind = "beta",
    n_starts: int = 5,
) -> BuffetState:
    """Return the best of several starts, the first one grown, the others annealed."""
    n_rows = len(data.values)
    some = searched_rows(rng, n_rows)
    here, few = data.rows(some), replace(model, n_rows=some.size)
    states = []
    for done in range(n_starts):
        now = partial(tick, done, n_starts)
        state = _annealed(rng, few, here, now) if done else _grown(rng, few, here, now)
        for _ in range(_SETTLING):
            state = improve(state, few, here, 1)
        states.append(state)
    best = max(states, key=lambda state: state.bound)
    nu = np.zeros((n_rows, model.n_features))
    nu[some] = best.nu
    sizes = best.nu.sum(axis=0) * (n_rows / some.size)
    return begin(model, data, nu, sizes, best.features, best.parameters, best.mass, weights)


def _grown(
    rng: np.random.Generator, model: FiniteBuffetModel, data: Data, tick: Callable[[], None]
) -> BuffetState:
    buffet = ibp_gibbs.BuffetModel(model.n_rows, model.likelihood, model.mass, model.concentration)
    grown = ibp_gibbs.best_start(rng, buffet, data, tick=lambda *_: tick())
    popular = np.argsort(-grown.rows.sum(axis=0), kind="stable")[: model.n_features]
    rows = np.zeros((model.n_rows, model.n_features), np.int8)
    rows[:, : popular.size] = grown.rows[:, popular]
    mass = min(grown.mass, 0.9 * model.n_features)
    return from_rows(model, data, rows, grown._replace(mass=mass))


def _annealed(
    rng: np.random.Generator, model: FiniteBuffetModel, data: Data, tick: Callable[[], None]
) -> BuffetState:
    likelihood, (n_rows, dims) = model.likelihood, data.values.shape
    spread = likelihood.spread(data)
    fixed = replace(model, likelihood=replace(likelihood, noise_scale=1.0, feature_scale=1.0))

    def at(noise: float) -> GaussianParameters:
        return likelihood.at_scales(model.n_features, dims, noise, spread)

    rows = (rng.random((n_rows, model.n_features)) < _SHARE).astype(np.int8)
    mass = model.mass or _SHARE * model.n_features
    no_laws = np.zeros((0, model.n_features + 1))
    first = State(
        rows, np.zeros(model.n_features), mass, model.concentration, no_laws, at(_HOT * spread)
    )
    state = from_rows(fixed, data, rows, first)
    for share in np.geomspace(_HOT, _COOL, _STEPS):
        tick()
        state = improve(state._replace(parameters=at(share * spread)), fixed, data, 1)
    return state._replace(parameters=_fixed_again(likelihood, state.parameters))


def _fixed_again(likelihood: LinearGaussian, parameters: GaussianParameters) -> GaussianParameters:
    """Return parameters whose scales are those that the user has fixed."""
    noise, scale = parameters.noise_scale, parameters.feature_scale
    if likelihood.noise_scale is not None:
        noise = np.full_like(noise, likelihood.noise_scale)
    if likelihood.feature_scale is not None:
        scale = likelihood.feature_scale
    return parameters._replace(noise_scale=noise, feature_scale=scale)
