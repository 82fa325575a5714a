"""Rows to begin with, given features: one after another the feature that gains most.

With G = A A'/s^2 and b = (x - offset) A'/s^2 the gain of feature i given those that a row has is

    gain_i = theta_i + b_i - G_ii/2 - sum_{j in row} G_ij.

A row takes the largest gain again and again; of the rows on its way it keeps the one for which the
sum of gains plus the table of its law at their number is highest. Missing entries count as if they
were what every row has. Other data are taken as Gaussian ones (`Likelihood.working`).

If entries count and their sum is restricted, a row takes units in the same way, as many of one
feature as gain most; where non-zeros are restricted it begins with ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.row_sweeps import RowPrior

_LOST = -30.0  # a gain below which nobody would go on


def first_rows(
    likelihood: Likelihood[Any],
    data: Data,
    parameters: Any,
    prior: RowPrior,
    law_of_row: IntArray,
) -> Any:
    """Return rows for a block of data; every row obeys its law."""
    features, offset = parameters.features, parameters.background
    data, variance = likelihood.working(data, parameters)
    weighted = features / variance
    gram = weighted @ features.T
    around = data.values - offset
    if not data.complete:
        around = np.where(data.observed, around, 0.0)
    law = likelihood.entry_law
    log_odds = law.log_weights(prior.log_odds)
    gain = around @ weighted.T + (log_odds - 0.5 * np.diag(gram))
    if law.by_sum:
        return _greedy_units(gain, gram, prior.tables[law_of_row])
    return _greedy(gain, gram, prior.tables[law_of_row])


def _greedy_units(gain: FloatArray, gram: FloatArray, tables: FloatArray) -> Any:
    """Return the best rows of units on the way of each; `tables` holds the law of each row."""
    everyone = np.arange(len(gain))
    rows = np.zeros(gain.shape)
    total, best, found = np.zeros(len(gain)), tables[:, 0].copy(), rows.copy()
    for step in range(1, tables.shape[1]):
        chosen = gain.argmax(axis=1)
        total += gain[everyone, chosen]
        rows[everyone, chosen] += 1.0
        gain -= gram[chosen]
        better = total + tables[:, step] > best
        best = np.where(better, total + tables[:, step], best)
        found[better] = rows[better]
    return found


def _greedy(gain: FloatArray, gram: FloatArray, tables: FloatArray) -> Rows:
    """Return the best rows on the way of each; `tables` holds the law of each row."""
    n_rows, n_features = gain.shape
    everyone = np.arange(n_rows)
    possible = tables > -np.inf
    least = int(possible.argmax(axis=1).max(initial=0))
    when = np.full((n_rows, n_features), n_features, np.int64)  # at which step each was taken
    total, best = np.zeros(n_rows), tables[:, 0].copy()
    length = np.zeros(n_rows, np.int64)
    for step in range(n_features):
        chosen = gain.argmax(axis=1)
        added = gain[everyone, chosen]
        if step >= least and (added < _LOST).all():
            break
        when[everyone, chosen] = step
        total += added
        gain -= gram[chosen]
        gain[everyone, chosen] = -np.inf
        better = total + tables[:, step + 1] > best
        best = np.where(better, total + tables[:, step + 1], best)
        length[better] = step + 1
    return (when < length[:, None]).astype(np.int8)
