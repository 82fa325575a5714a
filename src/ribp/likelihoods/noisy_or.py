"""Noisy-OR: each feature that a row has may cause each column, and so may a leak.

    P(x_nd = 0) = exp(-b_d) prod_i (1 - q_id)^{z_ni},        q_id = 1 - exp(-A_id),

the natural model of diagnoses and symptoms: q_id is the probability that feature i alone causes
column d, and 1 - exp(-b_d) that nothing known does. It is a Poisson count y, with rate b_d + sum_i
z_ni A_id, of which only is seen whether it is zero. Rows are weighed with y summed out
(`ribp.kernels.sweep_kinds`, the form HIT). Features need y: it is drawn given x and the row
(`ribp.kernels.noisy_or`) and split, and A, b and their prior mean follow as in
`ribp.likelihoods.poisson`. There is always a leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import xlog1py

from ribp.checks import FloatArray
from ribp.errors import InputError
from ribp.kernels import noisy_or as kernel
from ribp.kernels import posterior_kinds, sweep_kinds
from ribp.kernels.kind_terms import HIT, Columns, new_terms
from ribp.likelihoods.data import Data, Rows, column_totals, exact_sums, shown
from ribp.likelihoods.likelihood import Asked, RowKernels
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.moments import Moments
from ribp.likelihoods.poisson import PoissonCounts, PoissonParameters, SplitCounts
from ribp.likelihoods.poisson_sweeps import PoissonSums, split_block
from ribp.likelihoods.row_sweeps import Laws, Linear, RowPrior, Work
from ribp.rng import kernel_seed

_MOST_SHARE = 0.99  # of ones in a column, to begin with
_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class NoisyOr(PoissonCounts):
    """The noisy-OR likelihood with gamma features; arguments as in `PoissonCounts`."""

    background: bool = True

    always_background: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = False
    empty_rows_are_zero: ClassVar[bool] = False
    description = "yes and no (noisy-OR)"

    @classmethod
    def make(cls, asked: Asked, seen: Moments) -> Self:
        """Return the likelihood that users ask for, with a leak."""
        made = super().make(asked._replace(background=True), seen)
        size = -np.log1p(-min(max(seen.overall_mean, 0.01), _MOST_SHARE))
        return cls(feature_scale=made.feature_scale, prior_mean=float(size), known=made.known)

    def check(self, n_dims: int, not_a_count: tuple[int, int, float] | None) -> None:
        """Raise an `InputError` for entries that are no counts; `check_values` sees the others."""
        if not_a_count is not None:
            row, column, value = not_a_count
            raise _not_yes_or_no(value, f" in row {row}, column {column}")
        super().check(n_dims, None)

    def check_range(self, low: FloatArray, high: FloatArray) -> None:
        """Raise an `InputError` if some entry is above one."""
        most = float(np.max(high, initial=0.0))
        if most > 1.0:
            raise _not_yes_or_no(most)

    def check_values(self, data: Data, names: Sequence[Any] | None = None) -> None:
        """Raise an `InputError` unless all entries are 0 or 1."""
        wrong = data.values[shown(data) & (data.values != 0.0) & (data.values != 1.0)]
        if wrong.size:
            raise _not_yes_or_no(float(wrong[0]))

    def linearised(self, data: Data) -> tuple[LinearGaussian, Data]:
        """Return a Gaussian model that looks for the same rows: columns of equal variance."""
        number, total = column_totals(data.values, shown(data))
        share = total / number
        spread = np.sqrt(np.maximum(share * (1.0 - share), _LEAST_VARIANCE))
        return LinearGaussian(background=True), Data(data.values / spread, data.observed)

    def draw_data(
        self,
        rng: np.random.Generator,
        rows: Rows,
        parameters: PoissonParameters,
        own: FloatArray | None = None,
    ) -> FloatArray:
        """Draw X; rows have no exposures."""
        return np.minimum(super().draw_data(rng, rows, parameters), 1.0)

    # Rows and parameters given data

    def row_work(
        self, seed: np.uint64, number: int, parameters: PoissonParameters, prior: RowPrior
    ) -> Work[PoissonSums]:
        """Return what a sweep does to a block of rows."""
        features, offset = parameters.features, parameters.background
        laws, latent = Laws.of(prior), _latent(features, offset)
        rates = offset + laws.moments[0] * features.sum(axis=0)
        linear = Linear.of(features, _variance(rates), laws)
        columns, nothing = _columns(offset.size), np.empty((0, 0))

        def work(first: int, data: Data, law_of_row: Any, rows: Rows) -> Any:
            (values, observed, _), products = data, nothing
            if prior.whole.any():
                products = linear.products(values, observed, offset)
            sweep_kinds.sweep(
                seed, number, first, products, values, observed, data.log_exposures, rows, columns,
                new_terms(offset.size), latent, *laws[:3], law_of_row, laws.moves,
                linear.loadings, linear.diagonal, linear.guide, *laws.moments,
            )  # fmt: skip
            return _split(seed, number, first, data, rows, parameters)

        return work

    def sums(
        self, rng: np.random.Generator, data: Data, rows: Rows, parameters: PoissonParameters
    ) -> SplitCounts:
        """Draw how many events there were, and how they split."""
        split = _split(kernel_seed(rng), 0, 0, data, rows, parameters)
        return SplitCounts(split, np.asarray(rows.any(axis=0)))

    def row_kernels(self, data: Data, parameters: PoissonParameters) -> RowKernels:
        """Return data and features for the compiled kernels."""
        features, offset = parameters.features, parameters.background
        seen = shown(data)
        size = np.sqrt(1.0 / _variance(offset + 0.1 * features.sum(axis=0)))
        around = np.where(seen, (data.values - offset) * size, 0.0)
        scaled = np.ascontiguousarray((features * size).T)
        gram = scaled.T @ scaled
        diagonal = np.diag(gram).copy()
        alone = self.log_density(data.values, np.broadcast_to(offset, data.shape), parameters)
        return RowKernels(
            np.hstack([data.values, around]), seen, exact_sums(alone, seen),
            (
                _columns(offset.size), new_terms(offset.size), _latent(features, offset), scaled,
                gram - np.diag(diagonal), diagonal,
            ),
            posterior_kinds.enumerate_all, posterior_kinds.anneal, own=(data.log_exposures,),
        )  # fmt: skip

    # Entries

    def expectations(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the probability of one."""
        return -np.expm1(-means)

    def typical(self, means: FloatArray, own: FloatArray) -> FloatArray:
        """Return the probability of one."""
        return -np.expm1(-means)

    def variances(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return p (1 - p)."""
        return -np.expm1(-means) * np.exp(-means)

    def log_density(self, values: FloatArray, means: FloatArray, parameters: Any) -> FloatArray:
        """Return log(1 - exp(-rate)) of a one, and -rate of a zero."""
        return np.where(values > 0.0, np.log(-np.expm1(-means)), -means)

    def tails(
        self, values: FloatArray, means: FloatArray, parameters: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(X < x) and P(X > x)."""
        none = np.exp(-means)
        return np.where(values > 0.0, none, 0.0), np.where(values > 0.0, 0.0, 1.0 - none)

    def event_names(self, names: Sequence[Any]) -> list[str]:
        """Return the columns: a feature changes the probability of one in each."""
        return [str(name) for name in names]

    def event_probs(self, means: FloatArray, parameters: Any) -> FloatArray:
        """Return the probability of one."""
        return self.expectations(means, parameters)

    def column_log_density(self, seen: Data, values: FloatArray) -> FloatArray:
        """Return what smoothed shares of ones say."""
        number, total = column_totals(seen.values, shown(seen))
        return _log_share((total + 0.5) / (number + 1.0), values)

    def left_out_log_density(self, data: Data) -> FloatArray:
        """Return the same of each entry given the others of its column."""
        values, observed = data.values, shown(data)
        number, total = column_totals(values, observed)
        return _log_share((total - values + 0.5) / number, values)


def _log_share(share: FloatArray, values: FloatArray) -> FloatArray:
    return np.asarray(values * np.log(share) + xlog1py(1.0 - values, -share))


def _not_yes_or_no(value: float, place: str = "") -> InputError:
    return InputError(
        "X",
        "must hold 0 and 1 under the noisy-OR likelihood",
        f"{value:g}{place}",
        'Correct the entry; counts have likelihood="poisson", other columns kinds.',
    )


def _columns(dims: int) -> Columns:
    """Return columns as kernels want them."""
    every, nothing = np.arange(dims), np.zeros(dims, np.int64)
    return Columns(
        every,
        np.full(dims, HIT),
        every,
        nothing + 1,
        nothing,
        np.zeros((2, 1)),
        np.zeros((dims, 4)),
    )


def _latent(features: FloatArray, offset: FloatArray) -> sweep_kinds.Latent:
    """Return features as kernels want them: q in place of exp A."""
    loadings = np.ascontiguousarray(features.T)
    growth = -np.expm1(-loadings)
    both, background = (np.stack([one, np.ones_like(one)]) for one in (features, offset))
    return sweep_kinds.Latent(both, loadings, growth, background, 1)


def _variance(rates: FloatArray) -> FloatArray:
    """Return that of a one at a usual rate."""
    return np.asarray(np.maximum(-np.expm1(-rates) * np.exp(-rates), _LEAST_VARIANCE))


def _split(
    seed: np.uint64, number: int, first: int, data: Data, rows: Rows, given: PoissonParameters
) -> PoissonSums:
    """Return how the events of a block split over features and leak."""
    loadings, counts = np.ascontiguousarray(given.features.T), np.empty(data.shape)
    kernel.fill_counts(seed, number, first, *data[:2], rows, loadings, given.background, counts)
    events = data._replace(values=counts)
    return split_block(seed, number, first, events, rows, loadings, given.background)
