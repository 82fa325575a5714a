"""What a prior says before any data: a table to choose the mass from.

For each mass alpha, states are drawn from the model (`ribp.model`) and four numbers looked at: how
many features some row has; the share of rows that have the most popular one; how many features two
rows share; and the spread of the data, the standard deviation of all entries. A larger mass means
more features, less popular ones, and rows that share fewer of them: the count laws alone say how
many features a row has. That holds while the mass is well below the largest number of features;
as it comes near that number, most weights are close to one and the trend turns round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ribp import checks
from ribp.checks import FloatArray
from ribp.counts import CountLaw, RowCounts, as_row_counts
from ribp.errors import InputError
from ribp.likelihoods import Likelihood, LinearGaussian
from ribp.model import Model

_MASSES = (0.5, 1.0, 2.0, 5.0, 10.0)
_DATA_ROWS = 200
_QUANTILES = (0.05, 0.5, 0.95)


class MassSummary(NamedTuple):
    """What one mass gives: one number a draw each."""

    active_features: FloatArray
    """Features that some row has."""
    popularity: FloatArray
    """Share of rows that have the most popular feature."""
    shared: FloatArray
    """Mean number of features that two rows share."""
    spread: FloatArray
    """Standard deviation of the data."""


@dataclass(frozen=True)
class PriorPredictive:
    """What each mass gives; `print` it."""

    by_mass: dict[float, MassSummary]
    n_rows: int
    max_features: int

    def __str__(self) -> str:
        lines = [
            f"Drawn from the prior: {self.n_rows} rows, at most {self.max_features} features.",
            "Medians, with the range of nine draws out of ten.",
            "",
            "  mass  features in use   most popular %    two rows share    spread of data",
        ]
        for mass, found in self.by_mass.items():
            cells = [
                _cell(found.active_features, "{:.0f}"),
                _cell(100.0 * found.popularity, "{:.0f}"),
                _cell(found.shared, "{:.2g}"),
                _cell(found.spread, "{:.2g}"),
            ]
            lines.append(f"{mass:6g}  " + "".join(cells).rstrip())
        return "\n".join(lines)


def prior_predictive(
    rng: np.random.Generator,
    counts: CountLaw | RowCounts | str | ArrayLike,
    n_rows: int,
    dims: int,
    *,
    max_features: int,
    mass: Sequence[float] | float = _MASSES,
    concentration: float | None = 1.0,
    likelihood: Likelihood[Any] | None = None,
    n_draws: int = 200,
) -> PriorPredictive:
    """Return what the prior says for each mass.

    Parameters
    ----------
    rng
    counts
        The count law of every row, as a fit takes it.
    n_rows, dims
        The shape of the data. Data are drawn for at most 200 of the rows.
    max_features
        I; masses that are not below it are refused.
    mass
        The masses to compare.
    concentration
        c; None to draw it from its prior.
    likelihood
        The law of data given rows; linear-Gaussian by default.
    n_draws
        How many states to draw for each mass.
    """
    rng = checks.generator("rng", rng)
    n_rows = checks.integer("n_rows", n_rows, least=1)
    laws = as_row_counts(counts, n_rows)
    features = checks.integer("max_features", max_features, least=1)
    n_draws = checks.integer("n_draws", n_draws, least=1)
    found = {}
    for alpha in np.atleast_1d(np.asarray(mass, dtype=np.float64)).tolist():
        if checks.positive("mass", alpha) >= features:
            remedy = "Raise max_features or lower the mass."
            raise InputError("mass", f"must be below max_features={features}", alpha, remedy)
        model = Model(laws, features, likelihood or LinearGaussian(), alpha, concentration)
        each = [_one(rng, model, dims) for _ in range(n_draws)]
        found[alpha] = MassSummary(*np.array(each).T)
    return PriorPredictive(found, n_rows, features)


def _one(rng: np.random.Generator, model: Model, dims: int) -> tuple[float, ...]:
    """Return the four numbers of one draw."""
    state = model.draw_prior(rng, dims)
    n_rows = len(state.rows)
    sizes = (state.rows != 0).sum(axis=0, dtype=np.float64)
    pairs = n_rows * (n_rows - 1.0)
    some = state.rows if n_rows <= _DATA_ROWS else rng.permutation(state.rows)[:_DATA_ROWS]
    data = model.likelihood.draw_data(rng, some, state.parameters)
    return (
        float((sizes > 0).sum()),
        float(sizes.max()) / n_rows,
        float(sizes @ (sizes - 1.0)) / pairs if pairs else 0.0,
        float(data.std()),
    )


def _cell(draws: FloatArray, form: str) -> str:
    low, middle, high = (form.format(q) for q in np.quantile(draws, _QUANTILES))
    return f"{middle:>4} ({low}..{high})".ljust(18)
