"""Whether data need a background, when nobody said: `background="auto"`.

A background is what every row has and no count law counts: offsets of columns, the dark level of a
picture. The range of the data alone cannot tell, since min-max scaled numbers look like spectra. So
two short searches are made on at most 2000 rows, without a background and with one, and

    score = log joint - price x features in use,         price = (D/2) log N,

of the better of two starts each is compared. The background is switched on where it gains more than
three prices. Where it is needed it gained 6 to 55 in experiments, where not -3 to 1: a background
does about as much as one feature more, and where there is none it only stands in the way.

Where the counts leave a choice a feature that nearly all rows have may take the place of a
background, for the price of one feature. So if the search without a background ends with such a
feature, the background is switched on unless that loses three prices.

Columns whose mean is ten thousand standard deviations from zero need one without a search.

Where all rows have the same count a background and features differ by their prior only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ribp.baselines import ibp_gibbs
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Data, Rows
from ribp.model import Model
from ribp.search.starts import Tick, price, scored_start

LEAST_GAIN = 3.0
"""In prices of a feature."""
_STARTS = 2
_NEARLY_ALL = 0.95  # of the rows
_FAR = 1e4  # standard deviations from zero, where no search is needed


class BackgroundChoice(NamedTuple):
    """Whether there is a background, and why."""

    on: bool
    reason: str
    gain: float | None = None
    """What it gains, in prices of a feature; None if nothing was compared."""

    def __str__(self) -> str:
        return f"{'on' if self.on else 'off'}: {self.reason}"


def asked_for(on: bool) -> BackgroundChoice:
    """Return the choice of a user."""
    return BackgroundChoice(on, "it was asked for" if on else "none was asked for")


def with_background(model: Any, on: bool) -> Any:
    """Return a model with or without a background."""
    return replace(model, likelihood=replace(model.likelihood, background=on))


def choose_background(
    rng: np.random.Generator, model: Any, data: Data, tick: Tick
) -> BackgroundChoice:
    """Return whether a model of these data needs a background.

    Parameters
    ----------
    rng
    model
        Of these rows; whether it has a background does not matter.
    data
        In the units of the user.
    tick
        Told how much is done, of how much.
    """
    needed = []
    if isinstance(model, Model):
        empty = with_background(model, False).rows_that_must_be_zero()
        needed = empty[(data.values[empty] > 0).any(axis=1)].tolist()
    column, away = _farthest(model)
    if away > _FAR:
        return BackgroundChoice(True, f"column {column} is {away:.3g} units from zero")
    if needed:
        return BackgroundChoice(True, f"row {needed[0]} is not zero and may have no features")
    scores = []
    for done, on in enumerate((False, True)):
        here = with_background(model, on)

        def part(at: int, of: int, done: int = done) -> None:
            tick(done * of + at, 2 * of)

        scores.append(_score(rng, here, here.likelihood.standard(data), part))
    gain = float(scores[1].score - scores[0].score) / price(data)
    if not math.isfinite(gain):
        return BackgroundChoice(False, "nothing could be compared")
    worth = f"it gains {gain:.1f} times the price of a feature"
    if -LEAST_GAIN < gain <= LEAST_GAIN and _stands_in(model, scores[0].rows):
        return BackgroundChoice(
            True, f"{worth}, and takes the place of one that all rows have", gain
        )
    on = gain > LEAST_GAIN
    rule = f"{'more' if on else 'not more'} than {LEAST_GAIN:g}"
    return BackgroundChoice(on, f"{worth}, {rule}", gain)


def _farthest(model: Any) -> tuple[int, float]:
    """Return the column whose mean is the most standard deviations from zero, and how many."""
    units = getattr(model.likelihood, "units", None)
    return (0, 0.0) if units is None else units.farthest()


class _Scored(NamedTuple):
    score: float
    rows: Rows


def _stands_in(model: Any, rows: Rows) -> bool:
    """Return whether nearly all rows have some feature, and counts leave a choice."""
    if isinstance(model, Model):
        tables = mean_log_probs(model.counts, model.n_features)
        if (np.isfinite(tables).sum(axis=1) == 1).all():
            return False
    return bool((rows.mean(axis=0) > _NEARLY_ALL).any())


def _score(rng: np.random.Generator, model: Any, data: Data, tick: Tick) -> _Scored:
    """Return the best score of short searches, and its rows."""
    if isinstance(model, Model):
        found = scored_start(rng, model, data, _STARTS, tick=tick)
        return _Scored(found.score, found.state.rows)
    buffet = BuffetModel(len(data.values), model.likelihood, model.mass, model.concentration)
    state = ibp_gibbs.best_start(rng, buffet, data, _STARTS, tick)
    log_joint = buffet.log_joint(state, data)
    return _Scored(log_joint - price(data) * state.rows.shape[1], state.rows)
