"""What a feature changes, on one scale for all kinds: probabilities of events.

An event of a column with levels is one of them; of yes and no it is yes. Numbers are above what is
usual in their column or not: the mean of real numbers, the median of positive ones, about, and the
mean of counts, rounded down. So a feature can be shown as the change of probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from ribp.checks import FloatArray
from ribp.kinds.binary import Binary
from ribp.kinds.binomial import Binomial
from ribp.kinds.kind import PLAIN
from ribp.kinds.levels import OfLevels
from ribp.kinds.positive import Positive
from ribp.likelihoods.kind_columns import Column, Places


def usual(column: Column) -> float:
    """Return the number that entries of a column of numbers are above or not."""
    if column.kind.has_units:
        return math.exp(column.mean) if isinstance(column.kind, Positive) else column.mean
    if isinstance(column.kind, Binomial):
        return float(math.floor(column.kind.trials * expit(column.centre[0])))
    return float(math.floor(math.exp(column.centre[0])))


def event_names(columns: Sequence[Column], names: Sequence[Any]) -> list[str]:
    """Return the names of all events: "smoker", "stage=II", "age > 63"."""
    found = []
    for column, name in zip(columns, names, strict=True):
        levels = column.kind.levels
        if levels in PLAIN:
            found.append(str(name))
        elif levels:
            shown = levels[1:] if isinstance(column.kind, Binary) else levels
            found += [f"{name}={level}" for level in shown]
        else:
            found.append(f"{name} > {usual(column):.4g}")
    return found


def event_probs(
    columns: Sequence[Column], places: Places, eta: FloatArray, own: FloatArray
) -> FloatArray:
    """Return the probability of every event given eta, shape (rows, events)."""
    found = []
    for d, column in enumerate(columns):
        here, mine = eta[:, places.latent(d)], own[places.own(d)]
        if isinstance(column.kind, OfLevels):
            probs = column.kind.level_probs(here, mine)
            found.append(probs[:, 1:] if isinstance(column.kind, Binary) else probs)
        else:
            above = column.kind.tails(np.full(len(eta), usual(column)), here, mine)[1]
            found.append(above[:, None])
    return np.hstack(found)
