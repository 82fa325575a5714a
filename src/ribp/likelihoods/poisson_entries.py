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
from ribp.likelihoods import exposures
from ribp.likelihoods.data import BoolArray, Data, Rows, column_totals, exact_sums, shown
from ribp.likelihoods.likelihood import Likelihood, RowKernels

_LEAST = 1e-100  # exposure that a column has seen


class PoissonEntryLaw(Likelihood[Any]):
    """The law of an entry of counts."""

    exposure: str
    scales = {"feature_scale": ()}  # noqa: RUF012 - as `Likelihood` has it

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        own = {"one": "", "given": ", rows with exposures", "learn": ", exposures of rows learned"}
        return f"counts (Poisson{own[self.exposure]})"

    @property
    def learns_exposure(self) -> bool:
        """Whether exposures are learned."""
        return self.exposure == "learn"

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

    def log_terms(self, data: Data, rows: Rows, parameters: Any) -> float:
        """Return log p(X | Z, A) of a block of rows, exposures integrated out if learned."""
        rates, seen = self.means(rows, parameters), shown(data)
        if self.learns_exposure:
            return float(exposures.log_integrated(data.values, seen, rates).sum())
        rates = self.exposed(rates, data.exposures)
        return float(self.log_density(data.values, rates, parameters)[seen].sum())

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return the Poisson law with the mean of the column, half a count added."""
        own = seen.each_exposure[:, None]
        _, total = column_totals(seen.values, shown(seen))
        number = np.maximum((own * shown(seen)).sum(axis=0), _LEAST)
        return self.log_density(values, own * (total + 0.5) / number, None)

    def left_out_log_density(self, data: Data) -> FloatArray:
        """Return the negative binomial law of an entry given the others of its column."""
        values, observed = data.values, shown(data)
        own = data.each_exposure[:, None]
        rest = column_totals(values, observed)[1] - values + 0.5
        others = np.maximum((own * observed).sum(axis=0) - own, own)
        return np.asarray(
            gammaln(rest + values) - gammaln(rest) - gammaln(values + 1.0)
            + rest * np.log(others / (others + own)) + values * np.log(own / (others + own))
        )  # fmt: skip

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for the compiled kernels, or those that integrate exposures."""
        if self.learns_exposure:
            return super().row_kernels(data, parameters)
        seen, own = shown(data), data.each_exposure
        terms = data.values * np.log(own)[:, None] - gammaln(data.values + 1.0)
        terms -= np.outer(own, parameters.background)
        loadings = np.ascontiguousarray(parameters.features.T)
        return RowKernels(
            data.values, seen, exact_sums(terms, seen), (loadings, parameters.background),
            enumerate_rows.poisson, anneal_rows.poisson, own=(own,),
        )  # fmt: skip

    def row_log_density(
        self, values: FloatArray, observed: BoolArray, rows: Rows, parameters: Any
    ) -> FloatArray:
        """Return log p(x_n | z_n) of rows, exposures integrated out if they are learned."""
        if self.learns_exposure:
            return exposures.log_integrated(values, observed, self.means(rows, parameters))
        return super().row_log_density(values, observed, rows, parameters)
