"""The columns of a table of kinds: what each begins with, and where its latent columns are.

Columns of numbers are in standard units, as everywhere (`ribp.likelihoods.units`): a real number
less its mean over its spread; of a positive one the logarithm is, so that in standard units it is
exp((log x - mean)/spread). With noise s and latent eta in standard units, a column has in units of
the user the noise s' = s spread and the latent eta' = eta + mean/s', and the same law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.kernels.kind_terms import LEVELS, Columns
from ribp.kinds.kind import ColumnLook, Kind, latent_names
from ribp.kinds.positive import Positive
from ribp.kinds.stored import from_json, to_json
from ribp.likelihoods.data import BoolArray, Data
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.units import Units


@dataclass(frozen=True)
class Column:
    """A column of the data.

    Parameters
    ----------
    kind
    centre, own
        Prior means of the background, one a latent column, and of what it has of its own.
    mean, spread
        Its units, if it has any.
    number
        How many entries were seen.
    """

    kind: Kind
    centre: tuple[float, ...]
    own: tuple[float, ...] = ()
    mean: float = 0.0
    spread: float = 1.0
    number: int = 0

    @classmethod
    def of(cls, kind: Kind, look: ColumnLook) -> Column:
        """Return a column after a first look."""
        centre, own = kind.begin(look)
        if not kind.has_units:
            return cls(kind, centre, own, number=int(look.number))
        moments = Moments(*(np.array([value]) for value in look[:3]))
        spread = Units.of(moments).spread[0]
        return cls(kind, centre, own, look.mean, spread, int(look.number))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        fields = {"centre": list(self.centre), "own": list(self.own), "mean": self.mean}
        return {
            "kind": to_json(self.kind), **fields, "spread": self.spread, "number": self.number,
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Any) -> Column:
        """Return what `to_json` has written, or raise an `InputError`."""
        try:
            kind = from_json(stored["kind"])
            centre, own = (tuple(map(float, stored[name])) for name in ("centre", "own"))
            mean, spread = float(stored["mean"]), float(stored["spread"])
            made = cls(kind, centre, own, mean, spread, int(stored["number"]))
        except (KeyError, TypeError, ValueError):
            raise _wrong(stored) from None
        finite = np.isfinite([*centre, *own, mean, spread]).all()
        if not finite or len(centre) != kind.width or len(own) != kind.n_own or spread <= 0.0:
            raise _wrong(stored)
        return made

    def standard(self, values: FloatArray) -> FloatArray:
        """Return values in standard units."""
        scaled = (self.kind.looked_at(values) - self.mean) / self.spread
        return np.exp(scaled) if isinstance(self.kind, Positive) else scaled

    @property
    def log_volume(self) -> float:
        """What the log density of all that was seen loses in the units of the user."""
        if not self.kind.has_units:
            return 0.0
        logarithms = self.mean if isinstance(self.kind, Positive) else 0.0
        return self.number * (math.log(self.spread) + logarithms)

    def log_volumes(self, values: FloatArray) -> FloatArray:
        """Return the same of each value, given in the units of the user."""
        logarithms = self.kind.looked_at(values) if isinstance(self.kind, Positive) else 0.0
        standard = (
            (logarithms - self.mean) / self.spread if isinstance(self.kind, Positive) else 0.0
        )
        return np.asarray(np.log(self.spread) + logarithms - standard + np.zeros(values.shape))


def _wrong(stored: Any) -> InputError:
    return InputError("columns", "must have a kind and what belongs to it", stored, "Correct them.")


class Places:
    """Where columns have their latent columns and what they have of their own."""

    def __init__(self, columns: Sequence[Column]) -> None:
        kinds = [column.kind for column in columns]
        self.kinds = kinds
        self.width = np.array([kind.width for kind in kinds], np.int64)
        self.at = np.cumsum(self.width) - self.width
        self.n_latent = int(self.width.sum())
        self.column = np.repeat(np.arange(len(kinds)), self.width)
        """Of each latent column."""
        self.variance = np.array([kind.variance for kind in kinds])[self.column]
        self.exposed = np.array([kind.has_rate for kind in kinds], np.bool_)[self.column]
        """Which latent columns the exposures of rows act on."""
        n_own = np.array([kind.n_own for kind in kinds], np.int64)
        self.own_at, self.n_own = np.cumsum(n_own) - n_own, n_own
        self.centre = np.array([one for column in columns for one in column.centre])
        self.start = np.array([one for column in columns for one in column.own])
        self._form = np.array([kind.form for kind in kinds], np.int64)
        self.order: IntArray = np.argsort(self._form, kind="stable")
        """Columns of one form beside one another, as kernels want them."""
        self.levels = np.flatnonzero(self._form == LEVELS)
        """Columns with unordered levels."""
        self._positive = [d for d, kind in enumerate(kinds) if isinstance(kind, Positive)]
        self._fixed = self._first_columns()

    def latent_names(self, names: Sequence[Any]) -> list[str]:
        """Return names of latent columns."""
        return latent_names(self.kinds, names)

    def own_names(self, names: Sequence[Any]) -> list[str]:
        """Return names of what columns have of their own."""
        return [
            f"{name}: {one}"
            for kind, name in zip(self.kinds, names, strict=True)
            for one in kind.own_names
        ]

    def latent(self, d: int) -> slice:
        """Return the latent columns of a column."""
        return slice(int(self.at[d]), int(self.at[d] + self.width[d]))

    def own(self, d: int) -> slice:
        """Return what a column has of its own."""
        return slice(int(self.own_at[d]), int(self.own_at[d] + self.n_own[d]))

    def _first_columns(self) -> Columns:
        """Return the columns as kernels want them, at prior means of what they have."""
        levels = [max(len(kind.levels), 1) for kind in self.kinds]
        lines = [kind.thresholds(self.start[self.own(d)]) for d, kind in enumerate(self.kinds)]
        sizes = np.array([line.size for line in lines], np.int64)
        numbers = [kind.numbers(self.start[self.own(d)]) for d, kind in enumerate(self.kinds)]
        order = self.order
        return Columns(
            order, self._form[order], self.at[order], np.array(levels, np.int64)[order],
            (np.cumsum(sizes) - sizes)[order], _with_odds(np.concatenate([*lines, np.zeros(1)])),
            _with_factor(np.array(numbers)[order]),
        )  # fmt: skip

    def columns(self, own: FloatArray) -> Columns:
        """Return the columns as kernels want them."""
        thresholds, numbers = self._fixed.thresholds.copy(), self._fixed.numbers.copy()
        for c in np.flatnonzero(self.n_own[self.order] > 0).tolist():
            d = int(self.order[c])
            line = self.kinds[d].thresholds(own[self.own(d)])
            begin = int(self._fixed.begin[c])
            thresholds[:, begin : begin + line.size] = _with_odds(line)
            numbers[c] = _with_factor(self.kinds[d].numbers(own[self.own(d)]))
        return self._fixed._replace(thresholds=thresholds, numbers=numbers)

    def numbers(self, values: FloatArray) -> FloatArray:
        """Return values as kernels want them: positive ones as logarithms."""
        if not self._positive:
            return values
        values = values.copy()
        for d in self._positive:
            values[:, d] = self.kinds[d].looked_at(values[:, d])
        return values

    def observed(self, data: Data) -> BoolArray:
        """Return which latent columns were seen, shape (rows, latent); as `data.observed` does."""
        return data.observed if data.complete else data.observed[:, self.column]


def _with_odds(thresholds: FloatArray) -> FloatArray:
    """Return t, and exp -t below it."""
    return np.stack([thresholds, np.exp(-thresholds)])


def _with_factor(numbers: Any) -> FloatArray:
    """Return BASE, PER_COUNT and SHIFT, and exp -SHIFT."""
    given = np.asarray(numbers, dtype=float)
    return np.concatenate([given, np.exp(-given[..., -1:])], axis=-1)


def some_columns(columns: Columns, at: IntArray) -> Columns:
    """Return some of the columns; thresholds are those of all."""
    return Columns(
        columns.place[at], columns.form[at], columns.at[at], columns.width[at], columns.begin[at],
        columns.thresholds, columns.numbers[at],
    )  # fmt: skip
