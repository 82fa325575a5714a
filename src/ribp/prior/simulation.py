"""`simulate`: rows of the restricted Indian buffet process and its relatives, by any sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ribp import checks
from ribp.counts import as_row_counts
from ribp.entries import EntryKind, make_entries
from ribp.errors import InputError
from ribp.measures import (
    MEASURES,
    BetaProcess,
    Certified,
    Measure,
    SizeOrdered,
    Truncation,
    WeakLimit,
    as_measure,
)
from ribp.prior import collapsed, esscher, inclusion, lazy, rejection
from ribp.prior.draw import Draw
from ribp.prior.request import Request, realised

_METHODS: dict[str, Callable[[Request], Draw]] = {
    "inclusion": inclusion.sample,
    "esscher": esscher.sample,
    "rejection": rejection.sample,
    "collapsed": collapsed.sample,
    "lazy": lazy.sample,
}
_EXACT = ("collapsed", "lazy")


def simulate(
    rng: np.random.Generator | int,
    *,
    n_rows: int,
    counts: Any,
    measure: Measure | str,
    method: str = "inclusion",
    truncation: Truncation | None = None,
    kind: str = "mixture",
    entries: str = "bernoulli",
    restrict: str = "nonzeros",
    failures: float = 1.0,
    max_proposals: int = 10**7,
) -> Draw:
    """Draw rows from the prior.

    Parameters
    ----------
    rng
        A NumPy Generator, or an integer seed.
    n_rows
        Number of rows, at least one.
    counts
        How many features a row has: a count law or its text form, a `RowCounts` (laws by row or
        group), an (n_rows,) array of exact counts, or an (n_rows, 2) array of (least, largest).
    measure
        The law of the weights, such as ``ribp.BetaProcess(mass=5)``, or its text form,
        ``"beta-process(5)"``.
    method
        "inclusion" (the default: the count first, then features given the count, nothing is
        rejected), "esscher" (coins tilted to the count, with rejection), "rejection" (plain coins),
        or one of the exact ones that never truncate: "collapsed" (rows of a buffet) and "lazy"
        (weights drawn when first needed); these two need a `BetaProcess`.
    truncation
        How the measure becomes finite: `Certified` (default, tol=1e-12), `SizeOrdered` or
        `WeakLimit`. The exact methods take none.
    kind
        "mixture" (counts have the stated law) or "tilted" (rows of the unrestricted process kept
        with probability f; binary entries only).
    entries, restrict, failures
        Binary rows, or counts: "poisson" (with `GammaProcess`, `DirichletWeights` or
        `PitmanYorWeights`), "negative_binomial" (with `BetaProcess`; `failures` is r). What has the
        law `counts`: the number of "nonzeros", the "sum", or the sum with all values "ones".
    max_proposals
        Where a rejection sampler gives up, with an error.

    Returns
    -------
    Draw

    Examples
    --------
    >>> import ribp
    >>> draw = ribp.simulate(0, n_rows=100, counts="exactly(3)", measure=ribp.BetaProcess(mass=5))
    >>> set(draw.rows.sum(axis=1).tolist()), draw.tv_bound_row < 1e-12
    ({3}, True)
    """
    rng = checks.generator("rng", rng)
    n_rows = checks.integer("n_rows", n_rows, least=1)
    rows = as_row_counts(counts, n_rows)
    method = checks.one_of("method", method, _METHODS)
    kind = checks.one_of("kind", kind, ["mixture", "tilted"])
    own = make_entries(entries, restrict, failures)
    max_proposals = checks.integer("max_proposals", max_proposals, least=1, most=10**15)
    measure = as_measure(measure)
    _check_measure(measure, method, entries, own)
    _check_combination(method, truncation, kind, entries, own)
    request = Request(
        rng=rng,
        counts=realised(rng, rows, None if restrict == "sum" else _features_of(truncation)),
        measure=measure,
        truncation=Certified() if truncation is None else truncation,
        kind=kind,
        entries=own,
        restrict=restrict,
        max_proposals=max_proposals,
    )
    return _METHODS[method](request)


def _features_of(truncation: Truncation | None) -> int | None:
    return (
        None if truncation is None or isinstance(truncation, Certified) else truncation.n_features
    )


def _check_measure(measure: Measure, method: str, entries: str, own: EntryKind) -> None:
    if method in _EXACT and not isinstance(measure, BetaProcess):
        raise InputError(
            "measure",
            f"must be a BetaProcess for method={method!r}",
            measure,
            "Use method='inclusion' with this measure.",
        )
    if measure.atoms not in own.atoms:
        others = [name for name in MEASURES if MEASURES[name].atoms in own.atoms]
        raise InputError(
            "measure",
            f"must have weights that are {' or '.join(own.atoms)} for entries={entries!r}",
            measure,
            f"Use another: {', '.join(others)}.",
        )


def _check_combination(
    method: str, truncation: Truncation | None, kind: str, entries: str, own: EntryKind
) -> None:
    if truncation is not None:
        if not isinstance(truncation, (WeakLimit, SizeOrdered, Certified)):
            raise InputError(
                "truncation",
                "must be WeakLimit, SizeOrdered or Certified",
                truncation,
                "Pass ribp.Certified(1e-12), or leave it out.",
            )
        if method in _EXACT:
            raise InputError(
                "truncation",
                f"must be left out for method={method!r}, which truncates nothing",
                truncation,
                "Leave it out, or use method='inclusion'.",
            )
    if own.binary:
        return
    if method != "inclusion":
        raise InputError(
            "method", f"must be 'inclusion' for entries={entries!r}", method, "Leave it out."
        )
    if kind == "tilted":
        raise InputError(
            "kind",
            f"must be 'mixture' for entries={entries!r}",
            kind,
            "ribp.polynomials.RestrictedEntries has the tilted law for given weights.",
        )
