"""Whether data need a background, when nobody said: `background="auto"`.

A background is what every row has and no count law counts: offsets of columns, the dark level of a
picture. The range of the data alone cannot tell, since min-max scaled numbers look like spectra. So
the first start of a fit is made twice, without a background and with one, and

    score = log joint - price x features in use,         price = (D/2) log N,

is compared. The background is switched on where it gains more than
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
from typing import Any, NamedTuple, Protocol

import numpy as np

from ribp.counts.tables import mean_log_probs
from ribp.likelihoods.data import Data, Rows
from ribp.model import Model, State
from ribp.search.repairs import price

LEAST_GAIN = 3.0
"""In prices of a feature."""

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


def obvious(model: Any, data: Data) -> BackgroundChoice | None:
    """Return the choice if it needs no search.

    Parameters
    ----------
    model
        Of these rows; whether it has a background does not matter.
    data
        In the units of the user.
    """
    if model.likelihood.always_background:
        return BackgroundChoice(True, "such data always have one")
    column, away = _farthest(model)
    if away > _FAR:
        return BackgroundChoice(True, f"column {column} is {away:.3g} units from zero")
    if isinstance(model, Model):
        empty = with_background(model, False).rows_that_must_be_zero()
        needed = empty[(data.values[empty] > 0).any(axis=1)].tolist()
        if needed:
            return BackgroundChoice(True, f"row {needed[0]} is not zero and may have no features")
    return None


class Scorable(Protocol):
    """A start with its score."""

    @property
    def state(self) -> State:
        """Which has rows."""

    @property
    def score(self) -> float:
        """Log joint less a price for each feature."""


def compared(model: Model, data: Data, off: Scorable, on: Scorable) -> BackgroundChoice:
    """Return the choice between a start without a background and one with it."""
    gain = float(on.score - off.score) / price(data)
    if not math.isfinite(gain):
        return BackgroundChoice(False, "nothing could be compared")
    worth = f"it gains {gain:.1f} times the price of a feature"
    if -LEAST_GAIN < gain <= LEAST_GAIN and _stands_in(model, off.state.rows):
        return BackgroundChoice(
            True, f"{worth}, and takes the place of one that all rows have", gain
        )
    wanted = gain > LEAST_GAIN
    rule = f"{'more' if wanted else 'not more'} than {LEAST_GAIN:g}"
    return BackgroundChoice(wanted, f"{worth}, {rule}", gain)


def _farthest(model: Any) -> tuple[int, float]:
    """Return the column whose mean is the most standard deviations from zero, and how many."""
    units = getattr(model.likelihood, "units", None)
    return (0, 0.0) if units is None else units.farthest()


def _stands_in(model: Model, rows: Rows) -> bool:
    """Return whether nearly all rows have some feature, and counts leave a choice."""
    exact = np.isfinite(mean_log_probs(model.counts, model.most)).sum(axis=1) == 1
    return bool(not exact.all() and ((rows != 0).mean(axis=0) > _NEARLY_ALL).any())
