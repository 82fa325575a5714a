"""Rows anywhere, and noise that falls: what Gaussian data with sizes of entries begin with.

The noise is held at a temperature that falls to 1/4 of the spread of the data while everything
else is swept, weights nearly even, so that no feature dies out early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ribp.counts.tables import mean_log_probs
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data
from ribp.likelihoods.linear_gaussian import as_gaussian
from ribp.mcmc import gibbs_rows
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.given_rows import drawn_given

_SWEEPS = 150
_COLD = 0.25  # noise at the end, in units of the spread of the data
_EVEN, _CONCENTRATION = 0.9, 2.0  # mass a feature, and c, that leave all features about alike
_LIGHT = 0.75  # mass a feature where entries could grow without limit otherwise


def fallen(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    hot: float,
    tick: Callable[[], None] = lambda: None,
) -> State:
    """Return the state at the end of a fall of the noise, all but its rows drawn given them.

    Parameters
    ----------
    rng
    model, data
        Of the rows that are searched, in standard units.
    hot
        The noise at the beginning, in units of the spread of the data.
    tick
        Called now and then; it may raise to end the search.
    """
    bare = _in_these_units(as_gaussian(model.likelihood, "a search by falling noise"))
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
    return drawn_given(rng, model, data, state.rows)


def _in_these_units(likelihood: LinearGaussian) -> LinearGaussian:
    """Return a likelihood whose settings are in the units of the data, standard ones."""
    known = tuple(map(tuple, likelihood.known_features.tolist()))
    return replace(likelihood, units=None, known=known, feature_scale=likelihood.fixed_size)
