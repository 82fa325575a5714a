"""How many features a chain has room for, when nobody said: `max_features="auto"`.

A search begins with twice as many as the largest expected count, and at least sixteen. Whenever
fewer than a fifth are unused it gets half as many again. What the first start ends with is what all
others and all chains have: a sampler whose space changes with its state has no law.

One mistyped count would make a search for a thousand features, so a count that nothing makes
plausible is refused first: an expected count above 100, above the number of columns, and above ten
times what nine rows in ten expect. Where most rows have many features nothing is refused.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ribp.checks import row_place
from ribp.counts import CountLaw, RowCounts
from ribp.counts.tables import draw_log_probs
from ribp.errors import InputError
from ribp.likelihoods.data import Rows
from ribp.model import Model, State

_LEAST = 16
_UNUSED_SHARE = 0.2
GROWTH = 1.5
"""By how much room grows."""
_RARE = 1e-3
MOST_GROWTH = 6
"""Times that a search may get more room."""
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


def room(used: int) -> int:
    """Return the least number of features with which this many leave no need of more."""
    return math.ceil(used / (1.0 - _UNUSED_SHARE))


def needs_room(rows: Rows) -> bool:
    """Return whether too few features are unused."""
    return bool((~rows.any(axis=0)).sum() < _UNUSED_SHARE * rows.shape[1])


def enlarged(rng: np.random.Generator, model: Model, state: State) -> tuple[Model, State]:
    """Return model and state with room for half as many features again."""
    before = model.n_features
    model = replace(model, n_features=math.ceil(GROWTH * before))
    more = model.n_features - before
    rows = np.hstack([state.rows, np.zeros((len(state.rows), more), np.int8)])
    prior = model.weight_prior(state.mass, state.concentration)
    log_odds = np.append(state.log_odds, prior.sample(rng, model.n_features)[:more])
    log_probs = draw_log_probs(rng, model.counts, rows.sum(axis=1), model.n_features)
    features = np.pad(state.parameters.features, ((0, more), (0, 0)))
    return model, state._replace(
        rows=rows,
        log_odds=log_odds,
        count_log_probs=log_probs,
        parameters=state.parameters._replace(features=features),
    )
