"""Draw by draw, rejection-free: the count first, then the features given the count.

With weights from a certified truncation this is the default sampler. A row costs O(J log I), after
one pass O(I * J) for all rows together.
"""

from __future__ import annotations

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.prior.draw import Draw, assemble
from ribp.prior.request import Request, cut
from ribp.prior.truncated_weights import Weights, draw_weights
from ribp.restricted_bernoulli import RestrictedBernoulli


def sample(request: Request) -> Draw:
    """Draw rows by inclusion probabilities."""
    totals, weights = totals_and_weights(request)
    atoms, bounds = weights
    request.entries.check(request.restrict, atoms)
    rows = request.entries.draw_rows(request.rng, request.restrict, atoms, totals)
    return assemble(rows.members, rows.lengths, atoms, values=rows.values, bounds=bounds)


def totals_and_weights(request: Request) -> tuple[IntArray, Weights]:
    """Return the restricted quantity J_n of every row, and the weights.

    The mixture draws J_n first, since it does not depend on the weights; the tilted law needs
    the weights to know the law of J_n.
    """
    if request.kind == "tilted":
        weights = draw_weights(request, None)
        return _tilted_totals(request, weights.log_odds), weights
    totals = request.draw_totals(None if request.restrict == "sum" else request.n_features)
    return totals, draw_weights(request, totals)


def _tilted_totals(request: Request, log_odds: FloatArray) -> IntArray:
    totals = np.empty(request.n_rows, np.int64)
    for which, law in enumerate(request.counts.laws):
        at = np.flatnonzero(request.counts.law_of_row == which)
        of_count = RestrictedBernoulli(log_odds, cut(law, log_odds.size), kind="tilted")
        probs = np.exp(of_count.count_log_probs())
        totals[at] = request.rng.choice(probs.size, size=at.size, p=probs / probs.sum())
    return totals
