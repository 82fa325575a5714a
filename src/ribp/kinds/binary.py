"""Yes or no: log p = x eta - sp(eta), the kind `ordinal` with two levels.

A feature adds A to the log-odds of yes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ribp.kinds.ordinal import Ordinal


@dataclass(frozen=True)
class Binary(Ordinal):
    """One of two levels, no and yes."""

    names: tuple[str, ...] = ("0", "1")

    name = "binary"
