"""Linear-Gaussian data whose entries count: a tetraploid carries a haplotype twice.

    x_nd = b_d + sum_i z_ni A_id + s_d e_nd,      z_ni in {0, 1, 2, ...},

all else as in `ribp.likelihoods.linear_gaussian`: features and scales are drawn given Z as with
binary rows. Given the weights of features rows have the law of `ribp.entries.entry_law`, with
Poisson or negative binomial entries, restricted in their number of non-zeros or in their sum.

The law of a row has factors that do not depend on weights, log prod_{u<z} (1+g u)/(1+u) for each
entry: they are added up with the other sums over rows, and are part of `log_weight`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ribp.checks import FloatArray
from ribp.entries import EntryLaw
from ribp.kernels.entry_density import summed_log_factors
from ribp.likelihoods.data import BoolArray, Data, Rows
from ribp.likelihoods.likelihood import Ask, Asked, Likelihood, RowKernels
from ribp.likelihoods.linear_gaussian import LinearGaussian, Sums
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.multiplicity_sweeps import (
    anneal_multiplicities,
    enumerate_multiplicities,
    multiplicity_work,
)
from ribp.likelihoods.row_sweeps import RowPrior, Work


class SumsOfMultiplicities(NamedTuple):
    """`Sums` over rows whose entries count."""

    pairs: FloatArray
    products: FloatArray
    squares: FloatArray
    number: FloatArray
    used: BoolArray
    log_factors: float


@dataclass(frozen=True)
class GaussianMultiplicities(LinearGaussian):
    """What the linear-Gaussian likelihoods of entries that count have in common.

    Parameters
    ----------
    restrict
        What count laws are about: "nonzeros" or "sum".
    """

    restrict: str = "nonzeros"

    integrates_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.entry_law  # noqa: B018 - or an error that says what cannot be

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for, in the units of these columns."""
        plain = LinearGaussian.make(asked, seen)
        shared = {field.name: getattr(plain, field.name) for field in fields(LinearGaussian)}
        own = {field.name for field in fields(cls)} - shared.keys()
        return cls(**shared, **{name: getattr(asked, name) for name in own})

    @cached_property
    def entry_law(self) -> EntryLaw:  # type: ignore[override]
        """The law of rows given weights."""
        return EntryLaw(self.entries, self.restrict, getattr(self, "failures", 1.0))

    @property
    def description(self) -> str:  # type: ignore[override]
        """What users are told of the data."""
        what = "the sum" if self.restrict == "sum" else "the number of non-zeros"
        kind = self.entries.replace("_", " ")
        return f"{super().description}, entries that count ({kind}, {what} restricted)"

    # Rows and parameters given data

    def row_work(self, seed: np.uint64, number: int, parameters: Any, prior: RowPrior) -> Work[Any]:
        """Return what a sweep does to a block of rows."""
        return multiplicity_work(
            seed, number, parameters, prior, self.entry_law, background=self.background
        )

    def data_sums(self, data: Data, rows: Rows) -> Any:
        """Return sums over rows for the features in use, and the background as the last."""
        factors = float(summed_log_factors(rows, self.entry_law.growth))
        return SumsOfMultiplicities(*super().data_sums(data, rows), factors)

    def swept_sums(self, swept: Any, used: BoolArray, ask: Ask) -> Any:
        """Return the same from what a sweep has added up."""
        return SumsOfMultiplicities(*super().swept_sums(swept, used, ask), swept.log_factors)

    def log_weight(self, parameters: Any, sums: Any) -> float:
        """Return log p(X, scales | Z), the features integrated out, and the factors of values."""
        return super().log_weight(parameters, Sums(*sums[:5])) + float(sums.log_factors)

    # Rows

    def row_kernels(self, data: Data, parameters: Any) -> RowKernels:
        """Return data and features for what sums z out."""
        plain = super().row_kernels(data, parameters)
        return plain._replace(
            features=(*plain.features, self.entry_law),
            enumerate=enumerate_multiplicities,
            anneal=anneal_multiplicities,
            sized=True,
        )

    redrawn = Likelihood.redrawn  # steps for rows that are on or off would not do


@dataclass(frozen=True)
class PoissonMultiplicities(GaussianMultiplicities):
    """Poisson entries; see `GaussianMultiplicities`."""

    entries: ClassVar[str] = "poisson"


@dataclass(frozen=True)
class NegativeBinomialMultiplicities(GaussianMultiplicities):
    """Negative binomial entries; see `GaussianMultiplicities`.

    Parameters
    ----------
    failures
        Parameter r.
    """

    failures: float = 1.0

    entries: ClassVar[str] = "negative_binomial"
