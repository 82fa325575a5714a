"""Kinds of columns: what an entry is, and what a feature does to it. One file a kind.

>>> from ribp import kinds
>>> kinds.ordinal(["I", "II", "III"])
Ordinal(names=('I', 'II', 'III'))
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ribp.errors import InputError
from ribp.kinds.binary import Binary
from ribp.kinds.binomial import Binomial
from ribp.kinds.categorical import Categorical
from ribp.kinds.given_columns import level_text
from ribp.kinds.kind import Kind
from ribp.kinds.log_poisson import LogPoisson
from ribp.kinds.negbin import NegativeBinomial
from ribp.kinds.ordinal import Ordinal
from ribp.kinds.positive import Positive
from ribp.kinds.real import Real

__all__ = [
    "Kind",
    "binary",
    "binomial",
    "categorical",
    "log_poisson",
    "negbin",
    "ordinal",
    "parse",
    "positive",
    "real",
]

NAMES = (
    "real", "positive", "binary", "binomial", "ordinal", "categorical", "log-poisson", "negbin",
)  # fmt: skip
"""Of all kinds."""
_TEXT = re.compile(r"\s*([a-z-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def real() -> Real:
    """Return the kind of any number: a feature adds so many units of the column's noise."""
    return Real()


def positive() -> Positive:
    """Return the kind of positive numbers, such as concentrations: a feature multiplies them."""
    return Positive()


def binary(levels: Iterable[str] = ("0", "1")) -> Binary:
    """Return the kind of yes or no, no first: a feature adds to the log-odds of yes."""
    return Binary(_names(levels))


def binomial(trials: int) -> Binomial:
    """Return the kind of successes in so many trials: a feature adds to their log-odds."""
    return Binomial(trials)


def ordinal(levels: Iterable[str]) -> Ordinal:
    """Return the kind of levels in an order, the lowest first: a feature moves entries along it."""
    return Ordinal(_names(levels))


def categorical(levels: Iterable[str]) -> Categorical:
    """Return the kind of levels in no order: a feature makes some more likely than others."""
    return Categorical(_names(levels))


def log_poisson() -> LogPoisson:
    """Return the kind of counts: a feature multiplies its rate."""
    return LogPoisson()


def negbin() -> NegativeBinomial:
    """Return the kind of counts that vary more than Poisson ones: a feature multiplies the mean."""
    return NegativeBinomial()


def parse(text: str) -> Kind:
    """Return the kind that `str` gives: "real", "binomial(10)", "ordinal(I, II, III)".

    >>> str(parse("ordinal(low, high)"))
    'ordinal(low, high)'
    """
    found = _TEXT.fullmatch(text)
    name, inside = (found[1], found[2]) if found else ("", None)
    levels = [one.strip() for one in inside.split(",")] if inside else []
    plain = {
        "real": real, "positive": positive, "log-poisson": log_poisson, "negbin": negbin,
    }  # fmt: skip
    if name in plain and inside is None:
        return plain[name]()
    if name == "binary":
        return binary(levels) if levels else binary()
    if name == "binomial" and len(levels) == 1 and levels[0].isdecimal():
        return binomial(int(levels[0]))
    if name in ("ordinal", "categorical") and levels:
        return ordinal(levels) if name == "ordinal" else categorical(levels)
    raise InputError(
        "kind",
        f"must be one of {', '.join(NAMES)}, with levels or trials in parentheses where needed",
        text,
        'Write for example "real", "binomial(10)" or "ordinal(I, II, III)".',
    )


def _names(levels: Iterable[str]) -> tuple[str, ...]:
    if not isinstance(levels, Iterable):
        raise InputError(
            "levels", "must be names of levels", repr(levels), 'Write for example ["low", "high"].'
        )
    return (levels,) if isinstance(levels, str) else tuple(map(level_text, levels))
