"""An entry of linear-Gaussian data given its row: normal around what its features make.

    x_nd ~ N(M_nd, s_d^2),      M = b + Z A.

A model without features: the normal law with mean and standard deviation of the column; an entry
given the others of its column has Student's law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from ribp.checks import FloatArray, IntArray
from ribp.kernels import anneal_rows, enumerate_rows
from ribp.likelihoods import gaussian_redraw
from ribp.likelihoods.data import BoolArray, Data, Rows, column_totals, exact_sums, shown
from ribp.likelihoods.likelihood import Likelihood, RowKernels
from ribp.likelihoods.row_sweeps import RowPrior

_LEAST_SPREAD = 1e-3  # of a column, as a share of its root mean square
_LEAST_LEFT = 1e-9  # of the squares of a column, once an entry is left out


class GaussianEntryLaw(Likelihood[Any]):
    """The law of an entry of Gaussian data."""

    shared: bool

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        own = "one noise for all columns" if self.shared else "each column its own noise"
        return f"numbers, {own}"

    def stored_scales(self) -> Mapping[str, tuple[str, ...]]:
        """Return which scales a result stores, and their dimensions."""
        return {"feature_scale": (), "noise_scale": () if self.shared else ("dim",)}

    def recorded(self, parameters: Any) -> dict[str, Any]:
        """Return the scales of a draw; of shared noise one number."""
        noise = parameters.noise_scale
        return {
            "feature_scale": float(parameters.feature_scale),
            "noise_scale": float(noise[0]) if self.shared else np.array(noise),
        }

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        noise = np.broadcast_to(scales["noise_scale"], background.shape)
        return self.parameters_type(features, background, noise, float(scales["feature_scale"]))

    def on_columns(self, parameters: Any, columns: BoolArray) -> tuple[Likelihood[Any], Any]:
        """Return the likelihood and the parameters of some of the columns."""
        law, some = super().on_columns(parameters, columns)
        return law, some._replace(noise_scale=parameters.noise_scale[columns])

    def loadings(self, parameters: Any) -> FloatArray:
        """Return A/s."""
        return np.asarray(parameters.features / parameters.noise_scale)

    def variances(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return s^2."""
        return np.asarray(parameters.noise_scale**2)

    def log_density(self, values: FloatArray, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the log density of each entry."""
        v = parameters.noise_scale**2
        return np.asarray(-0.5 * (np.log(2.0 * math.pi * v) + (values - means) ** 2 / v))

    def working(self, data: Data, parameters: Any) -> tuple[Data, FloatArray]:
        """Return the data themselves, and s^2."""
        return data, np.asarray(parameters.noise_scale**2)

    def residuals(
        self, rng: np.random.Generator, values: FloatArray, means: FloatArray, parameters: Any
    ) -> FloatArray:
        """Return (x - M)/s."""
        return np.asarray((values - means) / parameters.noise_scale)

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return the normal law with mean and standard deviation of the column."""
        observed = shown(seen)
        number, total = column_totals(seen.values, observed)
        mean = total / number
        variance = np.where(observed, (seen.values - mean) ** 2, 0.0).sum(axis=0) / number
        square = variance + mean**2
        least = _LEAST_SPREAD**2 * np.where(square > 0.0, square, 1.0)
        v = np.where(variance > 0.0, variance, least)
        return np.asarray(-0.5 * (np.log(2.0 * math.pi * v) + (values - mean) ** 2 / v))

    def left_out_log_density(self, data: Data) -> FloatArray:
        """Return Student's law of an entry given the others of its column."""
        values, observed = data.values, shown(data)
        number, total = column_totals(values, observed)
        others, mean = np.maximum(number - 1.0, 1.0), total / number
        squares = (np.where(observed, values - mean, 0.0) ** 2).sum(axis=0)
        spread = np.sqrt(np.where(squares > 0.0, squares, 1.0) / others)
        away = (values - mean) / spread
        left = others - (others + 1.0) / others * away**2  # squares without the entry
        freedom = np.maximum(others - 1.0, 1.0)
        scale = np.sqrt(np.maximum(left, _LEAST_LEFT * others) / freedom * (others + 1.0) / others)
        t = away * (others + 1.0) / others / scale
        density = (
            gammaln(0.5 * (freedom + 1.0)) - gammaln(0.5 * freedom)
            - 0.5 * np.log(freedom * math.pi) - np.log(scale * spread)
            - 0.5 * (freedom + 1.0) * np.log1p(t**2 / freedom)
        )  # fmt: skip
        return np.asarray(np.where(left > _LEAST_LEFT * others, density, np.nan))

    def redrawn(
        self,
        rng: np.random.Generator,
        data: Data,
        rows: Rows,
        parameters: Any,
        prior: RowPrior,
        law_of_row: IntArray,
    ) -> Rows:
        """Return rows after a few steps given the features."""
        return gaussian_redraw.redrawn(rng, data, rows, parameters, prior, law_of_row)

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for the compiled kernels."""
        seen, noise = shown(data), parameters.noise_scale
        values = np.where(seen, (data.values - parameters.background) / noise, 0.0)
        terms = -0.5 * values**2 - np.log(noise) - 0.5 * math.log(2.0 * math.pi)
        loadings = np.ascontiguousarray((parameters.features / noise).T)
        gram = loadings.T @ loadings
        diagonal = np.diag(gram).copy()
        np.fill_diagonal(gram, 0.0)
        return RowKernels(
            values, seen, exact_sums(terms, seen), (loadings, gram, diagonal),
            enumerate_rows.gaussian, anneal_rows.gaussian,
        )  # fmt: skip
