"""The default sampler, features integrated out: assembly only.

One sweep: every row given all other rows (`rows_collapsed`), the weights given the rows
(`weights`), mass and concentration given the weights (`hyper`), learned count laws, then features,
noise and scales given the rows (`ribp.likelihoods`).

Flips and moves of single features cannot cross a gap in a count law, such as one on {1, 3}: rows
of such laws are also proposed as a whole, given the features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ribp.likelihoods.data import Data
from ribp.likelihoods.likelihood import Ask, LogTerms, asked_in_memory
from ribp.likelihoods.row_sweeps import needs_whole_rows
from ribp.mcmc import entry_weights, hyper, rows_collapsed, weight_moves
from ribp.mcmc.rows_given_features import Step, Sweep, sweep_rows
from ribp.model import Model, State, SweepInfo, Tally

_OWN_NUMBERS = 2**31  # keys of the sweep given the features, apart from those of the other one


def update(
    rng: np.random.Generator, seed: np.uint64, state: State, model: Model, data: Data
) -> tuple[State, SweepInfo]:
    """Make one sweep over everything."""
    tables = model.tables(state)
    if needs_whole_rows(tables).any():
        steps = (Step(state.number + _OWN_NUMBERS, model.row_prior(state)),)
        sweep = Sweep(model.likelihood, seed, state.parameters, steps)
        rows, _ = sweep_rows(sweep, data, model.counts.law_of_row, state.rows)
        state = state._replace(rows=rows)
    rows = rows_collapsed.update(rng, seed, state, model, data, tables)
    return finish_in_memory(rng, state._replace(rows=rows), model, data)


def finish_in_memory(
    rng: np.random.Generator, state: State, model: Model, data: Data
) -> tuple[State, SweepInfo]:
    """Update everything but the rows, which the state has."""
    rows = state.rows

    def sums() -> Any:
        return model.likelihood.sums(rng, data, rows, state.parameters)

    return finish(rng, state, model, model.tally(rows), sums, asked_in_memory(data, rows))


def finish(
    rng: np.random.Generator,
    state: State,
    model: Model,
    tally: Tally,
    sums: Callable[[], Any],
    ask: Ask,
) -> tuple[State, SweepInfo]:
    """Update everything but the rows, given sums over them.

    Parameters
    ----------
    rng, state, model
    tally
        What the prior needs to know of rows.
    sums
        Gives what the likelihood needs to know of them.
    ask
        Asks all rows, for `Likelihood.log_terms` at new parameters where sums do not tell them.
    """
    likelihood = model.likelihood
    fresh_weights = _draw_weights(rng, state, model, tally)
    laws = model.draw_counts(rng, tally)
    given = sums()
    parameters = likelihood.draw(rng, state.parameters, given)
    fresh = State(state.rows, *fresh_weights, laws, parameters, state.number + 1)
    weight = likelihood.log_weight(parameters, given)
    if not likelihood.summable:
        weight = float(ask(LogTerms(likelihood, parameters))) + weight
    return fresh, SweepInfo(model.log_prior(fresh, tally) + weight, tally)


def _draw_weights(
    rng: np.random.Generator, state: State, model: Model, tally: Tally
) -> hyper.Hyper:
    """Draw weights, mass and concentration given the rows."""
    histogram = tally.histograms.sum(axis=0)
    if model.entry_law.counts:
        return entry_weights.update(rng, model, state, tally.units, histogram)
    prior = model.weight_prior(state.mass, state.concentration)
    log_odds, _ = weight_moves.update(rng, state.log_odds, tally.sizes, histogram, prior)
    return hyper.update(rng, model, state, log_odds, tally.sizes, histogram)
