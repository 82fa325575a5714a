"""What a likelihood is: the law of data given rows z, and of its own parameters.

Data are a matrix X (rows, dims), some of it perhaps missing; parameters are the features A
(features, dims), an optional background that every row has, and scales. A likelihood can simulate
both, weigh them, and draw its parameters given data and rows. How rows are drawn given parameters
is the business of `ribp.mcmc`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kernels.missing import sum_observed

BoolArray = NDArray[np.bool_]
Rows = NDArray[np.int8]
ALL_SEEN = np.ones((0, 0), dtype=np.bool_)
"""The mask of data of which nothing is missing."""
ALL_ALIKE = np.ones(0)
"""The exposures of rows that have none."""


class Data(NamedTuple):
    """A data matrix and which of its entries were observed."""

    values: FloatArray
    """Shape (rows, dims); zero where missing."""
    observed: BoolArray
    """Shape (rows, dims), or (0, 0) when nothing is missing."""
    exposures: FloatArray = ALL_ALIKE
    """By what the rates of each row are multiplied, shape (rows,); (0,) if they have none."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.observed.size == 0

    @property
    def each_exposure(self) -> FloatArray:
        """The exposure of each row, one if rows have none."""
        return self.exposures if self.exposures.size else np.ones(len(self.values))

    @property
    def log_exposures(self) -> FloatArray:
        """Their logarithms, shape (rows,)."""
        return np.log(self.each_exposure)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def nbytes(self) -> int:
        """What it takes of memory."""
        return self.values.nbytes + self.observed.nbytes + self.exposures.nbytes

    def rows(self, at: Any) -> Data:
        """Return the data of some rows."""
        observed = self.observed if self.complete else self.observed[at]
        exposures = self.exposures[at] if self.exposures.size else self.exposures
        return Data(self.values[at], observed, exposures)


def complete(values: FloatArray) -> Data:
    """Return data of which nothing is missing."""
    return Data(values, ALL_SEEN)


def with_missing(values: FloatArray) -> Data:
    """Return data whose missing entries are NaN in `values`."""
    observed = ~np.isnan(values)
    if observed.all():
        return complete(values)
    return Data(np.where(observed, values, 0.0), observed)


def in_use(rows: Rows) -> BoolArray:
    """Return which features some row has."""
    return np.asarray(rows.any(axis=0))


def check_known(known: tuple[tuple[float, ...], ...], n_dims: int) -> None:
    """Raise an `InputError` unless known features have the columns of the data."""
    wrong = [row for row in known if len(row) != n_dims]
    if wrong:
        raise InputError(
            "fixed_components",
            f"must have the {n_dims} columns of X",
            f"{len(wrong[0])} columns",
            "Pass features of the same columns as the data.",
        )


def put_known(known: FloatArray, features: FloatArray) -> None:
    """Put known features first, in place."""
    if len(known):
        features[: len(known)] = known


class Parameters(Protocol):
    """What every likelihood's parameters have."""

    @property
    def features(self) -> FloatArray:
        """A, shape (features, dims)."""

    @property
    def background(self) -> FloatArray:
        """What every row has, shape (dims,); zero without a background."""


def exact_sums(terms: FloatArray, seen: BoolArray) -> FloatArray:
    """Return the sum of each row over observed entries, the same wherever the row stands."""
    sums = np.empty(len(terms))
    sum_observed(terms, seen, sums)
    return sums


def column_totals(values: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return number, at least one, and sum of what was seen of each column."""
    number = np.maximum(observed.sum(axis=0), 1.0)
    return number, np.where(observed, values, 0.0).sum(axis=0)


def shown(data: Data) -> BoolArray:
    """Return which entries were observed, shape (rows, dims), also if all were."""
    return np.ones(data.values.shape, np.bool_) if data.complete else data.observed
