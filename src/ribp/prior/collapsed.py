"""Rows of an Indian buffet, kept or not: exact, without weights.

IBP rows are generated one after another, with any concentration and discount. For the mixture J_n
is drawn first and rows are generated until one has J_n dishes; for the tilted law a row is kept
with probability f(|z|) / max f. Discarded rows stay in the counts: that is what makes the kept ones
exchangeable.
"""

from __future__ import annotations

from ribp.measures import BetaProcess
from ribp.prior.draw import Draw, assemble
from ribp.prior.rejection import acceptance
from ribp.prior.request import Request
from ribp.rng import kernel_seed


def sample(request: Request) -> Draw:
    """Draw rows by running the buffet."""
    from ribp.kernels.proposals import buffet_rows

    measure = request.measure
    assert isinstance(measure, BetaProcess)  # simulate has checked it
    totals = request.draw_totals(None) if request.kind == "mixture" else None
    which, accept = acceptance(request, totals, None)
    members, counts, proposed, dishes = buffet_rows(
        kernel_seed(request.rng),
        which,
        accept,
        measure.mass,
        measure.concentration,
        measure.discount,
        request.max_proposals,
    )
    if (counts < 0).any():
        raise request.out_of_proposals(int((counts >= 0).sum()))
    return assemble(
        members,
        counts,
        None,
        n_atoms=int(dishes),
        n_proposed=int(proposed),
        bounds=(0.0, 0.0),
    )
