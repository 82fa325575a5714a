"""Kinds as plain JSON: a name, and what it needs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ribp import kinds
from ribp.errors import InputError
from ribp.kinds.kind import Kind


def to_json(kind: Kind) -> dict[str, Any]:
    """Return a kind as JSON can hold it."""
    stored: dict[str, Any] = {"name": kind.name}
    if kind.levels:
        stored["levels"] = list(kind.levels)
    if hasattr(kind, "trials"):
        stored["trials"] = kind.trials
    return stored


def from_json(stored: Any) -> Kind:
    """Return the kind that `to_json` has written, or raise an `InputError`."""
    known = stored if isinstance(stored, Mapping) else {}
    name, levels = known.get("name"), known.get("levels")
    makers = {"binary": kinds.binary, "ordinal": kinds.ordinal, "categorical": kinds.categorical}
    if (
        name in makers
        and isinstance(levels, list | tuple)
        and all(isinstance(one, str) for one in levels)
    ):
        return makers[name](levels)
    if name == "binomial":
        return kinds.binomial(known.get("trials"))  # type: ignore[arg-type]
    if name not in ("real", "positive", "log-poisson", "negbin"):
        raise InputError("kind", "must have a name and what belongs to it", stored, "Correct it.")
    return kinds.parse(name)
