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
    """Return what features in these places of the draws change.

    Rows that have a feature tell, in the draws where some row does. Nobody may have one that is
    known: all rows tell then what it would change.
    """
    n_draws = len(draws.parameters)
    found: list[list[list[FloatArray]]] = [[] for _ in places]
    used = np.zeros((places.size, n_draws), bool)
    for s, given in enumerate(draws.parameters):
        rows = draws.unpacked(s)
        for at, place in enumerate(places.tolist()):
            having = np.flatnonzero(rows[:, place])
            used[at, s] = having.size > 0
            asked = having if having.size else np.arange(len(rows))
            some = rows[asked[:: -(-asked.size // _ROWS)]]
            some[:, place] = 1
            eta = likelihood.means(some, given)
            pair = (eta - given.features[place], eta)
            found[at].append([likelihood.event_probs(one, given).mean(axis=0) for one in pair])
    kept = np.where(used.any(axis=1, keepdims=True), used, True)
    each = zip(found, kept, strict=True)
    return [Effect(*np.array(one)[which].transpose(1, 0, 2)) for one, which in each]
