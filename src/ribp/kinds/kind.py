"""What a kind of column is: the law of an entry given its latent number eta. One file each.

Features act on latent columns, eta = b + sum_i z_i A_i: one for each column of the data, R of them
for a column with R unordered levels. A kind says how likely a value is given eta and what the
column has of its own (a scale, thresholds, a shape), and how steep and how bent the logarithm of
that is. All kinds are log-concave in every eta. What a column has of its own is a few numbers with
the prior

    own ~ N(start, 1/2^2),       start from a first look at the column,

and the background of a latent column has the prior mean `centre`: the link of the column's mean.

Columns of numbers have units: law and data may be in standard units or in those of the user, see
`ribp.likelihoods.columns_of_kinds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from ribp.checks import FloatArray


class ColumnLook(NamedTuple):
    """What a first look at a column finds, of entries that were observed."""

    number: float
    """How many there are."""
    mean: float
    """Of what `Kind.looked_at` makes of them."""
    variance: float
    frequencies: FloatArray
    """How many have each level, shape (levels,); empty for numbers."""


class Beginning(NamedTuple):
    """What the prior of a column takes from a first look."""

    centre: tuple[float, ...]
    """The prior mean of the background, for each latent column."""
    own: tuple[float, ...] = ()
    """The prior mean of what the column has of its own."""


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of column. Arrays of values have shape (n,), those of eta (n, width)."""

    name: ClassVar[str]
    rule: ClassVar[str]
    """What its entries must be, in words."""
    form: ClassVar[int]
    """Of its terms, see `ribp.kernels.kind_terms`."""
    variance: ClassVar[float] = 1.0
    """Of an entry of A, in units of the squared feature scale."""
    has_units: ClassVar[bool] = False
    """Whether its values have a unit that must not matter."""
    has_rate: ClassVar[bool] = False
    """Whether it counts events, of which a row with a larger exposure has more."""

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of its levels; none if it holds numbers."""
        return ()

    @property
    def width(self) -> int:
        """How many latent columns it has."""
        return 1

    @property
    def n_own(self) -> int:
        """How many numbers a column has of its own."""
        return len(self.own_names)

    @property
    def own_names(self) -> tuple[str, ...]:
        """What these numbers are."""
        return ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.levels)})" if self.levels else self.name

    # Data

    @abstractmethod
    def possible(self, values: FloatArray) -> np.ndarray:
        """Return which values can be."""

    def looked_at(self, values: FloatArray) -> FloatArray:
        """Return the numbers whose mean and spread a first look wants."""
        return values

    @abstractmethod
    def begin(self, look: ColumnLook) -> Beginning:
        """Return prior means of a column."""

    def linear(self, values: FloatArray) -> FloatArray:
        """Return numbers, one for each latent column, in which a linear model may find features."""
        return self.looked_at(values)[:, None]

    # For kernels

    def numbers(self, own: FloatArray) -> tuple[float, float, float]:
        """Return the numbers of a column, as `kind_terms` wants them."""
        return (0.0, 0.0, 0.0)

    def thresholds(self, own: FloatArray) -> FloatArray:
        """Return thresholds between levels, if they are in order."""
        return np.zeros(0)

    # The law of an entry

    @abstractmethod
    def log_density(self, values: FloatArray, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return log p(x | eta), shape (n,)."""

    @abstractmethod
    def slopes(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the first derivative and minus the second for each eta, shape (n, width)."""

    @abstractmethod
    def information(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the mean of minus the second derivative over values, shape (n, width)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Draw a value for each row of eta."""

    @abstractmethod
    def expected(self, eta: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of a value: with unordered levels those of its number."""

    def typical(self, eta: FloatArray, own: FloatArray) -> FloatArray:
        """Return the value that stands for all: the most probable level, a mean or a median."""
        return self.expected(eta, own)[0]

    @abstractmethod
    def tails(
        self, values: FloatArray, eta: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(X < x) and P(X > x)."""

    # A column by itself

    @abstractmethod
    def alone(self, look: ColumnLook, values: FloatArray) -> FloatArray:
        """Return what a model of the column alone says of values, after such a look."""

    def left_out(self, values: FloatArray) -> FloatArray:
        """Return the same of each value given the others; NaN if they do not tell."""
        found = np.full(values.size, np.nan)
        distinct, which = np.unique(values, return_inverse=True)
        for at, value in enumerate(distinct.tolist()):
            same = which == at
            look = self.look(np.delete(values, int(same.argmax())))
            found[same] = self.alone(look, np.array([value]))[0]
        return found

    def look(self, values: FloatArray) -> ColumnLook:
        """Return a look at values in memory."""
        numbers, found = self.looked_at(values), np.zeros(len(self.levels))
        if self.levels:
            found += np.bincount(values.astype(np.int64), minlength=found.size)
        if not values.size:
            return ColumnLook(0.0, 0.0, 0.0, found)
        return ColumnLook(float(values.size), float(numbers.mean()), float(numbers.var()), found)


PLAIN = (("0", "1"), ("False", "True"))
"""Levels of yes and no whose names say nothing."""


def latent_names(kinds: Sequence[Kind], names: Sequence[Any]) -> list[str]:
    """Return names of the latent columns of a table: "age", "site=lung", "sex=m"."""
    found = []
    for kind, name in zip(kinds, names, strict=True):
        levels = kind.levels if kind.width > 1 else ()
        if kind.name == "binary" and kind.levels not in PLAIN:
            levels = kind.levels[1:]
        found += [f"{name}={level}" for level in levels] or [str(name)]
    return found


def whole(values: FloatArray, most: float = 2.0**53) -> np.ndarray:
    """Return which values are whole numbers from 0 to `most`."""
    return np.asarray((values == np.floor(values)) & (values >= 0) & (values <= most))


def weighted_slopes(
    values: FloatArray, times: FloatArray | float, eta: FloatArray, shift: float
) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of x eta - m sp(eta - shift)."""
    p, q = expit(eta - shift), expit(shift - eta)
    m = np.reshape(np.broadcast_to(times, values.shape), (-1, 1))
    return values[:, None] - m * p, m * p * q
