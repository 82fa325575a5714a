"""How many features a chain has room for, when nobody said: `max_features="auto"`.

A chain of its own, before all others, begins with twice as many as the largest expected count, and
at least sixteen. Whenever fewer than a fifth are unused it gets half as many again. What it ends
with is what all chains have: a sampler whose space changes with its state has no law.

One mistyped count would make a search for a thousand features, so a count that nothing makes
plausible is refused first: an expected count above 100, above the number of columns, and above ten
times what nine rows in ten expect. Where most rows have many features nothing is refused.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ribp.checks import row_place
from ribp.counts import CountLaw, RowCounts
from ribp.counts.tables import draw_log_probs
from ribp.errors import InputError
from ribp.likelihoods.data import Data
from ribp.model import Model, State
from ribp.rng import kernel_seed
from ribp.search.starts import Tick, best_start, no_tick

_LEAST = 16
_SPARE_SHARE = 0.2
_GROWTH = 1.5
_RARE = 1e-3
_MOST_GROWTH = 6  # times, before sweeps begin
_SWEEPS = 100
_CHECK_EVERY = 20
_PLAUSIBLE = 100  # features of a row, whatever the others have
_TIMES_OTHERS = 10
_OTHERS = 0.9  # of rows
_MOST = 10_000  # to begin with


def first_guess(counts: RowCounts, mass: float | None = None) -> int:
    """Return how many features to begin with: at least twice a mass that is known."""
    reach = max((_reach(law) for law in counts.laws), default=0)
    mean = max((law.mean for law in counts.laws), default=0.0)
    return max(_LEAST, reach + 1, round(2.0 * mean), math.ceil(2.0 * (mass or 0.0)))


def _reach(law: CountLaw) -> int:
    """Return the least count that a row of this law exceeds with a chance of one in a thousand."""
    low, step = math.ceil(law.mean), 1
    while law.tail(low + step) > _RARE:
        step *= 2
    counts = range(low, low + step)
    return low + bisect_left(counts, True, key=lambda count: law.tail(count) <= _RARE)


def check_counts(counts: RowCounts, n_dims: int, row_names: Sequence[str] | None = None) -> None:
    """Raise an `InputError` for a count so large that a search should not begin with it.

    Parameters
    ----------
    counts
        The count law of every row.
    n_dims
        How many columns the data have.
    row_names
        What to call rows; numbers from 0 if there are none.
    """
    expected = np.array([law.mean for law in counts.laws])
    if not expected.size:
        return
    usual = np.quantile(expected[counts.law_of_row], _OTHERS, method="lower")
    most = max(_PLAUSIBLE, n_dims, _TIMES_OTHERS * float(usual))
    wrong = np.flatnonzero(expected[counts.law_of_row] > most)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            "counts",
            f'must be at most {most:.0f} features a row with max_features="auto": nine rows in ten '
            f"expect {usual:g} or fewer, and there are {n_dims} columns",
            f"{counts[row]} in {row_place(row, row_names)}",
            "Correct that count, or set max_features to allow it.",
        )
    room = first_guess(counts)
    if room > _MOST:
        raise InputError(
            "counts",
            f'must be possible with {_MOST} features if max_features="auto"',
            f"laws that need {room}",
            "Set max_features: larger counts are then left out of each law.",
        )


def spare(state: State) -> int:
    """Return how many features no row has."""
    return int((~state.rows.any(axis=0)).sum())


def needs_room(state: State) -> bool:
    """Return whether too few features are unused."""
    return bool(spare(state) < _SPARE_SHARE * state.rows.shape[1])


def enlarged(rng: np.random.Generator, model: Model, state: State) -> tuple[Model, State]:
    """Return model and state with room for half as many features again."""
    before = model.n_features
    model = replace(model, n_features=int(np.ceil(_GROWTH * before)))
    more = model.n_features - before
    rows = np.hstack([state.rows, np.zeros((len(state.rows), more), np.int8)])
    prior = model.weight_prior(state.mass, state.concentration)
    log_odds = np.append(state.log_odds, prior.sample(rng, model.n_features)[:more])
    log_probs = draw_log_probs(rng, model.counts, rows.sum(axis=1), model.n_features)
    parameters = state.parameters._replace(
        features=np.pad(state.parameters.features, ((0, more), (0, 0)))
    )
    return model, state._replace(
        rows=rows, log_odds=log_odds, count_log_probs=log_probs, parameters=parameters
    )


def with_room(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    update: Callable[..., tuple[State, Any]],
    tick: Tick = no_tick,
) -> Model:
    """Return the model with enough features, found by a short chain of sweeps by `update`."""
    for done in range(_MOST_GROWTH):
        state = best_start(rng, model, data, 1, tick=tick)
        if done == _MOST_GROWTH - 1 or not needs_room(state):
            break
        model, _ = enlarged(rng, model, state)
    seed = kernel_seed(rng)
    for number in range(_SWEEPS):
        tick(number, _SWEEPS)
        if number % _CHECK_EVERY == 0 and needs_room(state):
            model, state = enlarged(rng, model, state)
        state, _ = update(rng, seed, state, model, data)
    return model
