"""Prior and likelihood together: what every posterior sampler targets.

    alpha ~ Gamma(1, 1) on (0, I),   c ~ Gamma(2, 2),   theta | alpha, c ~ a weight prior,
    f_g ~ Dirichlet (learned laws),  z_n | theta, f ~ mixture law of a row,   X | Z ~ likelihood.

`simulate` draws all of it, and `log_joint` weighs it: that is all a joint-distribution test, or
simulation-based calibration, needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import Learned, RowCounts
from ribp.counts.tables import log_marginal, mean_log_probs, prior_log_probs, tallied_log_probs
from ribp.entries import BINARY, EntryLaw
from ribp.errors import InputError
from ribp.kernels.entry_density import entry_log_density
from ribp.kernels.ones import tally
from ribp.likelihoods.data import Data, Rows
from ribp.likelihoods.likelihood import Likelihood
from ribp.likelihoods.row_sweeps import RowPrior, needs_whole_rows
from ribp.weights import WEIGHT_PRIORS, WeightPrior, hyper_prior
from ribp.weights.density import log_density


class State(NamedTuple):
    """Where a chain is."""

    rows: Rows
    """z, shape (rows, features); doubles where entries have a size: z s, or counts."""
    log_odds: FloatArray
    """theta, shape (features,): log-odds, or what entries that count have (`EntryLaw`)."""
    mass: float
    """alpha."""
    concentration: float
    """c."""
    count_log_probs: FloatArray
    """log f of each count law, shape (laws, counts)."""
    parameters: Any
    """Features and scales, as the likelihood has them."""
    number: int = 0
    """Of the sweep: part of the key of its random numbers."""


class Tally(NamedTuple):
    """All that everything else needs to know of rows: sums over them."""

    histograms: IntArray
    """How many rows of each law have each count, shape (laws, counts)."""
    sizes: IntArray
    """How many rows have each feature."""
    units: IntArray
    """The sum of each feature over rows if entries count, otherwise `sizes`."""

    @classmethod
    def of(
        cls,
        rows: Rows,
        law_of_row: IntArray,
        n_laws: int,
        law: EntryLaw = BINARY,
        most: int | None = None,
    ) -> Tally:
        """Return the tally of rows with these laws; counts are at most `most`, or I."""
        size = rows.shape[1]
        histograms = np.zeros((n_laws, (size if most is None else most) + 1), np.int64)
        if not law.counts:
            sizes = np.zeros(size, np.int64)
            tally(rows, law_of_row, histograms, sizes)
            return cls(histograms, sizes, sizes)
        np.add.at(histograms, (law_of_row, law.totals(rows)), 1)
        return cls(histograms, np.count_nonzero(rows, axis=0), rows.sum(axis=0).astype(np.int64))

    def zero(self) -> Tally:
        """Return the tally of no rows."""
        return Tally(*map(np.zeros_like, self))


class SweepInfo(NamedTuple):
    """What a sweep knows of where it ended."""

    log_joint: float
    """Of variational methods the bound."""
    tally: Tally


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
        The name of the weight prior (`ribp.weights`).
    """

    counts: RowCounts
    n_features: int
    likelihood: Likelihood[Any]
    mass: float | None = None
    concentration: float | None = 1.0
    weights: str = "weak-limit"

    def __post_init__(self) -> None:
        checks.below_features(self.mass, self.n_features)
        WEIGHT_PRIORS[self.weights]  # or an error that says which is missing
        only = self.entry_law.weight_prior
        if only not in (None, self.weights):
            raise InputError(
                "weights", f'must be "{only}" for such entries', self.weights, "Leave it out."
            )
        if self.entry_law.heavy_tailed and (self.concentration or 0.0) < 1.0:
            raise InputError(
                "concentration",
                "must be a number, at least 1, where non-zeros of negative binomial entries are "
                "restricted: with smaller ones entries have no limit",
                "learn" if self.concentration is None else self.concentration,
                'Set it to 1 or more, or restrict="sum".',
            )
        if self.entry_law.heavy_tailed and self.mass is not None:
            checks.light_entries(self.mass, self.concentration or 1.0, self.n_features)

    @property
    def entry_law(self) -> EntryLaw:
        """The law of rows given weights."""
        return self.likelihood.entry_law

    @cached_property
    def most(self) -> int:
        """The largest count that a row may have: all features, or the largest sum."""
        return self.entry_law.most(self.counts.laws, self.n_features)

    @property
    def sizes_type(self) -> np.dtype[Any]:
        """The type in which stored draws hold the sizes of entries."""
        return self.entry_law.sizes_type(self.most)

    @property
    def learns_counts(self) -> bool:
        """Whether some count law is learned."""
        return any(isinstance(law, Learned) for law in self.counts.laws)

    def check(self, store: Any) -> None:
        """Raise an `InputError` if no rows could obey the count laws, or give these data.

        `store` is a `ribp.rows.store.RowStore`, which has not been told of any units.
        """
        look = store.look()
        self.check_counts(look.shape[0])
        self.likelihood.check(look.shape[1], look.not_a_count)
        self.likelihood.check_range(look.low, look.high)
        if len(self.likelihood.known) > self.n_features:
            raise InputError(
                "fixed_components",
                f"must be at most max_features={self.n_features}",
                f"{len(self.likelihood.known)} features",
                "Raise max_features.",
            )
        at = self.rows_that_must_be_zero()
        wrong = at[(store.take(at).values > 0).any(axis=1)] if at.size else at
        if wrong.size:
            raise InputError(
                "counts",
                "must let a row have a feature if it is not all zero",
                f"row {wrong[0]}, which must have none",
                "Set background=True, or change its law.",
            )

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
            if not np.isfinite(law.log_probs(self.most)).any():
                raise InputError(
                    "counts",
                    f"must be possible with max_features={self.n_features}",
                    law,
                    f"Set max_features to {law.smallest} or more, or change the law.",
                )

    def rows_that_must_be_zero(self) -> IntArray:
        """Return rows that must be empty, where a row is nothing but what its features make."""
        if self.likelihood.background or not self.likelihood.empty_rows_are_zero:
            return np.zeros(0, np.int64)
        empty = np.array([law.largest == 0 for law in self.counts.laws], np.bool_)
        return np.flatnonzero(empty[self.counts.law_of_row])

    def weight_prior(self, mass: float, concentration: float) -> WeightPrior:
        """Return the prior of the log-odds."""
        return WEIGHT_PRIORS[self.weights](mass, concentration, self.n_features)

    def on_rows(self, at: Any) -> Model:
        """Return the model of some of the rows."""
        counts = RowCounts(self.counts.laws, self.counts.law_of_row[at])
        return replace(self, counts=counts)

    def tables(self, state: State) -> FloatArray:
        """Return log f(k) - log e_k (`EntryLaw`) for each count law, shape (laws, counts)."""
        self.check_state(state)  # kernels follow the index of a law without a look
        return self.entry_law.tables(state.count_log_probs, state.log_odds)

    def check_state(self, state: State) -> None:
        """Raise an `InputError` if a state has other laws or features than the model.

        Its rows may be in a row store.
        """
        size, found = self.n_features, state.count_log_probs.shape
        if found != (len(self.counts.laws), self.most + 1) or state.log_odds.shape != (size,):
            raise InputError(
                "state",
                f"must have {len(self.counts.laws)} count laws and {size} features, as its model",
                f"count_log_probs of shape {found}, log_odds of shape {state.log_odds.shape}",
                "Make it with this model.",
            )

    def row_prior(self, state: State) -> RowPrior:
        """Return what rows know of their prior; laws with a gap in their counts ask for whole rows.

        Which law is whose is in `counts.law_of_row`.
        """
        tables = self.tables(state)
        sizes = np.bincount(self.counts.law_of_row, minlength=len(tables))
        return RowPrior(state.log_odds, tables, needs_whole_rows(tables), sizes)

    def simulate(self, rng: np.random.Generator, dims: int) -> tuple[State, FloatArray]:
        """Draw a state and complete data from the prior."""
        state = self.draw_prior(rng, dims)
        return state, self.likelihood.draw_data(rng, state.rows, state.parameters)

    def draw_prior(self, rng: np.random.Generator, dims: int) -> State:
        """Draw a state from the prior."""
        mass = self.mass or hyper_prior.draw_mass(rng, self.n_features)
        concentration = self.concentration or hyper_prior.draw_concentration(rng)
        log_odds = self.weight_prior(mass, concentration).sample(rng, self.n_features)
        log_probs = prior_log_probs(rng, self.counts, self.most)
        rows = self.draw_rows(rng, log_odds, log_probs)
        parameters = self.likelihood.draw_prior(rng, self.n_features, dims)
        rows = self.likelihood.draw_sizes(rng, rows, parameters)
        parameters = self.likelihood.of_rows(rows, parameters)
        return State(rows, log_odds, mass, concentration, log_probs, parameters)

    def draw_rows(
        self, rng: np.random.Generator, log_odds: FloatArray, log_probs: FloatArray
    ) -> Rows:
        """Draw rows given the weights and the count laws."""
        counts = np.empty(len(self.counts), dtype=np.int64)
        for which, law in enumerate(log_probs):
            at = np.flatnonzero(self.counts.law_of_row == which)
            probs = np.exp(law)
            counts[at] = rng.choice(law.size, size=at.size, p=probs / probs.sum())
        rows: Rows = self.entry_law.draw_rows(rng, log_odds, counts)
        return rows

    def without_rows(self, state: State) -> State:
        """Return a state whose rows are in a row store."""
        return state._replace(rows=np.zeros((0, self.n_features), np.int8))

    @cached_property
    def _first_log_probs(self) -> FloatArray:
        """Log f of each count law, learned ones at their prior mean."""
        return mean_log_probs(self.counts, self.most)

    def draw_counts(self, rng: np.random.Generator, tally: Tally) -> FloatArray:
        """Return log f of each count law, learned ones drawn given the rows."""
        return tallied_log_probs(rng, self.counts, tally.histograms, self._first_log_probs)

    def tally(self, rows: Rows) -> Tally:
        """Return the tally of all rows."""
        n_laws = len(self.counts.laws)
        return Tally.of(rows, self.counts.law_of_row, n_laws, self.entry_law, self.most)

    def log_joint(self, state: State, data: Data) -> float:
        """Return log p(X, Z, weights, laws, scales), features integrated out where possible."""
        given = self.likelihood.log_joint(data, state.rows, state.parameters)
        return self.log_prior(state, self.tally(state.rows)) + given

    def log_prior(self, state: State, tally: Tally) -> float:
        """Return log p(Z, theta, alpha, c), alpha and c as densities of their logarithms.

        Learned count laws are integrated out. What does not depend on weights of the law of entries
        that count is left to the likelihood, which adds it up.
        """
        self.check_state(state)
        prior, histograms = self.weight_prior(state.mass, state.concentration), tally.histograms
        value = self._weights_log_density(state.log_odds, tally, prior)
        value += log_marginal(self.counts, histograms, state.count_log_probs)
        if self.mass is None:
            value += hyper_prior.log_mass_density(state.mass)
        if self.concentration is None:
            value += hyper_prior.log_concentration_density(state.concentration)
        return value

    def _weights_log_density(self, theta: FloatArray, tally: Tally, prior: WeightPrior) -> float:
        """Return log p(Z, theta), but for log f and what does not depend on theta."""
        histogram, law = tally.histograms.sum(axis=0), self.entry_law
        if not law.counts:
            return log_density(theta, tally.sizes, histogram, prior)
        given = (np.array(x, np.float64) for x in (theta, tally.units, histogram))
        of_rows = entry_log_density(*given, law.growth, law.restriction)
        return float(of_rows) + prior.log_density(theta)
