"""Wrong twins: row samplers that are broken in a known way, each a mistake somebody has made.

A statistical test that cannot tell these from the right sampler proves nothing, so every such test
runs on them too and must fail. Each takes (rng, log_odds, counts, n) and returns 0/1 rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ribp.checks import FloatArray
from ribp.counts import CountLaw
from ribp.likelihoods.data import Rows
from ribp.restricted_bernoulli import RestrictedBernoulli

__all__ = ["ROW_SAMPLERS", "RowSampler"]

RowSampler = Callable[[np.random.Generator, FloatArray, CountLaw, int], Rows]


def accepted_coins(
    rng: np.random.Generator, log_odds: FloatArray, counts: CountLaw, n: int
) -> Rows:
    """Throw coins and keep them with probability f(|z|): the tilted law, not the mixture."""
    return RestrictedBernoulli(log_odds, counts, kind="tilted").sample(rng, n)


def weighted_draws(
    rng: np.random.Generator, log_odds: FloatArray, counts: CountLaw, n: int
) -> Rows:
    """Draw one feature after another with probability proportional to its odds, without return.

    Sequential weighted sampling has the right number of ones but other probabilities.
    """
    rows = np.zeros((n, log_odds.size), np.int8)
    ones = RestrictedBernoulli(log_odds, counts).sample(rng, n).sum(axis=1)
    keys = log_odds + rng.gumbel(size=rows.shape)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    rows[rank < ones[:, None]] = 1
    return rows


def one_uniform_a_row(
    rng: np.random.Generator, log_odds: FloatArray, counts: CountLaw, n: int
) -> Rows:
    """Use the same uniform for every feature of a row: marginals look right, pairs do not."""
    eta = RestrictedBernoulli(log_odds, counts).inclusion_probs()
    return (rng.random((n, 1)) < eta).astype(np.int8)


def flattened_odds(
    rng: np.random.Generator, log_odds: FloatArray, counts: CountLaw, n: int
) -> Rows:
    """Shrink the log-odds by a tenth, as an unfinished tilt would."""
    return RestrictedBernoulli(0.9 * log_odds, counts).sample(rng, n)


ROW_SAMPLERS: dict[str, RowSampler] = {
    "accepted coins": accepted_coins,
    "weighted draws": weighted_draws,
    "one uniform a row": one_uniform_a_row,
    "flattened odds": flattened_odds,
}
