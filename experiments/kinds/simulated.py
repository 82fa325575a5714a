"""Tables of kinds whose features are known.

600 rows with one, two or three of 8 features, as many of each count, and 60 columns. Features have
A ~ N(0, 2^2) on every latent number eta, contrasts between unordered levels too. In the mixed table
it is N(0, 1.5^2), since numbers and counts say more of a row than levels do, and in the sparse one,
where 12% of each column are ones, N(0, 3^2): with 2 a chain that begins at the truth leaves it, F1
.955 to .976. Backgrounds are such that eta is zero on average.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ribp import kinds
from ribp.kinds import Kind

FEATURES, ONES = 8, 0.12
_LEVELS = ("a", "b", "c", "d")
_THRESHOLDS = (0.3, 0.3)  # logarithms of the steps between the thresholds of ordered levels
_OWN = {"real": (0.0,), "positive": (0.0,), "ordinal": _THRESHOLDS, "negbin": (1.0,)}


class Simulated(NamedTuple):
    """A table that was made."""

    values: Any
    """Numbers of levels, or numbers; shape (rows, columns)."""
    kinds: tuple[Kind, ...]
    rows: Any
    """Which features each row has."""


class Design(NamedTuple):
    """What a table is made of."""

    kinds: tuple[Kind, ...]
    """Columns have them in turns."""
    size: float = 2.0
    ones: float | None = None
    """The share of ones of each column, if it is given."""


DESIGNS = {
    "binary, balanced": Design((kinds.binary(),)),
    "binary, 12% ones": Design((kinds.binary(),), size=3.0, ones=ONES),
    "ordinal": Design((kinds.ordinal(_LEVELS),)),
    "categorical": Design((kinds.categorical(_LEVELS),)),
    "mixed": Design(
        (
            kinds.real(), kinds.positive(), kinds.binary(), kinds.ordinal(_LEVELS),
            kinds.categorical(_LEVELS), kinds.negbin(),
        ),
        size=1.5,
    ),
}  # fmt: skip


def simulated(name: str, seed: int, n_rows: int, n_columns: int) -> Simulated:
    """Return a table."""
    rng, design = np.random.default_rng(seed), DESIGNS[name]
    rows = np.array([rng.permutation(np.arange(FEATURES) < 1 + n % 3) for n in range(n_rows)])
    columns = tuple(design.kinds[d % len(design.kinds)] for d in range(n_columns))
    values = np.column_stack([_column(rng, kind, rows, design) for kind in columns])
    return Simulated(values, columns, rows.astype(np.int8))


def _column(rng: np.random.Generator, kind: Kind, rows: Any, design: Design) -> Any:
    """Return the entries of a column."""
    size = design.size * np.sqrt(kind.variance)
    eta = rows @ (size * rng.normal(size=(FEATURES, kind.width)))
    eta -= eta.mean(axis=0)
    if design.ones is not None:
        eta += brentq(lambda b: expit(eta + b).mean() - design.ones, -50.0, 50.0)
    if kind.name == "ordinal":
        eta += kind.thresholds(np.array(_THRESHOLDS)).mean()
    return kind.draw(rng, eta, np.array(_OWN.get(kind.name, ())))
