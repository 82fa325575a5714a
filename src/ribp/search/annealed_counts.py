"""Starts of rows whose entries count: units anywhere, annealed (`ribp.search.falling_noise`).

From where the noise should fall depends on the data: where it is too hot features die out, where it
is not hot enough some are met twice. A fall that ends badly is not made better by a longer one. So
a start is the best of several falls, from different temperatures, by log joint less the price of
features in use.

With `max_features="auto"` a start that has used up its features is made again with more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ribp.likelihoods.data import Data
from ribp.model import Model
from ribp.search import capacity
from ribp.search.falling_noise import fallen
from ribp.search.given_rows import settled
from ribp.search.repairs import Scored

_HOT = (1.0, 0.8, 0.6, 0.5) * 2  # noise, in units of the spread of the data

Tick = Callable[[], None]


def start(
    rng: np.random.Generator,
    model: Model,
    data: Data,
    tick: Tick = lambda: None,
    *,
    grow: bool = False,
) -> tuple[Model, Scored]:
    """Return a start and its model, which may have got more features.

    Parameters
    ----------
    rng
    model, data
        Of the rows that are searched, in standard units.
    tick
        Called now and then; it may raise to end the search.
    grow
        Whether the model may get more features.
    """
    for _ in range(capacity.MOST_GROWTH):
        ends = [
            settled(rng, model, data, fallen(rng, model, data, hot, tick), tick) for hot in _HOT
        ]
        found = max(ends, key=lambda one: one.score)
        if not (grow and capacity.needs_room(found.state.rows != 0)):
            break
        model = replace(model, n_features=math.ceil(capacity.GROWTH * model.n_features))
    return model, found
