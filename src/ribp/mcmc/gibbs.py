"""The default sampler, features integrated out: assembly only.

One sweep: every row given all other rows (`rows_collapsed`), the weights given the rows
(`weights`), mass and concentration given the weights (`hyper`), learned count laws, then features,
noise and scales given the rows (`ribp.likelihoods`).

Flips and moves of single features cannot cross a gap in a count law, such as one on {1, 3}: rows
of such laws are also proposed as a whole, given the features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ribp.counts.tables import draw_log_probs
from ribp.likelihoods.base import Data
from ribp.mcmc import hyper, rows_collapsed, weights
from ribp.model import Model, State

__all__ = ["SweepInfo", "finish", "update"]

_OWN_NUMBERS = 2**31  # keys of the sweep given the features, apart from those of the other one


class SweepInfo(NamedTuple):
    """What a sweep knows of where it ended."""

    log_joint: float
    weights: weights.WeightInfo


def update(
    rng: np.random.Generator, seed: np.uint64, state: State, model: Model, data: Data
) -> tuple[State, SweepInfo]:
    """Make one sweep over everything."""
    laws = model.row_laws(state)
    if laws.whole.any():
        rows, _ = model.likelihood.sweep_rows(
            seed, state.number + _OWN_NUMBERS, data, state.rows, state.parameters, laws
        )
        state = state._replace(rows=rows)
    rows = rows_collapsed.update(rng, seed, state, model, data)
    return finish(rng, state._replace(rows=rows), model, data)


def finish(
    rng: np.random.Generator, state: State, model: Model, data: Data, swept: Any = None
) -> tuple[State, SweepInfo]:
    """Update everything but the rows; `swept` are the sums that a sweep over rows has made."""
    rows = state.rows
    ones = rows.sum(axis=1)
    histogram = np.bincount(ones, minlength=model.n_features + 1)
    prior = model.weight_prior(state.mass, state.concentration)
    log_odds, info = weights.update(
        rng, state.log_odds, rows.sum(axis=0, dtype=np.int64), histogram, prior
    )
    mass, concentration = hyper.update(rng, model, state, log_odds)
    sums = model.likelihood.sums(data, rows, swept)
    fresh = State(
        rows,
        log_odds,
        mass,
        concentration,
        draw_log_probs(rng, model.counts, ones, model.n_features),
        model.likelihood.update(rng, data, rows, state.parameters, sums),
        state.number + 1,
    )
    return fresh, SweepInfo(model.log_joint(fresh, data, sums), info)
