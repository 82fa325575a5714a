"""Rows with the features integrated out (linear-Gaussian data): one sweep over all of them.

Missing entries are filled from the state's features first; from then on the features are forgotten
until `LinearGaussian.update` draws them again from what was observed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.kernels import sweep_collapsed as kernel
from ribp.kernels.missing import fill_missing
from ribp.kernels.sweep_gaussian import add_statistics
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.gaussian_settings import GaussianParameters
from ribp.likelihoods.linear_gaussian import LinearGaussian, as_gaussian
from ribp.model import Model, State


class CollapsedSums(NamedTuple):
    """What sweeps carry: S (features, features), M' (dims, features) and M M'."""

    cov: FloatArray
    mean: FloatArray
    gram: FloatArray


def gaussian(model: Model) -> LinearGaussian:
    """Return the model's likelihood; it is an error if its features cannot be integrated out."""
    return as_gaussian(model.likelihood, "a method that integrates features out")


def summarise(scaled: FloatArray, rows: Rows | FloatArray, deviations: FloatArray) -> CollapsedSums:
    """Return S, M' and M M' of complete data divided by its noise scales.

    Prior `deviations` of features are in units of the noise, shape (features,).
    """
    precision, products = np.diag(deviations**-2.0), np.zeros((rows.shape[1], scaled.shape[1]))
    add_statistics(scaled, np.asarray(rows, np.int8), precision, products)
    cov = np.linalg.inv(precision)
    cov = 0.5 * (cov + cov.T)
    mean = cov @ products
    return CollapsedSums(cov, np.ascontiguousarray(mean.T), mean @ mean.T)


def filled(
    rng: np.random.Generator,
    data: Data,
    rows: Rows,
    parameters: GaussianParameters,
) -> FloatArray:
    """Return a copy of the data, missing entries drawn given the features, divided by the noise."""
    features, background, noise, _ = parameters
    if data.complete:
        return np.asarray(data.values / noise)
    scaled = np.empty_like(data.values)
    normals = rng.standard_normal(scaled.size - np.count_nonzero(data.observed))
    fill_missing(*data[:2], rows, features, background, noise, normals, scaled)
    return scaled


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: State,
    model: Model,
    data: Data,
    tables: FloatArray | None = None,
) -> Rows:
    """Return new rows; `tables` are those of the model, for those who have them already."""
    likelihood = gaussian(model)
    scaled = filled(rng, data, state.rows, state.parameters)
    rows = likelihood.with_background(state.rows).copy()
    deviations = likelihood.deviations(rows.shape[1], state.parameters)
    summary = summarise(scaled, rows, deviations)
    kernel.sweep(
        seed,
        state.number,
        scaled,
        data.observed,
        rows,
        *summary,
        state.log_odds,
        model.tables(state) if tables is None else tables,
        model.counts.law_of_row,
    )
    return np.ascontiguousarray(rows[:, : model.n_features])
