"""Exact posterior sampling without weights, by bringing back the rows that were discarded.

Row n of the restricted process is the last of a block: J_n ~ f_n, then rows of an Indian buffet
(mass alpha, concentration c, no discount) until one has J_n ones. All rows before it were
discarded, yet they count for what comes later. With the discards as auxiliary variables the joint
law is explicit: over all M proposals of all blocks, kept or not, it is

    IBP(all proposals | alpha) * prod_n f_n(|z_n|) 1[no discard of block n has |z_n| ones] * L(Z),

and nothing else depends on alpha: each block ends by itself, so there is no normaliser. Hence, with
K features among all proposals and prior alpha ~ Gamma(a, b),

    alpha | rest ~ Gamma(a + K, b + sum_{j=1..M} c/(c+j-1)).

One sweep makes the moves of `augmented_moves` for each row. No truncation of the features at all,
and a price that is often too high: the expected number of discards is E[1/S_J], S_J the chance of J
ones given the measure; at c = 1 it is infinite, with P(1/S_J > y) ~ y^{-c alpha/J}. `forecast`
says beforehand what to expect. A limit that is met is an error: stopping there would
condition the draw. With a learned mass and few features the discards are beyond any limit now and
then, because a small alpha asks for so many. For small problems, and as a check of other samplers.

The discards of a block enter by the sums of their columns, their number and the set of their counts
of ones; these are the state. Memory does not grow with their number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from ribp import checks
from ribp.checks import FloatArray, IntArray
from ribp.counts import Learned, RowCounts
from ribp.errors import InputError
from ribp.mcmc import augmented_moves as moves
from ribp.mcmc.augmented_moves import AugmentedState, Buffet, LogLikelihood
from ribp.measures import BetaProcess
from ribp.poisson_binomial import PoissonBinomial

MAX_DISCARDS = 10**6
MASS_PRIOR = (1.0, 1.0)
_TOLERATED = 0.01


class AugmentedInfo(NamedTuple):
    """What a sweep did: rates of acceptance, or changes per row, and where it ended."""

    block: float  # accepted redraws of a whole block
    flips: float  # entries changed, per row
    own: float  # accepted births and deaths of a feature that only one proposal has
    moved: float  # ones moved, per row
    discards: float  # accepted redraws of discards alone
    n_discards: int
    log_likelihood: float


class Forecast(NamedTuple):
    """Discards to expect for all rows together, under the prior; their mean is often infinite."""

    quartiles: tuple[float, float, float]
    share_beyond: float  # of draws of the prior that need more than max_discards

    @property
    def feasible(self) -> bool:
        """Whether no more than one draw in a hundred needs more than max_discards."""
        return self.share_beyond <= _TOLERATED


def draw_prior(
    rng: np.random.Generator,
    counts: RowCounts,
    mass: float | None,
    concentration: float,
    max_discards: int = MAX_DISCARDS,
    mass_prior: tuple[float, float] = MASS_PRIOR,
) -> AugmentedState:
    """Draw rows and discards from the prior; `mass` None draws it from Gamma(shape, rate)."""
    _check(counts, concentration)
    n_rows = len(counts)
    empty = AugmentedState(
        rows=np.zeros((n_rows, 0), np.int8),
        discard_sums=np.zeros((n_rows, 0), np.int64),
        n_discards=np.zeros(n_rows, np.int64),
        discard_counts=(frozenset(),) * n_rows,
        mass=_prior_mass(rng, mass, mass_prior),
        number=0,
    )
    buffet = Buffet(empty, counts, concentration, lambda rows: 0.0, max_discards)
    for n, ones in enumerate(counts.sample(rng).tolist()):
        so_far = n + int(buffet.numbers.sum())
        block = buffet.propose(rng, n, buffet.holders, so_far, ones)
        buffet.settle(n, block.row, block)
    return buffet.state(0)


def update(
    rng: np.random.Generator,
    state: AugmentedState,
    counts: RowCounts,
    concentration: float,
    log_likelihood: LogLikelihood,
    *,
    learn_mass: bool,
    max_discards: int = MAX_DISCARDS,
    mass_prior: tuple[float, float] = MASS_PRIOR,
) -> tuple[AugmentedState, AugmentedInfo]:
    """Make one sweep: every move for every row, then the mass.

    Parameters
    ----------
    rng, state
        The generator and where the chain is.
    counts
        The count law of every row; known, so not `learned`.
    concentration
        c > 0.
    log_likelihood
        From kept rows, int8 of shape (rows, features that some kept row has), to log p(data | rows)
        up to a constant. It must not depend on the order of the columns, and must be finite at
        the state's rows.
    learn_mass
        Whether the mass is drawn too, under the prior Gamma(shape, rate) of `mass_prior`.
    max_discards
        Above so many discards in all, an error is raised.
    mass_prior
        Shape and rate.
    """
    _check(counts, concentration)
    if len(state.rows) != len(counts):
        raise InputError(
            "counts",
            f"must have a law for each of the {len(state.rows)} rows",
            f"{len(counts)} laws",
            "Pass the counts that the state was drawn with.",
        )
    buffet = Buffet(state, counts, concentration, log_likelihood, max_discards)
    if not math.isfinite(buffet.log_lik):
        raise InputError(
            "log_likelihood",
            "must be finite at the current rows",
            buffet.log_lik,
            "Start the chain elsewhere.",
        )
    made = np.zeros(5)
    for n in range(len(counts)):
        made[0] += moves.redraw_block(rng, buffet, n)
        made[1:4] += moves.change_row(rng, buffet, n)
        made[4] += moves.redraw_discards(rng, buffet, n)
    if learn_mass:
        buffet.mass = draw_mass(rng, buffet.state(0), concentration, mass_prior)
    block, flips, own, moved, discards = (made / len(counts)).tolist()
    n_discards = int(buffet.numbers.sum())
    info = AugmentedInfo(block, flips, own, moved, discards, n_discards, buffet.log_lik)
    return buffet.state(state.number + 1), info


def draw_mass(
    rng: np.random.Generator,
    state: AugmentedState,
    concentration: float,
    prior: tuple[float, float] = MASS_PRIOR,
) -> float:
    """Draw alpha given all proposals, kept or not."""
    proposals = len(state.rows) + int(state.n_discards.sum())
    expected = digamma(concentration + proposals) - digamma(concentration)
    shape, rate = prior[0] + state.rows.shape[1], prior[1] + concentration * expected
    return float(rng.standard_gamma(shape) / rate)


def forecast(
    rng: np.random.Generator,
    counts: RowCounts,
    mass: float | None,
    concentration: float,
    max_discards: int = MAX_DISCARDS,
    mass_prior: tuple[float, float] = MASS_PRIOR,
    n_draws: int = 200,
) -> Forecast:
    """Say how many discards to expect, from draws of the measure and of the counts.

    Given the measure, row n discards 1/S_J - 1 proposals on average. The posterior can need more
    or fewer; what the prior cannot do the posterior seldom can.
    """
    _check(counts, concentration)
    totals = np.array(
        [
            _expected(rng, counts.sample(rng), _prior_mass(rng, mass, mass_prior), concentration)
            for _ in range(n_draws)
        ]
    )
    low, middle, high = np.quantile(totals, [0.25, 0.5, 0.75], method="inverted_cdf").tolist()
    return Forecast((low, middle, high), float((totals > max_discards).mean()))


def _expected(rng: np.random.Generator, ones: IntArray, mass: float, concentration: float) -> float:
    """Return sum_n (1/S_{J_n} - 1) for one draw of the measure."""
    atoms = int(ones.max(initial=0) + 16 * (1.0 + mass * max(1.0, concentration)))
    log_odds = BetaProcess(mass, concentration).size_ordered(rng, atoms)
    probs: FloatArray = PoissonBinomial(log_odds).pmf(ones)
    with np.errstate(divide="ignore"):
        return float((1.0 / probs - 1.0).sum())


def _prior_mass(rng: np.random.Generator, mass: float | None, prior: tuple[float, float]) -> float:
    if mass is None:
        return float(rng.standard_gamma(prior[0]) / prior[1])
    return checks.positive("mass", mass)


def _check(counts: RowCounts, concentration: float) -> None:
    checks.positive("concentration", concentration)
    learned = [law for law in counts.laws if isinstance(law, Learned)]
    if learned:
        raise InputError(
            "counts",
            "must be known laws",
            repr(learned[0]),
            "Draw its table first, law.draw_table(rng), or use method='gibbs'.",
        )
