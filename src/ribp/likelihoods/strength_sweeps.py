"""Rows whose entries have a strength, given the features: swept, and with z summed out.

What `ribp.likelihoods.row_sweeps` is for binary rows. A row has y = z s, zero where z is; sums over
rows are those of y, and for each feature how many rows have it, sum s and sum s^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ribp.checks import FloatArray, IntArray
from ribp.kernels import sweep_positive, sweep_strengths
from ribp.kernels.enumerate_strengths import score_rows
from ribp.likelihoods import any_rows
from ribp.likelihoods.data import Data
from ribp.likelihoods.row_sweeps import (
    Laws,
    Linear,
    Mask,
    RowPrior,
    Rows,
    Work,
    gaussian_sums,
)


class StrengthSums(NamedTuple):
    """What features, scales and strengths need to know of data and rows."""

    pairs: FloatArray
    """Y'Y, shape (features, features)."""
    gaps: FloatArray
    """Y'Y of the rows that do not show a column, for each; without columns if data are complete."""
    products: FloatArray
    """Y'X, shape (features, dims), if missing entries are zero."""
    squares: FloatArray
    """Sum of x^2 for each column."""
    number: FloatArray
    """How many rows show each column."""
    strengths: FloatArray
    """Of each feature how many rows have it, sum s and sum s^2, shape (3, features)."""


def strength_sums(rows: Any) -> FloatArray:
    """Return how many rows have each feature, sum s and sum s^2, shape (3, features)."""
    return np.array([np.count_nonzero(rows, axis=0), rows.sum(axis=0), (rows**2).sum(axis=0)])


def strength_work(
    seed: np.uint64,
    number: int,
    parameters: Any,
    prior: RowPrior,
    mean_strength: float,
    *,
    background: bool = False,
    positive: bool = False,
) -> Work[StrengthSums]:
    """Return what a sweep does to a block of rows.

    Parameters
    ----------
    seed, number
        The key of all random numbers, with the number of the row.
    parameters
        Features and scales, `StrengthParameters`.
    prior
        Of rows.
    mean_strength
        mu.
    background
        Whether sums have a last feature that every row has.
    positive
        Whether strengths must be positive.
    """
    laws = Laws.of(prior, True, True)
    linear = Linear.of(parameters.features, parameters.noise_scale**2, laws)
    usual, precision = laws.moments
    sweep = sweep_positive.sweep if positive else sweep_strengths.sweep

    def work(first: int, data: Data, law_of_row: IntArray, rows: Rows) -> StrengthSums:
        values, observed, _ = data
        products = linear.products(values, observed, parameters.background)
        rows *= parameters.factors
        sweep(
            seed, number, first, products, observed, rows, linear.loadings, linear.gram,
            linear.diagonal, *laws[:3], law_of_row, laws.moves, linear.guide,
            usual * mean_strength, precision, mean_strength, float(parameters.strength_scale),
        )  # fmt: skip
        return StrengthSums(*gaussian_sums(values, observed, rows, background), strength_sums(rows))

    return work


def anneal_strengths(
    seeds: NDArray[np.uint64],
    n_particles: int,
    n_steps: int,
    values: FloatArray,
    observed: Mask,
    *given: Any,
) -> None:
    """Sum z out of rows by annealing, strengths integrated out.

    `given` are what `enumerate_strengths.strengths` takes from the loadings to the table, then log
    p(x), its error, P(z_i = 1 | x), a draw of z, and E[z_i s_i | x], all to be filled.
    """
    features, (theta, table), out = given[:6], given[6:8], given[8:]
    for n in range(len(values)):
        one = slice(n, n + 1)

        def scores(
            x: FloatArray, seen: Mask, z: Rows, seed: np.uint64 = seeds[n]
        ) -> tuple[FloatArray, FloatArray]:
            log_density, means = np.empty(len(z)), np.empty(z.shape)
            keys = np.full(len(z), seed)
            score_rows(
                keys, np.ascontiguousarray(x), np.ascontiguousarray(seen), z, *features,
                log_density, means,
            )  # fmt: skip
            return log_density, means

        any_rows.anneal(
            seeds[one], n_particles, n_steps, values[one], observed[one],
            lambda *row: scores(*row)[0], theta, table, out[0][one], out[1][one], out[2][one],
            out[3][one], lambda *row: scores(*row)[1], out[4][one],
        )  # fmt: skip
