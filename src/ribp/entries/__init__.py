"""What an entry of a row is: binary, or a count of some kind; one file each, chosen by name.

See `ribp.entries.entry_kind` for what a kind must offer.
"""

from typing import Any

from ribp import checks
from ribp.entries.bernoulli_kind import BernoulliEntries
from ribp.entries.entry_kind import RESTRICTIONS, EntryKind, SparseRows
from ribp.entries.entry_law import BINARY, EntryLaw
from ribp.entries.negative_binomial_kind import (
    NegativeBinomialEntries,
    negative_binomial_nonzero,
    negative_binomial_one,
)
from ribp.entries.poisson_kind import PoissonEntries, poisson_nonzero
from ribp.errors import InputError
from ribp.plugins import Registry

__all__ = [
    "BINARY",
    "ENTRY_KINDS",
    "RESTRICTIONS",
    "EntryKind",
    "EntryLaw",
    "SparseRows",
    "make_entries",
    "negative_binomial_nonzero",
    "negative_binomial_one",
    "poisson_nonzero",
    "register",
]

ENTRY_KINDS: Registry[type[EntryKind]] = Registry(
    "entries",
    "ribp.entries",
    EntryKind,
    {
        "bernoulli": BernoulliEntries,
        "poisson": PoissonEntries,
        "negative_binomial": NegativeBinomialEntries,
    },
)
register = ENTRY_KINDS.register


def make_entries(entries: Any, restrict: Any, failures: Any) -> EntryKind:
    """Return the kind of entries of a name, or raise an `InputError` if it is not to be had."""
    kind = ENTRY_KINDS[entries]
    if checks.one_of("restrict", restrict, RESTRICTIONS) not in kind.restrictions:
        rule = f"must be {' or '.join(map(repr, kind.restrictions))} for entries={entries!r}"
        raise InputError("restrict", rule, restrict, "Leave it out.")
    return kind(checks.positive("failures", failures))
