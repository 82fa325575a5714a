"""The augmented sampler with scales and features: assembly of `ribp.mcmc.augmented`.

One sweep: every row and its discards given the scales, features integrated out; the mass; then
features, noise and scales given the rows that were kept. The weights, which the sampler does
without, are drawn for show: Beta(m_i, c + M - m_i) given that m_i of M proposals have feature i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from ribp.checks import FloatArray
from ribp.counts.tables import mean_log_probs
from ribp.errors import InputError
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Data, in_use
from ribp.likelihoods.linear_gaussian import as_gaussian
from ribp.mcmc import augmented, rows_buffet
from ribp.mcmc.augmented_moves import AugmentedState
from ribp.measures.variates import beta_log_odds_variates
from ribp.model import Model, State, SweepInfo
from ribp.rows.store import RowStore
from ribp.running.memory_samplers import InMemory, tally
from ribp.running.restore import Arrays, restored
from ribp.weights.hyper_prior import log_mass_density


class AugmentedChain(NamedTuple):
    """Where a chain with discarded rows is."""

    buffet: AugmentedState
    parameters: GaussianParameters
    log_odds: FloatArray


@dataclass(frozen=True)
class Augmented(InMemory):
    """Rows with the rows that rejection would have discarded; no truncation, small problems."""

    model: Model
    method = "augmented"

    def check(self, store: RowStore) -> None:
        """Raise an `InputError` if these data cannot be, or discards will be too many."""
        self.model.check(store)
        model, limit = self.model, augmented.MAX_DISCARDS
        if model.concentration is None:
            raise InputError(
                "concentration",
                'must be a number with method="augmented"',
                "learn",
                'Set concentration=1.0, or use method="gibbs".',
            )
        rng = np.random.default_rng(0)
        expected = augmented.forecast(rng, model.counts, model.mass, model.concentration)
        if not expected.feasible:
            middle = f"{expected.quartiles[1]:.3g}"
            raise InputError(
                "method",
                f'must not be "augmented" where more than {limit} rows would be discarded',
                f"about {middle}, above the limit in {expected.share_beyond:.0%} of prior draws",
                'Set a mass near the usual count, or use method="gibbs".',
            )

    def begin(self, rng: np.random.Generator, rows: Data, start: object = None) -> AugmentedChain:
        """Return a draw of the prior, its scales of the size of the data."""
        model = self.model
        state = augmented.draw_prior(rng, model.counts, model.mass, self._concentration)
        parameters = model.likelihood.first_guess(rows, in_use(state.rows).sum())
        return AugmentedChain(state, parameters, np.zeros(len(parameters.features)))

    def trial(self, rng: np.random.Generator, rows: Data) -> AugmentedChain:
        """Return a draw of the prior."""
        return self.begin(rng, rows)

    def update(
        self,
        rng: np.random.Generator,
        seed: np.uint64,
        state: AugmentedChain,
        model: Model,
        rows: Data,
    ) -> tuple[AugmentedChain, SweepInfo]:
        """Return the next state, its log joint, and the tally of its rows."""
        data, likelihood = rows, self._likelihood

        def log_likelihood(rows: NDArray[np.int8]) -> float:
            return likelihood.log_marginal(data, rows, state.parameters)

        buffet, _ = augmented.update(
            rng, state.buffet, model.counts, self._concentration, log_likelihood,
            learn_mass=model.mass is None,
        )  # fmt: skip
        used = in_use(buffet.rows)
        z = np.ascontiguousarray(buffet.rows[:, used])
        sums = likelihood.data_sums(data, z)
        parameters = likelihood.draw(rng, state.parameters, sums)
        holders, total = self._holders(buffet)
        log_odds = beta_log_odds_variates(
            rng, holders[used], self._concentration + total - holders[used], z.shape[1]
        )
        weight = likelihood.log_weight(parameters, sums) + self._log_prior(buffet)
        return AugmentedChain(buffet, parameters, log_odds), SweepInfo(weight, tally(z))

    @property
    def _concentration(self) -> float:
        assert self.model.concentration is not None
        return self.model.concentration

    @property
    def _likelihood(self) -> LinearGaussian:
        return as_gaussian(self.model.likelihood, "the augmented sampler")

    @staticmethod
    def _holders(buffet: AugmentedState) -> tuple[FloatArray, int]:
        """Return how many proposals have each feature, and how many there are."""
        holders = buffet.rows.sum(axis=0, dtype=np.int64) + buffet.discard_sums.sum(axis=0)
        return holders.astype(np.float64), len(buffet.rows) + int(buffet.n_discards.sum())

    def _log_prior(self, buffet: AugmentedState) -> float:
        """Return the log density of all proposals, of the counts of rows, and of log alpha."""
        c, (holders, total) = self._concentration, self._holders(buffet)
        rate = buffet.mass * rows_buffet.harmonic(total, c)
        value = holders.size * math.log(c * buffet.mass) - math.lgamma(holders.size + 1) - rate
        value += float(betaln(holders, total - holders + c).sum())
        ones, counts = buffet.rows.sum(axis=1), self.model.counts
        value += float(counts.log_probs(int(ones.max(initial=0)))[counts.law_of_row, ones].sum())
        if self.model.mass is None:
            value += log_mass_density(buffet.mass)
        return value

    def shown(self, state: AugmentedChain) -> State:
        """Return the rows that were kept, with features that some of them has."""
        rows = state.buffet.rows[:, in_use(state.buffet.rows)]
        laws = mean_log_probs(self.model.counts, rows.shape[1])
        mass = state.buffet.mass
        return State(rows, state.log_odds, mass, self._concentration, laws, state.parameters)

    def restored(self, arrays: Arrays) -> AugmentedChain:
        """Return the state that was written down."""
        sets = tuple(frozenset(r[r >= 0].tolist()) for r in arrays["buffet.discard_counts"])
        kinds = {"buffet": AugmentedState, "parameters": GaussianParameters}
        chain: AugmentedChain = restored(AugmentedChain, arrays, kinds)
        return chain._replace(buffet=chain.buffet._replace(discard_counts=sets))
