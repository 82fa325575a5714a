"""Weights for finitely many features, by the chosen truncation, with the bound it achieves."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError, TruncationWarning
from ribp.measures import AtomStream, Certified, SizeOrdered, WeakLimit
from ribp.prior.certificate import tv_bounds
from ribp.prior.request import Request


class Weights(NamedTuple):
    """The atoms kept, as the measure carries them, and the two bounds (None: there are none)."""

    log_odds: FloatArray
    bounds: tuple[float, float] | None


def draw_weights(request: Request, totals: IntArray | None) -> Weights:
    """Draw the weights; `totals` are the J_n of the mixture, drawn before, or None if tilted."""
    rule = request.truncation
    if isinstance(rule, WeakLimit):
        return Weights(request.measure.weak_limit(request.rng, rule.n_features), None)
    stream = request.measure.atom_stream(request.rng)
    if isinstance(rule, SizeOrdered):
        atoms = stream.extend(rule.n_features)
        if not request.entries.has_bound(request.restrict):
            return Weights(atoms, None)
    else:
        atoms = _certified(request, rule, stream, totals)
    log_tail = stream.log_upper_tail_odds(request.entries.odds(request.restrict))
    return Weights(atoms, tv_bounds(request, atoms, log_tail, totals))


def _certified(
    request: Request, rule: Certified, stream: AtomStream, totals: IntArray | None
) -> FloatArray:
    """Extend the head until the bound for the largest J is below tol."""
    if not request.entries.has_bound(request.restrict):
        raise InputError(
            "truncation",
            f"cannot be Certified for such entries with restrict={request.restrict!r}",
            request.entries,
            "Use SizeOrdered(n_features), which reports no bound here.",
        )
    if totals is None:
        top = max(law.smallest for law in request.counts.laws)
        worst = None
    else:
        top = int(totals.max())
        worst = np.array([top])
    if top > rule.max_atoms and request.restrict != "sum":
        raise InputError(
            "truncation",
            f"must allow the {top} features that a row was asked to have",
            f"max_atoms={rule.max_atoms}",
            "Raise max_atoms.",
        )
    atoms = stream.extend(min(top + 8, rule.max_atoms))
    odds = request.entries.odds(request.restrict)
    before = (0, 0.0)  # atoms and log-bound at the last look
    while True:
        log_tail = stream.log_upper_tail_odds(odds)
        bound = tv_bounds(request, atoms, log_tail, worst)[0]
        if bound <= rule.tol:
            return atoms
        if atoms.size >= rule.max_atoms:
            warnings.warn(_stopped(rule, bound), stacklevel=6)
            return atoms
        more = _guess(before, (atoms.size, math.log(bound)), math.log(rule.tol))
        before = (atoms.size, math.log(bound))
        more = min(more, rule.max_atoms - atoms.size)
        atoms = np.concatenate([atoms, stream.extend(more)])


def _guess(before: tuple[int, float], now: tuple[int, float], goal: float) -> int:
    """Return how many atoms to add, if the log-bound goes on falling as it did, with some care."""
    fallen = before[1] - now[1]
    if before[0] == 0:
        return 8
    if fallen <= 0.0:
        return now[0]
    wanted = (now[1] - goal) / fallen * (now[0] - before[0])
    return max(4, now[0] // 20, min(now[0] // 3, int(0.8 * wanted)))


def _stopped(rule: Certified, bound: float) -> TruncationWarning:
    return TruncationWarning(
        f"stopped at max_atoms={rule.max_atoms} with a row bound of {bound:.2g}, above "
        f"tol={rule.tol:g}: the weights have a heavy tail. Raise max_atoms, accept this bound, or "
        "use method='collapsed' or 'lazy', which are exact.",
        bound,
    )
