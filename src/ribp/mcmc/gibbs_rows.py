"""The sampler with features kept: rows are independent given them, and may be anywhere.

One sweep: every row given features and weights (`rows_given_features`), then all that
`gibbs.finish` updates, features and scales from the sums over rows that the sweep has made. Any
likelihood; mixes less well than `gibbs`, and costs less where there are many rows.

Every fifth sweep rows are also proposed as a whole: where two features are nearly opposite, a row
that has neither gets both by no other move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.likelihoods.data import Data
from ribp.likelihoods.likelihood import Question
from ribp.mcmc import gibbs
from ribp.mcmc.rows_given_features import (
    Asking,
    Step,
    Sweep,
    Swept,
    all_rows,
    rows_in_memory,
)
from ribp.model import Model, State, SweepInfo
from ribp.rows.store import ChainRows

_WHOLE_EVERY = 5  # sweeps


def steps(state: State, model: Model, number: int = 1) -> tuple[Step, ...]:
    """Return the next passes over the rows, all with the parameters of this state."""
    prior = model.row_prior(state)
    often = prior._replace(whole=np.ones_like(prior.whole))
    at = range(state.number, state.number + number)
    return tuple(Step(n, often if n % _WHOLE_EVERY == 0 else prior) for n in at)


def update(
    rng: np.random.Generator, seed: np.uint64, state: State, model: Model, rows: ChainRows
) -> tuple[State, SweepInfo]:
    """Make one sweep over everything; the rows are not in the state."""
    state = state._replace(parameters=model.likelihood.rescaled(rng, state.parameters))
    sweep = Sweep(model.likelihood, seed, state.parameters, steps(state, model))
    return finish(rng, state, model, rows.do(sweep), rows)


def finish(
    rng: np.random.Generator, state: State, model: Model, swept: Swept, rows: ChainRows
) -> tuple[State, SweepInfo]:
    """Update everything but the rows, given what a sweep over them has added up."""
    likelihood, tally = model.likelihood, swept.tally

    def ask(question: Question) -> Any:
        return rows.do(Asking(question, model.n_features))

    def sums() -> Any:
        return likelihood.swept_sums(swept.sums, tally.sizes > 0, ask)

    return gibbs.finish(rng, state, model, tally, sums, ask)


def update_in_memory(
    rng: np.random.Generator, seed: np.uint64, state: State, model: Model, data: Data
) -> tuple[State, SweepInfo]:
    """Make one sweep over everything; the state has its rows."""
    table = rows_in_memory(data, model.counts.law_of_row, state.rows)
    state, info = update(rng, seed, state, model, table)
    return state._replace(rows=all_rows(table)), info
