"""The toy sets of the paper: rows of features known to the last entry, in Gaussian noise.

Both have data = rows @ components + noise with 36 dims, A_id ~ N(0, 1) for the components and
N(0, 0.5^2) for the noise. They differ in the law of the rows Z and in what is known of the counts:

- `toy_missing_one`: nearly every row has all features but one, so that a sampler without counts
  explains the data by a few busy features; f_n is uniform on k_n - 1, k_n, k_n + 1.
- `toy_one_inflated`: restricted Indian buffet rows with f = 0.8 exactly(1) + 0.2 poisson(rate) and
  mass equal to the mean of f. The component of f that a row came from is drawn first and the row
  given its component, which leaves the law of the rows as it is, and lets a model know the
  component (exchangeable within groups) or not (exchangeable).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import (
    RowCounts,
    as_row_counts,
    by_group,
    by_row,
    exactly,
    mixture,
    poisson,
    window,
)
from ribp.measures import BetaProcess
from ribp.prior.simulation import simulate

_DIMS = 36
_NOISE_SCALE = 0.5
_FEATURES = 15
_ROWS_MISSING_ONE = 400
_ROWS_WITH_ONE = 100
_POISSON_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Toy:
    """Data, the truth behind them, and what is known of the counts.

    Attributes
    ----------
    data
        What is observed, X, shape (rows, dims): ``rows @ components`` plus noise.
    rows
        The features of each row, Z, 0 or 1, shape (rows, features).
    components
        What each feature adds to a row, A, shape (features, dims).
    noise_scale
        Standard deviation of the noise.
    counts
        The law of the number of features of each row.
    """

    data: FloatArray
    rows: NDArray[np.int8]
    components: FloatArray
    noise_scale: float
    counts: RowCounts

    def __repr__(self) -> str:
        (n, features), dims = self.rows.shape, self.data.shape[1]
        return f"<{type(self).__name__}: {n} rows of {features} features, {dims} dims>"


@dataclass(frozen=True, eq=False, repr=False)
class OneInflatedToy(Toy):
    """A `Toy` that also knows which component of its count law each row came from.

    Attributes
    ----------
    counts
        The same mixture, 0.8*exactly(1) + 0.2*poisson(rate), for every row.
    groups
        The component of each row, "one" or "poisson", shape (rows,).
    group_counts
        The law of each row given its group: exactly(1) or poisson(rate).
    mass
        The mass of the beta process that the rows were drawn from: the mean of the mixture.
    """

    groups: NDArray[np.str_]
    group_counts: RowCounts
    mass: float


def toy_missing_one(rng: np.random.Generator | int) -> Toy:
    """Return 400 rows that miss one of 15 features, then 100 rows that have one.

    The feature is drawn uniformly for each row. `counts` is ``window(k_n, 1)``: a row with
    14 features is known to have 13 to 15, a row with one to have 0 to 2.

    Parameters
    ----------
    rng
        A NumPy Generator, or an integer seed.

    Examples
    --------
    >>> from ribp.datasets import toy_missing_one
    >>> toy = toy_missing_one(0)
    >>> toy
    <Toy: 500 rows of 15 features, 36 dims>
    >>> toy.counts
    <RowCounts of 500 rows: 400 x uniform(13, 15), 100 x uniform(0, 2)>
    """
    rng = checks.generator("rng", rng)
    n = _ROWS_MISSING_ONE + _ROWS_WITH_ONE
    odd_one = np.arange(_FEATURES) == rng.integers(_FEATURES, size=n)[:, None]
    rows = (odd_one ^ (np.arange(n) < _ROWS_MISSING_ONE)[:, None]).astype(np.int8)
    components, data = _observe(rng, rows)
    return Toy(
        data=data,
        rows=rows,
        components=components,
        noise_scale=_NOISE_SCALE,
        counts=by_row(window(k, 1) for k in rows.sum(axis=1).tolist()),
    )


def toy_one_inflated(
    rng: np.random.Generator | int, rate: float, n_rows: int = 500
) -> OneInflatedToy:
    """Return restricted Indian buffet rows that have one feature, or a Poisson number of them.

    Parameters
    ----------
    rng
        A NumPy Generator, or an integer seed.
    rate
        Mean of the Poisson component.
    n_rows
        Number of rows.

    Notes
    -----
    The features are those that some row has; their number is random. The rows are drawn with
    `ribp.simulate`, by its default method.

    Examples
    --------
    >>> from ribp.datasets import toy_one_inflated
    >>> toy = toy_one_inflated(0, 5.0)
    >>> toy.counts
    <RowCounts of 500 rows: 500 x 0.8*exactly(1) + 0.2*poisson(5)>
    >>> set(toy.rows[toy.groups == "one"].sum(axis=1).tolist())
    {1}
    """
    rng = checks.generator("rng", rng)
    rate = checks.positive("rate", rate)
    n_rows = checks.integer("n_rows", n_rows, least=1)
    laws = {"one": exactly(1), "poisson": poisson(rate)}
    law = mixture([(1 - _POISSON_SHARE, laws["one"]), (_POISSON_SHARE, laws["poisson"])])
    groups = np.where(rng.random(n_rows) < _POISSON_SHARE, "poisson", "one")
    group_counts = by_group(laws, groups.tolist())
    draw = simulate(rng, n_rows=n_rows, counts=group_counts, measure=BetaProcess(mass=law.mean))
    rows = draw.rows.toarray().astype(np.int8)
    components, data = _observe(rng, rows)
    return OneInflatedToy(
        data=data,
        rows=rows,
        components=components,
        noise_scale=_NOISE_SCALE,
        counts=as_row_counts(law, n_rows),
        groups=groups,
        group_counts=group_counts,
        mass=law.mean,
    )


def _observe(rng: np.random.Generator, rows: NDArray[np.int8]) -> tuple[FloatArray, FloatArray]:
    """Draw the components, and data given the rows and them."""
    components = rng.standard_normal((rows.shape[1], _DIMS))
    noise = _NOISE_SCALE * rng.standard_normal((len(rows), _DIMS))
    return components, rows @ components + noise
