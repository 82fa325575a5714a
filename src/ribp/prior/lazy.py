"""The lazy exact sampler: atoms appear when a row first takes them, nothing is truncated.

The state is the explicit atoms, the number M of rows proposed so far, kept or not, and the rate of
new atoms in the next proposal, alpha C B(1-s, c+s+M). A proposal takes explicit atom i with
probability pi_i, and new atoms at that rate with sizes Beta(1-s, c+s+M). Every proposal has
revealed that the atoms still hidden were zero in it, kept or not: M remembers that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ribp.measures import BetaProcess
from ribp.prior.draw import Draw, assemble
from ribp.prior.rejection import acceptance
from ribp.prior.request import Request
from ribp.rng import kernel_seed


def sample(request: Request) -> Draw:
    """Draw rows by proposals on a measure that grows as it is looked at."""
    from ribp.kernels.proposals import lazy_proposals

    measure = request.measure
    assert isinstance(measure, BetaProcess)  # simulate has checked it
    totals = request.draw_totals(None) if request.kind == "mixture" else None
    which, accept = acceptance(request, totals, None)
    seed = kernel_seed(request.rng)
    log_odds, probs = np.empty(0), np.empty(0)
    seen, rate, fresh = 0, measure.mass, 0
    members: list[NDArray[np.int32]] = []
    for kind in which:
        status = 2
        while status == 2:
            status, found, fresh, seen, rate = lazy_proposals(
                seed, kind, probs, accept, measure.concentration, measure.discount,
                seen, rate, fresh, request.max_proposals,
            )  # fmt: skip
            if status == 2:
                new = measure.draw_new_atoms(request.rng, fresh, seen)
                log_odds = np.concatenate([log_odds, new])
                probs = expit(log_odds)
        if status == 0:
            raise request.out_of_proposals(len(members))
        members.append(found)
    lengths = np.array([found.size for found in members], np.int64)
    return assemble(np.concatenate(members), lengths, log_odds, n_proposed=seen, bounds=(0.0, 0.0))
