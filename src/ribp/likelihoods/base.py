"""What a likelihood is: the law of data given rows z, and of its own parameters.

Data are a matrix X (rows, dims), some of it perhaps missing; parameters are the features A
(features, dims), an optional background that every row has, and scales. A likelihood can simulate
both, weigh them, and draw its parameters given data and rows. How rows are drawn given parameters
is the business of `ribp.mcmc`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.errors import InputError
from ribp.likelihoods.rows_kept import RowPrior, Work

__all__ = [
    "ALL_SEEN",
    "BoolArray",
    "Data",
    "Likelihood",
    "Parameters",
    "RowLaws",
    "Rows",
    "Unitless",
    "check_known",
    "complete",
    "in_use",
    "put_known",
    "with_missing",
]

BoolArray = NDArray[np.bool_]
Rows = NDArray[np.int8]
ALL_SEEN = np.ones((0, 0), dtype=np.bool_)
"""The mask of data of which nothing is missing."""


class Data(NamedTuple):
    """A data matrix and which of its entries were observed."""

    values: FloatArray
    """Shape (rows, dims); zero where missing."""
    observed: BoolArray
    """Shape (rows, dims), or (0, 0) when nothing is missing."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.observed.size == 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dims."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def nbytes(self) -> int:
        """What it takes of memory."""
        return self.values.nbytes + self.observed.nbytes

    def rows(self, at: Any) -> Data:
        """Return the data of some rows."""
        return Data(self.values[at], self.observed if self.complete else self.observed[at])


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


class RowLaws(NamedTuple):
    """The prior of every row: p(z_n) = exp(tables[which[n], |z_n|] + theta . z_n)."""

    log_odds: FloatArray
    """theta, shape (features,)."""
    tables: FloatArray
    """log f(k) - log e_k of each law, shape (laws, features + 1)."""
    which: IntArray
    """The law of each row."""
    whole: BoolArray
    """Laws whose rows are also proposed as a whole, shape (laws,)."""


class Parameters(Protocol):
    """What every likelihood's parameters have."""

    @property
    def features(self) -> FloatArray:
        """A, shape (features, dims)."""

    @property
    def background(self) -> FloatArray:
        """What every row has, shape (dims,); zero without a background."""


P = TypeVar("P", bound=Parameters)


class Unitless:
    """For likelihoods whose data have no units, such as counts: everything is as it is."""

    known: tuple[tuple[float, ...], ...]
    log_volume = 0.0

    @property
    def known_features(self) -> FloatArray:
        """The features that are known, shape (known features, dims)."""
        return np.array(self.known)

    def standard(self, data: Data) -> Data:
        """Return the data themselves."""
        return data

    def standard_on_demand(self, data: Data) -> Data:
        """Return the data themselves."""
        return data

    def reported(self, parameters: Any) -> Any:
        """Return the parameters themselves."""
        return parameters

    def standardised(self, parameters: Any) -> Any:
        """Return the parameters themselves."""
        return parameters

    def row_log_volume(self, data: Data) -> FloatArray:
        """Return zero for each row."""
        return np.zeros(len(data.values))


class Likelihood(Protocol[P]):
    """The law of data given rows, with parameters P."""

    @property
    def background(self) -> bool:
        """Whether there is a feature that every row has and no count law counts."""

    @property
    def known(self) -> tuple[tuple[float, ...], ...]:
        """The first features, if they are known, in the units of the user."""

    @property
    def known_features(self) -> FloatArray:
        """The same in standard units, shape (known features, dims)."""

    @property
    def log_volume(self) -> float:
        """What log densities of data in standard units lose in the units of the user."""

    def standard(self, data: Data) -> Data:
        """Return data in standard units, in which all other methods want them."""

    def standard_on_demand(self, data: Data) -> Any:
        """Return data that are brought to standard units when some rows are taken."""

    def reported(self, parameters: P) -> P:
        """Return parameters in the units of the user."""

    def standardised(self, parameters: P) -> P:
        """Return parameters, given in the units of the user, in standard units."""

    def row_log_volume(self, data: Data) -> FloatArray:
        """Return what log densities of rows lose in the units of the user, shape (rows,)."""

    @property
    def parameters_type(self) -> type:
        """The NamedTuple of its parameters."""

    @property
    def empty_rows_are_zero(self) -> bool:
        """Whether a row without features and background can only be zero."""

    def check(self, n_dims: int, not_a_count: tuple[int, int, float] | None) -> None:
        """Raise an `InputError` if no parameters could give data with so many columns.

        `not_a_count`: row, column and value of an entry that is no count, if there is one.
        """

    def first_guess(self, data: Data, n_features: int) -> P:
        """Return parameters of the size of the data, to start from."""

    def linearised(self, data: Data) -> tuple[Any, Data]:
        """Return a `LinearGaussian` and data for which a search for rows may stand in for ours."""

    def draw_prior(self, rng: np.random.Generator, n_features: int, dims: int) -> P:
        """Draw parameters from their prior."""

    def draw_data(self, rng: np.random.Generator, rows: Rows, parameters: P) -> FloatArray:
        """Draw complete data given rows and parameters."""

    def row_work(self, seed: np.uint64, number: int, parameters: P, prior: RowPrior) -> Work[Any]:
        """Return what a sweep does to a block of rows."""

    def sums(self, rng: np.random.Generator, data: Data, rows: Rows, parameters: P) -> Any:
        """Return what `draw` and `log_weight` need of data and rows; part of it may be drawn."""

    def swept_sums(self, swept: Any, used: BoolArray) -> Any:
        """Return the same from what a sweep has added up, and which features are in use."""

    def draw(self, rng: np.random.Generator, parameters: P, sums: Any) -> P:
        """Draw new parameters given the sums over data and rows."""

    def log_weight(self, parameters: P, sums: Any) -> float:
        """Return log p(X, parameters | Z), but for what `log_terms` adds."""

    def log_terms(self, data: Data, rows: Rows, parameters: P) -> float:
        """Return the part of log p(X, parameters | Z) that no sums can tell, for a block of rows.

        Zero for all rows where `summable`.
        """

    @property
    def summable(self) -> bool:
        """Whether sums that were made before parameters were drawn tell all of the log joint."""

    def update(self, rng: np.random.Generator, data: Data, rows: Rows, parameters: P) -> P:
        """Draw new parameters given data and rows."""

    def log_joint(self, data: Data, rows: Rows, parameters: P) -> float:
        """Return log p(X, parameters | Z), features integrated out where that is possible."""
