"""Structured variational inference for many rows: a batch at a time.

All that features, scales, learned laws and weights need to know of the rows are sums over them
(`RowSums`, expected sizes of features, expected numbers of each count). A batch of B of the N rows
gives an unbiased estimate of these sums, N/B times its own, at the q(z_n) that are best for the
present features; the running average

    S_t = (1 - rho_t) S_{t-1} + rho_t (N/B) S_batch,     rho_t = (t + delay)^-decay,

is what the others are updated with. Each update is that of `ribp.variational.structured`, so its
fixed point is that of all rows, as far as q(z_n) is the best there is. Nothing is kept of a row:
its q(z_n) starts from the prior and is given a few passes, the first of them with the likelihood
raised to a power below one, without which many rows end in poor optima. `to_structured` finds q of
every row at the end, more carefully, with the exact bound. Rows that were kept and updated all
along may still have better ones.

A batch is a random set of rows; the batches of one round through the data do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods.base import Data
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.mcmc.rows_collapsed import gaussian
from ribp.mcmc.start import Tick, no_tick
from ribp.model import Model
from ribp.variational import point_weights, structured
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import Weights
from ribp.variational.structured import StructuredState, improve_features
from ribp.variational.structured_rows import Given, Swept, count_tables, count_width, sweep_rows

__all__ = [
    "Plan",
    "StochasticInfo",
    "StochasticState",
    "from_structured",
    "start",
    "to_structured",
    "update",
]

_MOST_ROWS = 2000  # of a start
_FIRST_UPDATES = 10
_CAREFUL = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.0)


@dataclass(frozen=True)
class Plan:
    """How batches are used."""

    batch: int = 512
    """B, rows in a batch."""
    powers: tuple[float, ...] = (0.1, 0.3, 1.0, 1.0)
    """To which the likelihood is raised in each pass over the rows of a batch."""
    delay: float = 10.0
    decay: float = 0.7
    every: int = 5
    """The weights change in every so many updates."""


DEFAULT = Plan()


class StochasticState(NamedTuple):
    """Everything but the rows, and the running averages of their sums."""

    sums: RowSums
    sizes: FloatArray
    """sum_n E[z_ni], shape (features,)."""
    law_counts: FloatArray
    """Expected numbers of rows with each count, shape (laws, features + 1)."""
    features: FeatureFactor
    """q(A)."""
    parameters: GaussianParameters
    """Scales, and the mean features."""
    log_odds: FloatArray
    """theta, shape (features,)."""
    mass: float
    """alpha."""
    concentration: float
    """c."""
    order: IntArray
    """The rows, in the order of this round."""
    number: int = 0
    """How many updates were made."""


class StochasticInfo(NamedTuple):
    """What an update did."""

    step: float
    """rho."""
    change: float
    """The largest change of a mean feature, in units of its noise."""


def start(
    rng: np.random.Generator, model: Model, data: Data, tick: Tick = no_tick, n_starts: int = 5
) -> StochasticState:
    """Return a state found on some of the rows."""
    n_rows = len(data.values)
    some = np.sort(rng.permutation(n_rows)[:_MOST_ROWS])
    part, here = model.on_rows(some), data.rows(some)
    state = structured.start(rng, part, here, tick, n_starts)
    for _ in range(_FIRST_UPDATES):
        state, _ = structured.update(rng, np.uint64(0), state, part, here, every=5)
    return from_structured(state, model, data, some)


def from_structured(
    state: StructuredState, model: Model, data: Data, rows: IntArray | None = None
) -> StochasticState:
    """Return a state with the features of a `StructuredState` of all rows, or of those given."""
    n_rows = len(data.values)
    at = np.arange(n_rows) if rows is None else rows
    law_counts = _law_counts(model, state, at) * (n_rows / at.size)
    given = _given(model, state.features, state.parameters, state.log_odds, law_counts)
    here, which = data.rows(at), model.counts.index[at]
    terms = np.full((at.size, count_width(model)), -np.inf)
    terms[:, : state.count_terms.shape[1]] = state.count_terms
    swept = sweep_rows(given, here, which, state.row_log_odds, terms, move=False)
    return StochasticState(
        *_scaled(swept, n_rows / at.size), state.features, state.parameters, state.log_odds,
        state.mass, state.concentration, np.arange(n_rows),
    )  # fmt: skip


def update(
    rng: np.random.Generator,
    state: StochasticState,
    model: Model,
    data: Data,
    plan: Plan = DEFAULT,
    n_threads: int = 1,
) -> tuple[StochasticState, StochasticInfo]:
    """Use one batch."""
    n_rows = len(data.values)
    size = min(plan.batch, n_rows)
    place = state.number % (n_rows // size)
    order = rng.permutation(n_rows) if place == 0 else state.order
    at = np.sort(order[place * size : (place + 1) * size])
    given = _given(model, state.features, state.parameters, state.log_odds, state.law_counts)
    swept = _fresh_rows(given, model, data, at, plan.powers, n_threads)
    rho = (state.number + plan.delay) ** -plan.decay
    sums, sizes, law_counts = _scaled(swept, n_rows / size)
    sums = RowSums(*(_towards(old, new, rho) for old, new in zip(state.sums, sums, strict=True)))
    moved = state._replace(
        sums=sums,
        sizes=_towards(state.sizes, sizes, rho),
        law_counts=_towards(state.law_counts, law_counts, rho),
        order=order,
        number=state.number + 1,
    )
    if moved.number % plan.every == 0:
        histogram = moved.law_counts.sum(axis=0)
        weights = Weights(moved.log_odds, moved.mass, moved.concentration)
        fresh = point_weights.update(model, weights, moved.sizes, histogram)
        moved = moved._replace(**fresh._asdict())
    factor, parameters = improve_features(
        gaussian(model), moved.sums, state.features, state.parameters
    )
    moved = moved._replace(features=factor, parameters=parameters)
    change = np.abs((factor.mean - state.features.mean) / parameters.noise_scale)
    return moved, StochasticInfo(rho, float(change.max(initial=0.0)))


def to_structured(
    state: StochasticState,
    model: Model,
    data: Data,
    powers: Sequence[float] = _CAREFUL,
    n_threads: int = 1,
) -> StructuredState:
    """Return q of every row given the features, with the exact bound; the rest stays as it is."""
    given = _given(model, state.features, state.parameters, state.log_odds, state.law_counts)
    swept = _fresh_rows(given, model, data, np.arange(len(data.values)), powers, n_threads)
    whole = StructuredState(
        swept.row_log_odds, swept.count_terms, swept.means, state.features, state.parameters,
        state.log_odds, state.mass, state.concentration, swept.law_counts, -np.inf, state.number,
    )  # fmt: skip
    return whole._replace(bound=structured.evaluate(whole, model, swept))


def _fresh_rows(
    given: Given, model: Model, data: Data, at: IntArray, powers: Sequence[float], n_threads: int
) -> Swept:
    """Return rows after some passes that begin at the prior."""
    which, here = model.counts.index[at], data.rows(at)
    log_odds = np.repeat(given.log_odds[None], at.size, axis=0)
    terms = given.tables[which, : count_width(model)]
    for power in powers:
        swept = sweep_rows(given, here, which, log_odds, terms, power=power, n_threads=n_threads)
        log_odds, terms = swept.row_log_odds, swept.count_terms
    return swept


def _given(
    model: Model,
    factor: FeatureFactor,
    parameters: GaussianParameters,
    log_odds: FloatArray,
    law_counts: FloatArray,
) -> Given:
    tables = count_tables(model, log_odds, law_counts)
    return Given(gaussian(model), factor, parameters.noise_scale, log_odds, tables)


def _scaled(swept: Swept, factor: float) -> tuple[RowSums, FloatArray, FloatArray]:
    """Return sums, sizes and numbers of counts, as if there were `factor` times as many rows."""
    sums = RowSums(*(factor * part for part in swept.sums))
    return sums, factor * swept.means.sum(axis=0), factor * swept.law_counts


def _towards(old: FloatArray, new: FloatArray, step: float) -> FloatArray:
    return np.asarray((1.0 - step) * old + step * new)


def _law_counts(model: Model, state: StructuredState, at: IntArray) -> FloatArray:
    """Return the expected counts of laws known to the whole model, from a state of some rows."""
    whole = np.zeros((len(model.counts.laws), state.law_counts.shape[1]))
    _, first = np.unique(model.counts.index[at], return_index=True)
    whole[model.counts.index[at][np.sort(first)]] = state.law_counts
    return whole
