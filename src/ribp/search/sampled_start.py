"""Where a chain with very many rows starts: a search on some of them, then all follow.

The search (`ribp.search.starts`) is made on 2000 rows, as if there were no others. Its features,
weights and scales are given to all rows: these take what suits them (`ribp.likelihoods.first_rows`)
and are swept a few times given the features. Then everything is updated once.
"""

from __future__ import annotations

import numpy as np

from ribp.counts.tables import mean_log_probs
from ribp.mcmc import gibbs_rows
from ribp.mcmc.rows_given_features import Sweep
from ribp.model import Model, State
from ribp.recording import pack_rows
from ribp.rng import kernel_seed
from ribp.rows.store import ChainRows
from ribp.search import starts
from ribp.search.starts import Tick, best_start, no_tick, searched_rows

_SWEEPS = 5  # given the features that were found
_FIRST_NUMBER = 2**32 - 16  # keys of these sweeps, apart from those of all others


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    n_starts: int = 6,
    tick: Tick = no_tick,
) -> State:
    """Return a first state; its rows are in their table, not in the state."""
    n_rows = rows.shape[0]
    some = searched_rows(rng, n_rows)
    found = best_start(rng, model.on_rows(some), rows.take(some), n_starts, tick=tick)
    if n_rows <= starts.SEARCH_ROWS:
        rows.load(pack_rows(found.rows))
        return found._replace(rows=found.rows[:0])
    tick(n_starts, n_starts)
    state, sweep = followed(rng, model, found)
    state, _ = gibbs_rows.finish(rng, state, model, rows.do(sweep), rows)
    return state._replace(number=0)


def followed(rng: np.random.Generator, model: Model, found: State) -> tuple[State, Sweep]:
    """Return what a search on some rows has found, for all of them, and the order to follow."""
    state = model.without_rows(found)._replace(
        count_log_probs=mean_log_probs(model.counts, model.n_features),
        number=_FIRST_NUMBER,
    )
    steps = gibbs_rows.steps(state, model, _SWEEPS)
    return state, Sweep(model.likelihood, kernel_seed(rng), state.parameters, steps, fresh=True)
