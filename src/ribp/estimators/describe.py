"""What a fit has found, as the attributes of an estimator.

They describe one mode, that of the highest log joint, and of it the features that are in use in at
least half of the draws. Weights and features are means over the draws that use them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts import CountLaw, RowCounts, table
from ribp.model import Model
from ribp.posterior.draws import aligned_draws, features_in_use
from ribp.results import Result


class Description(NamedTuple):
    """The main mode."""

    kept: IntArray
    """Places of its features among all that draws have."""
    components: FloatArray
    """Shape (features, dims)."""
    background: FloatArray
    """Shape (dims,)."""
    weights: FloatArray
    """Shape (features,)."""


def describe(result: Result) -> Description:
    """Return the main mode of a result."""
    tree, alignment = result.tree, result.alignment
    likelihood: Any = result.model.likelihood
    draws = aligned_draws(tree, likelihood, None, alignment, rows=np.arange(0))
    each_used, known = features_in_use(tree, alignment), np.array(likelihood.known)
    kept, dims = result.shown_places, draws.parameters[0].features.shape[1]
    weights, uses = np.zeros(kept.size), np.zeros(kept.size)
    components, background = np.zeros((kept.size, dims)), np.zeros(dims)
    for at, given in enumerate(draws.parameters):
        used = each_used[at, kept]
        uses += used
        weights += used * likelihood.entry_law.probabilities(draws.log_odds[at, kept])
        components += used[:, None] * given.features[kept]
        background += given.background
    uses = np.maximum(uses, 1.0)
    components /= uses[:, None]
    components[: len(known)] = known.reshape(-1, dims)
    return Description(kept, components, background / len(draws.parameters), weights / uses)


def count_laws(result: Result) -> CountLaw | RowCounts:
    """Return the count laws of a fit, those that were learned at their posterior mean."""
    model = result.model
    assert isinstance(model, Model)
    counts = model.counts
    if not any(hasattr(law, "draw_table") for law in counts.laws):
        return counts.laws[0] if len(counts.laws) == 1 else counts
    probs = result.count_probs()
    laws = [
        table(probs[at]) if hasattr(law, "draw_table") else law
        for at, law in enumerate(counts.laws)
    ]
    return laws[0] if len(laws) == 1 else RowCounts(tuple(laws), counts.law_of_row)
