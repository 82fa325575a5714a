"""What a feature changes where columns have kinds: probabilities with it and without it.

In each draw the rows that have a feature are taken as they are, and with the feature taken out; the
mean over these rows of the probability of an event (`ribp.likelihoods.kind_events`) is its
probability with and without the feature. If all rows have the same count nothing is known of rows
with one feature less: then only differences between features mean anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import Likelihood
from ribp.posterior.draws import Draws

_ROWS = 100  # of a draw that are looked at


class Effect(NamedTuple):
    """Probabilities of events in the draws that use a feature, shape (draws, events) each."""

    without: FloatArray
    present: FloatArray

    @property
    def change(self) -> FloatArray:
        """By how much the feature raises them."""
        return self.present - self.without


def effects(draws: Draws, likelihood: Likelihood[Any], places: IntArray) -> list[Effect]:
    """Return what features in these places of the draws change."""
    found: list[list[tuple[FloatArray, FloatArray]]] = [[] for _ in places]
    for s, given in enumerate(draws.parameters):
        rows = draws.unpacked(s)
        for at, place in enumerate(places.tolist()):
            having = np.flatnonzero(rows[:, place])
            if not having.size:
                continue
            some = rows[having[:: -(-having.size // _ROWS)]]
            eta = likelihood.means(some, given)
            pair = (eta - given.features[place], eta)
            without, present = (likelihood.event_probs(one, given).mean(axis=0) for one in pair)
            found[at].append((without, present))
    return [Effect(*(np.array(part) for part in zip(*one, strict=True))) for one in found]
