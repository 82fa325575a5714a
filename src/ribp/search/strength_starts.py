"""Starts of rows whose entries have strengths: features that rows can do without go.

Where features are on or off a note at two loudnesses is two features. With strengths one of them
would do for the rows of both, but rows change one at a time, and each of them alone is well off
with what it has. So every feature is tried without, those that few rows have first: rows that had
it take what suits them given the others, and some sweeps are made. If that is better, it is gone.

A start is the better of two states that were pruned in this way: one from a search as if features
were on or off, which is right where they are, and one from noise that falls
(`ribp.search.falling_noise`), which knows of strengths from the beginning. Features that are met
twice are mended by pruning, those that died out are not: falls begin at moderate noise.

The log joint is a density of strengths, and where they hardly vary each entry that is on adds to
it. What states are compared by is less the log density of strengths given data, rows and features,

    score = log p(X, s, Z, ...) - log p(s | X, Z, A, ...) - price x features in use,

averaged over the last sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ribp.likelihoods.data import Data
from ribp.likelihoods.first_rows import first_rows
from ribp.mcmc import gibbs_rows
from ribp.model import Model, State, SweepInfo
from ribp.rng import kernel_seed
from ribp.search.falling_noise import fallen
from ribp.search.given_rows import drawn_given
from ribp.search.repairs import Scored, price, tolerance

_HOT = (1.0, 0.6, 0.4)  # noise where falls begin, in units of the spread of the data; in turns
_SWEEPS = 10
_AVERAGED = 5  # of these sweeps, the last ones
_PASSES = 3  # over all features; after the first little is left
_NEVER = -1e300  # log-odds of a feature that is gone: rows that must have all of them keep it

Tick = Callable[[], None]


def start(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    binary: State,
    number: int,
    tick: Tick,
    enough: float = math.inf,
) -> Scored:
    """Return a start.

    Parameters
    ----------
    rng
    model, data
        Of the rows that are searched, in standard units.
    binary
        What a search has found as if features were on or off.
    number
        Of the start: temperatures take turns.
    tick
        Called now and then; it may raise to end the search.
    enough
        A score that ends the search.
    """
    found = pruned(rng, model, data, binary, tick)
    if found.score >= enough:
        return found
    other = fallen(rng, model, data, _HOT[number % len(_HOT)], tick)
    return max(found, pruned(rng, model, data, other, tick), key=lambda one: one.score)


def pruned(rng: np.random.Generator, model: Model, data: Data, state: State, tick: Tick) -> Scored:
    """Return a state without the features that rows can do without."""
    best = settled(rng, model, data, state, tick)
    assert best is not None
    known = len(model.likelihood.known)
    for _ in range(_PASSES):
        before, sizes = best.score, np.count_nonzero(best.state.rows[:, known:], axis=0)
        for i in known + np.argsort(sizes, kind="stable"):
            if best.state.rows[:, i].any():
                tried = without(rng, model, data, best.state, i)
                found = settled(rng, model, data, tried, tick, best.score)
                best = found if found and found.score > best.score else best
        if best.score <= before + tolerance(data):
            break
    return best


def without(rng: np.random.Generator, model: Model, data: Data, state: State, i: int) -> State:
    """Return a state without a feature: rows that had it take what suits them."""
    rows, at = state.rows.copy(), np.flatnonzero(state.rows[:, i])
    log_odds = np.where(np.arange(model.n_features) == i, _NEVER, state.log_odds)
    prior = model.row_prior(state)._replace(log_odds=log_odds)
    laws = model.counts.law_of_row[at]
    rows[at] = first_rows(model.likelihood, data.rows(at), state.parameters, prior, laws)
    return drawn_given(rng, model, data, rows)


def settled(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    state: State,
    tick: Tick,
    best: float = -math.inf,
) -> Scored | None:
    """Return a state after some sweeps, and the mean score of the last of them.

    None if it would stay below the best though it went on as it rises.
    """
    seed, hoped, scores = kernel_seed(rng), best - tolerance(data), []
    for left in reversed(range(_SWEEPS)):
        tick()
        state, info = gibbs_rows.update_in_memory(rng, seed, state, model, data)
        scores.append(_score(model, data, state, info))
        if len(scores) > 1 and scores[-1] + left * max(scores[-1] - scores[-2], 0.0) < hoped:
            return None
    return Scored(state, float(np.mean(scores[-_AVERAGED:])))


def _score(model: Model, data: Data, state: State, info: SweepInfo) -> float:
    likelihood, used = model.likelihood, np.count_nonzero(info.tally.sizes)
    sizes = likelihood.sizes_log_density(data, state.rows, state.parameters)
    return float(info.log_joint) - sizes - price(data) * used
