"""Rejection with coins: throw a coin for each of finitely many weights, keep the row or try again.

Exact given the weights. The cost depends on how far f is from the law of the coins, and given
the measure it has a heavy tail.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ribp.checks import FloatArray, IntArray
from ribp.prior.certificate import effective_largest
from ribp.prior.draw import Draw, assemble
from ribp.prior.request import Request, cut
from ribp.prior.truncated_weights import Weights, draw_weights
from ribp.rng import kernel_seed


def sample(request: Request) -> Draw:
    """Draw rows by coins with the weights' own probabilities."""
    totals = request.draw_totals(request.n_features) if request.kind == "mixture" else None
    weights = draw_weights(request, totals)
    which, accept = acceptance(request, totals, weights.log_odds.size)
    return throw(request, weights, which, expit(weights.log_odds)[None], accept)


def acceptance(
    request: Request, totals: IntArray | None, most: int | None
) -> tuple[IntArray, FloatArray]:
    """Return the kind of every row, and P(accept | kind, number of ones), kinds by counts.

    Mixture: a kind is a count J that was drawn, and accepts J only. Tilted: a kind is a count law
    (at most `most`), and accepts k with probability f(k) / max f.
    """
    if totals is not None:
        levels, which = np.unique(totals, return_inverse=True)
        accept = np.zeros((levels.size, int(totals.max(initial=0)) + 1))
        accept[np.arange(levels.size), levels] = 1.0
        return which, accept
    laws = [law if most is None else cut(law, most) for law in request.counts.laws]
    top = max((effective_largest(law) for law in laws), default=0)
    log_f = np.array([law.log_probs(top) for law in laws]).reshape(len(laws), top + 1)
    return request.counts.law_of_row, np.exp(log_f - log_f.max(axis=1, keepdims=True))


def throw(
    request: Request, weights: Weights, which: IntArray, probs: FloatArray, accept: FloatArray
) -> Draw:
    """Throw coins until every row is accepted."""
    from ribp.kernels.proposals import coin_rows

    members, counts, proposed = coin_rows(
        kernel_seed(request.rng), which, probs, accept, request.max_proposals
    )
    if (counts < 0).any():
        raise request.out_of_proposals(int((counts >= 0).sum()))
    return assemble(
        members, counts, weights.log_odds, n_proposed=int(proposed), bounds=weights.bounds
    )
