"""An entry of counts given its row: Poisson, its rate what its features make.

A model without features: the Poisson law with the mean of the column, half a count added; an entry
given the others of its column is negative binomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, pdtr, pdtrc, xlogy

from ribp.checks import FloatArray
from ribp.kernels import anneal_rows, enumerate_rows
from ribp.likelihoods.data import BoolArray, Data, column_totals, exact_sums, shown
from ribp.likelihoods.likelihood import Likelihood, RowKernels


class PoissonEntryLaw(Likelihood[Any]):
    """The law of an entry of counts."""

    description = "counts (Poisson)"
    scales = {"feature_scale": ()}  # noqa: RUF012 - as `Likelihood` has it

    def read(self, features: FloatArray, background: FloatArray, scales: dict[str, Any]) -> Any:
        """Return the parameters of a draw that was stored."""
        return self.parameters_type(features, background, float(scales["feature_scale"]))

    def variances(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the rates."""
        return means

    def log_density(self, values: FloatArray, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the log probability of each entry."""
        return np.asarray(xlogy(values, means) - means - gammaln(values + 1.0))

    def tails(
        self, values: FloatArray, means: FloatArray, parameters: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(X < x) and P(X > x)."""
        return np.where(values > 0, pdtr(values - 1.0, means), 0.0), pdtrc(values, means)

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return the Poisson law with the mean of the column, half a count added."""
        number, total = column_totals(seen.values, shown(seen))
        return self.log_density(values, (total + 0.5) / number, None)

    def left_out_log_density(self, values: FloatArray, observed: BoolArray) -> FloatArray:
        """Return the negative binomial law of an entry given the others of its column."""
        number, total = column_totals(values, observed)
        rest, others = total - values + 0.5, np.maximum(number - 1.0, 1.0)
        return np.asarray(
            gammaln(rest + values) - gammaln(rest) - gammaln(values + 1.0)
            + rest * np.log(others / (others + 1.0)) - values * np.log(others + 1.0)
        )  # fmt: skip

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for the compiled kernels."""
        seen = shown(data)
        terms = -gammaln(data.values + 1.0) - parameters.background
        loadings = np.ascontiguousarray(parameters.features.T)
        return RowKernels(
            data.values, seen, exact_sums(terms, seen), (loadings, parameters.background),
            enumerate_rows.poisson, anneal_rows.poisson,
        )  # fmt: skip
