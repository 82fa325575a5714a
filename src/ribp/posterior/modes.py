"""Modes: groups of chains with the same features.

Chains may stop at different explanations of the data; their draws must not be averaged. Each chain
is cut into two halves, each half aligned by itself, which gives mean activities P (rows, features).
Two halves agree to the extent

    sum min(P, Q) / sum max(P, Q),     features matched so that this is largest:

1 for the same features, 0 for features that share nothing. Matching maximises sum min(P, Q), since
sum max is the rest. A diffuse posterior has a low agreement even of a chain with itself, so the
agreement of two chains (the mean over their halves) is judged relative to that of each one's two
halves: chains are in one mode if it reaches `SAME_MODE` of the lower of the two. In short runs
(chords, two toy sets, one of them at four noise levels, data all missing) it was 0.98 or more for
chains with the same features, and 0.88 or less for chains with different ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from ribp.checks import FloatArray
from ribp.posterior.align import mean_activity
from ribp.posterior.stored_draws import StoredDraws, array, in_order, stored_draws

SAME_MODE = 0.93
"""Least agreement of chains in one mode, relative to that of the halves of one chain."""


class Mode(NamedTuple):
    """Chains with the same features."""

    chains: tuple[int, ...]
    """The chain of the highest mean log joint first."""
    log_joint: float
    """The mean over all draws of these chains."""
    agreement: float
    """With the first mode, as a share of what its own halves have; about 1 for the first."""


def modes(tree: xr.DataTree) -> tuple[Mode, ...]:
    """Return the modes, that of the highest mean log joint in a chain first."""
    log_joint = array(tree, "posterior", "log_joint").mean(axis=1)
    halves = _halves(stored_draws(tree))
    leaders: list[int] = []
    members: dict[int, list[int]] = {}
    for chain in np.argsort(-in_order(log_joint), kind="stable").tolist():
        same = (
            lead
            for lead in leaders
            if _relative_agreement(halves[lead], halves[chain]) >= SAME_MODE
        )
        lead = next(same, chain)
        if lead == chain:
            leaders.append(chain)
        members.setdefault(lead, []).append(chain)
    return tuple(
        Mode(
            tuple(members[lead]),
            float(log_joint[members[lead]].mean()),
            _relative_agreement(halves[leaders[0]], halves[lead]),
        )
        for lead in leaders
    )


def agreement(first: FloatArray, second: FloatArray) -> float:
    """Return sum min(P, Q) / sum max(P, Q) of mean activities of shape (rows, features)."""
    least = np.empty((first.shape[1], second.shape[1]))
    for at, column in enumerate(first.T):
        least[at] = np.minimum(column[:, None], second).sum(axis=0)
    both = float(least[linear_sum_assignment(least, maximize=True)].sum())
    either = float(first.sum() + second.sum()) - both
    return both / either if either > 0.0 else 1.0


def _halves(stored: StoredDraws) -> list[list[FloatArray]]:
    """Return the mean activities of the halves of each chain (of the whole, if of one draw)."""
    chains, draws, _, _ = stored.shape
    size = max(draws // 2, 1)
    parts = [stored.cut(slice(0, size)), stored.cut(slice(draws - size, draws))]
    return [[mean_activity(part, chain) for part in parts] for chain in range(chains)]


def _relative_agreement(first: list[FloatArray], second: list[FloatArray]) -> float:
    """Return the agreement of two chains relative to that of one with itself."""
    if first is second:
        return 1.0
    between = [agreement(one, other) for one in first for other in second]
    within = min(agreement(*first), agreement(*second))
    return float(np.mean(between)) / within if within > 0.0 else 1.0
