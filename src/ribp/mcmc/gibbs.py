"""The default sampler, features integrated out: assembly only.

One sweep: every row given all other rows (`rows_collapsed`), the weights given the rows
(`weights`), mass and concentration given the weights (`hyper`), learned count laws, then features,
noise and scales given the rows (`ribp.likelihoods`).

Flips and moves of single features cannot cross a gap in a count law, such as one on {1, 3}: rows
of such laws are also proposed as a whole, given the features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ribp.counts.tables import tallied_log_probs
from ribp.likelihoods.base import Data
from ribp.mcmc import hyper, rows_collapsed, weights
from ribp.model import Model, State, Tally

__all__ = ["SweepInfo", "finish", "finish_elsewhere", "update"]

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
    likelihood, rows = model.likelihood, state.rows
    tally = model.tally(rows)
    if swept is None:
        sums = likelihood.sums(data, rows)
    else:
        sums = likelihood.swept_sums(swept, tally.sizes > 0)
    given = _weighed(rng, state, model, tally)
    parameters = likelihood.update(rng, data, rows, state.parameters, sums)
    fresh = given.state._replace(parameters=parameters)
    weight = likelihood.log_joint(data, rows, parameters, sums)
    return fresh, SweepInfo(model.log_prior(fresh, tally) + weight, given.info)


def finish_elsewhere(
    rng: np.random.Generator,
    state: State,
    model: Model,
    tally: Tally,
    swept: Any,
    log_terms: Callable[[Any], float],
) -> tuple[State, SweepInfo]:
    """Do what `finish` does for rows that are elsewhere, with the same bits.

    Parameters
    ----------
    tally, swept
        What a sweep over rows has added up.
    log_terms
        Asks all rows for `Likelihood.log_terms` at new parameters, where sums do not tell them.
    """
    likelihood = model.likelihood
    sums = likelihood.swept_sums(swept, tally.sizes > 0)
    given = _weighed(rng, state, model, tally)
    fresh = given.state._replace(parameters=likelihood.draw(rng, state.parameters, sums))
    weight = likelihood.log_weight(fresh.parameters, sums)
    if not likelihood.summable:
        weight = log_terms(fresh.parameters) + weight
    return fresh, SweepInfo(model.log_prior(fresh, tally) + weight, given.info)


class _Weighed(NamedTuple):
    state: State
    info: weights.WeightInfo


def _weighed(rng: np.random.Generator, state: State, model: Model, tally: Tally) -> _Weighed:
    """Return the state after this sweep, but for its parameters."""
    prior = model.weight_prior(state.mass, state.concentration)
    histogram = tally.histograms.sum(axis=0)
    log_odds, info = weights.update(rng, state.log_odds, tally.sizes, histogram, prior)
    fresh_weights = hyper.update(rng, model, state, log_odds, tally.sizes, histogram)
    laws = tallied_log_probs(rng, model.counts, tally.histograms)
    fresh = State(state.rows, *fresh_weights, laws, state.parameters, state.number + 1)
    return _Weighed(fresh, info)
