"""Figures 3 and 4 of the paper: feature probabilities in descending order.

Of each draw of 100 rows take the column means, sort them in descending order, and fill up with
zeros; the curve is the mean over draws. Its sum is J for every sampler, so a truncation that leaves
out features must raise those it keeps.

Given the weights, rejection, tilted rejection and inclusion have one and the same law: inclusion
stands for all three, on size-ordered weights and on the weak limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ribp
from experiments.simulation.setting import OURS, SAMPLERS, Sampler, Scale, generator
from ribp.errors import ProposalLimitError

COUNTS = (5, 8)
LEVELS = (10, 20, 40, 80)
EXACT = ("collapsed", "lazy")
N_RANKS = 80

_PLACE = 2


def probabilities(seed: int, scale: Scale, count: int) -> dict[str, Any]:
    """Return the curve of every sampler for rows with exactly `count` features."""
    found = {}
    for which, (name, sampler) in enumerate(_samplers().items()):
        n_draws = scale.n_exact if name in EXACT else scale.n_approximate
        rngs = (generator(seed, _PLACE, count, which, at) for at in range(n_draws))
        drawn = [_sorted_means(rng, sampler, count, scale.max_proposals) for rng in rngs]
        found[name] = _summary([curve for curve in drawn if curve is not None], n_draws)
    ours = np.array(found[OURS]["mean"])
    for name, one in found.items():
        excess = np.array(one["mean"]) - ours
        rank = int(np.argmax(excess))
        error = np.hypot(one["standard_error"][rank], found[OURS]["standard_error"][rank])
        if name != OURS:
            one["largest_excess"] = {
                "rank": rank + 1,
                "excess": float(excess[rank]),
                "standard_error": float(error),
            }
    for level in LEVELS:
        found[f"size-ordered {level}"]["left_out"] = float(ours[level:].sum())
    return found


def _samplers() -> dict[str, Sampler]:
    truncated = {}
    for level in LEVELS:
        for name, rule in (("size-ordered", ribp.SizeOrdered), ("weak limit", ribp.WeakLimit)):
            truncated[f"{name} {level}"] = Sampler(name, "inclusion", rule(level))
    return {name: SAMPLERS[name] for name in (OURS, *EXACT)} | truncated


def _sorted_means(
    rng: np.random.Generator, sampler: Sampler, count: int, max_proposals: int
) -> NDArray[np.float64] | None:
    try:
        draw = sampler.draw(rng, count, max_proposals)
    except ProposalLimitError:
        return None
    means = np.zeros(max(N_RANKS, draw.rows.shape[1]))
    means[: draw.rows.shape[1]] = np.sort(draw.rows.mean(axis=0))[::-1]
    return means[:N_RANKS]


def _summary(curves: list[NDArray[np.float64]], n_draws: int) -> dict[str, Any]:
    stacked = np.array(curves)
    used = (stacked > 0).sum(axis=1)
    spread = stacked.std(axis=0, ddof=1) / np.sqrt(len(curves))
    return {
        "n_draws": n_draws,
        "n_censored": n_draws - len(curves),
        "mean": stacked.mean(axis=0).tolist(),
        "standard_error": spread.tolist(),
        "used_quartiles": np.quantile(used, [0.25, 0.5, 0.75], method="inverted_cdf").tolist(),
    }
