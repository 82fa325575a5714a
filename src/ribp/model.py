"""Prior and likelihood together: what every posterior sampler targets.

    alpha ~ Gamma(1, 1) on (0, I),   c ~ Gamma(2, 2),   theta | alpha, c ~ a weight prior,
    f_g ~ Dirichlet (learned laws),  z_n | theta, f ~ mixture law of a row,   X | Z ~ likelihood.

`simulate` draws all of it, and `log_joint` weighs it: that is all a joint-distribution test, or
simulation-based calibration, needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import RowCounts
from ribp.counts.tables import log_prior, prior_log_probs
from ribp.errors import InputError
from ribp.likelihoods.base import Data, Likelihood, RowLaws, Rows
from ribp.likelihoods.linear_gaussian import LinearGaussian
from ribp.likelihoods.rows_kept import needs_whole_rows
from ribp.restricted_bernoulli import sample_sets
from ribp.symmetric import log_esp
from ribp.weight_priors import WEIGHT_PRIORS, WeightPrior

__all__ = ["Model", "State", "Tally"]


class State(NamedTuple):
    """Where a chain is."""

    rows: Rows
    """z, shape (rows, features)."""
    log_odds: FloatArray
    """theta, shape (features,)."""
    mass: float
    """alpha."""
    concentration: float
    """c."""
    count_log_probs: FloatArray
    """log f of each count law, shape (laws, features + 1)."""
    parameters: Any
    """Features and scales, as the likelihood has them."""
    number: int = 0
    """Of the sweep: part of the key of its random numbers."""


class Tally(NamedTuple):
    """All that everything else needs to know of rows: sums over them."""

    histograms: IntArray
    """How many rows of each law have each count, shape (laws, features + 1)."""
    sizes: IntArray
    """How many rows have each feature."""

    @classmethod
    def of(cls, rows: Rows, which: IntArray, n_laws: int) -> Tally:
        """Return the tally of rows whose laws are `which`."""
        size = rows.shape[1] + 1
        cells = which * size + rows.sum(axis=1, dtype=np.int64)
        found = np.bincount(cells, minlength=n_laws * size).reshape(n_laws, size)
        return cls(found, rows.sum(axis=0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Model:
    """A restricted Indian buffet with finitely many features, and a likelihood.

    Parameters
    ----------
    counts
        The count law of every row.
    n_features
        I, the number of features.
    likelihood
        The law of the data given the rows.
    mass, concentration
        alpha and c: a number to keep it fixed, None to learn it.
    weights
        The weight prior: "weak-limit", "size-ordered" or "gamma-odds".
    """

    counts: RowCounts
    n_features: int
    likelihood: Likelihood[Any]
    mass: float | None = None
    concentration: float | None = 1.0
    weights: str = "weak-limit"

    def __post_init__(self) -> None:
        checks.below_features(self.mass, self.n_features)

    def check(self, data: Data) -> None:
        """Raise an `InputError` if no rows could obey the count laws, or give these data."""
        self.check_counts(len(data.values))
        self.likelihood.check(data)
        if len(self.likelihood.known) > self.n_features:
            raise InputError(
                "fixed_components",
                f"must be at most max_features={self.n_features}",
                f"{len(self.likelihood.known)} features",
                "Raise max_features.",
            )
        self._check_empty_rows(data)

    def check_counts(self, n_rows: int) -> None:
        """Raise an `InputError` unless every row has a law that it can obey."""
        if len(self.counts) != n_rows:
            raise InputError(
                "counts",
                f"must have one law for each of the {n_rows} rows of X",
                f"{len(self.counts)} laws",
                "Pass one law for all rows, or one for each.",
            )
        for law in self.counts.laws:
            if not np.isfinite(law.log_probs(self.n_features)).any():
                raise InputError(
                    "counts",
                    f"must be possible with max_features={self.n_features}",
                    law,
                    f"Set max_features to {law.smallest} or more, or change the law.",
                )

    def _check_empty_rows(self, data: Data) -> None:
        wrong = self.unexplained_rows(data)
        if wrong:
            raise InputError(
                "counts",
                "must let a row have a feature if it is not all zero",
                f"row {wrong[0]}, which must have none",
                "Set background=True, or change its law.",
            )

    def unexplained_rows(self, data: Data) -> list[int]:
        """Return rows that must be empty and are not zero, where rates add up without a rest."""
        if self.likelihood.background or isinstance(self.likelihood, LinearGaussian):
            return []
        empty = np.array([law.largest == 0 for law in self.counts.laws])[self.counts.index]
        wrong: list[int] = np.flatnonzero(empty & (data.values > 0).any(axis=1)).tolist()
        return wrong

    def weight_prior(self, mass: float, concentration: float) -> WeightPrior:
        """Return the prior of the log-odds."""
        return WEIGHT_PRIORS[self.weights](mass, concentration, self.n_features)

    def on_rows(self, at: Any) -> Model:
        """Return the model of some of the rows."""
        counts = RowCounts(self.counts.laws, self.counts.index[at])
        return replace(self, counts=counts)

    def tables(self, state: State) -> FloatArray:
        """Return log f(k) - log e_k for each count law, shape (laws, features + 1)."""
        self.check_state(state)  # kernels follow the index of a law without a look
        return np.asarray(state.count_log_probs - log_esp(state.log_odds))

    def check_state(self, state: State) -> None:
        """Raise an `InputError` if a state has other laws or features than the model.

        Its rows may be elsewhere.
        """
        size, found = self.n_features, state.count_log_probs.shape
        if found != (len(self.counts.laws), size + 1) or state.log_odds.shape != (size,):
            raise InputError(
                "state",
                f"must have {len(self.counts.laws)} count laws and {size} features, as its model",
                f"count_log_probs of shape {found}, log_odds of shape {state.log_odds.shape}",
                "Make it with this model.",
            )

    def row_laws(self, state: State) -> RowLaws:
        """Return the prior of every row; laws with a gap in their counts ask for whole rows."""
        tables = self.tables(state)
        return RowLaws(state.log_odds, tables, self.counts.index, needs_whole_rows(tables))

    def simulate(self, rng: np.random.Generator, dims: int) -> tuple[State, FloatArray]:
        """Draw a state and complete data from the prior."""
        state = self.draw_prior(rng, dims)
        return state, self.likelihood.draw_data(rng, state.rows, state.parameters)

    def draw_prior(self, rng: np.random.Generator, dims: int) -> State:
        """Draw a state from the prior."""
        mass = self.mass or math.inf
        while mass >= self.n_features:
            mass = float(rng.standard_exponential())
        concentration = self.concentration or 0.5 * float(rng.standard_gamma(2.0))
        log_odds = self.weight_prior(mass, concentration).sample(rng, self.n_features)
        log_probs = prior_log_probs(rng, self.counts, self.n_features)
        rows = self.draw_rows(rng, log_odds, log_probs)
        parameters = self.likelihood.draw_prior(rng, self.n_features, dims)
        return State(rows, log_odds, mass, concentration, log_probs, parameters)

    def draw_rows(
        self, rng: np.random.Generator, log_odds: FloatArray, log_probs: FloatArray
    ) -> Rows:
        """Draw rows given the weights and the count laws."""
        counts = np.empty(len(self.counts), dtype=np.int64)
        for which, law in enumerate(log_probs):
            at = np.flatnonzero(self.counts.index == which)
            probs = np.exp(law)
            counts[at] = rng.choice(law.size, size=at.size, p=probs / probs.sum())
        rows = np.zeros((counts.size, log_odds.size), np.int8)
        rows[np.repeat(np.arange(counts.size), counts), sample_sets(rng, log_odds, counts)] = 1
        return rows

    def tally(self, rows: Rows) -> Tally:
        """Return the tally of all rows."""
        return Tally.of(rows, self.counts.index, len(self.counts.laws))

    def log_joint(self, state: State, data: Data, sums: Any = None) -> float:
        """Return log p(X, Z, weights, laws, scales), features integrated out where possible."""
        given = self.likelihood.log_joint(data, state.rows, state.parameters, sums)
        return self.log_prior(state, self.tally(state.rows)) + given

    def log_prior(self, state: State, tally: Tally) -> float:
        """Return log p(Z, theta, alpha, c, f), alpha and c as densities of their logarithms."""
        value = float(tally.sizes @ state.log_odds)
        some = tally.histograms > 0
        value += float((tally.histograms[some] * self.tables(state)[some]).sum())
        prior = self.weight_prior(state.mass, state.concentration)
        value += prior.log_density(state.log_odds) + log_prior(self.counts, state.count_log_probs)
        if self.mass is None:
            value += math.log(state.mass) - state.mass
        if self.concentration is None:
            value += 2.0 * math.log(2.0 * state.concentration) - 2.0 * state.concentration
        return value
