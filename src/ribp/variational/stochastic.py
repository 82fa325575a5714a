"""Structured variational inference for many rows: a batch at a time.

All that features, scales, learned laws and weights need to know of the rows are sums over them
(`Totals`). A batch of B of the N rows gives an unbiased estimate of these sums, N/B times its own,
at the q(z_n) that are found for the present features; the running average

    S_t = (1 - rho_t) S_{t-1} + rho_t (N/B) S_batch,     rho_t = (t + delay)^-decay,

is what the others are updated with. Each update is that of `ribp.variational.structured`, so its
fixed point is that of all rows, as far as q(z_n) is the best there is. No q(z_n) is kept: it starts
from the prior and is given a few passes, the first of them with the likelihood raised to a power
below one, without which many rows end in poor optima.

**An iteration** is a pass over the data: batches that do not overlap and leave out no row, in an
order of its own. Every row is drawn from its q(z_n) as the pass finds it, so that there is a Z that
obeys its laws. The bound of an iteration is exact, not an estimate: that of the q(z_n) of all its
batches together with the q(A), scales, q(f) and weights at its end.

**At rest.** With P = sum_n E[z_n z_n'] and D the change of the mean features in a pass, in units of
the noise, what rows are expected to be moves by sqrt(tr(D'PD)/(N dims)), root mean square. When
that is below 0.02 times min(1, sum of rho_t in the pass), or after 50 passes, q of every row is
found once and for all, with more care, and features, scales and weights are updated with the exact
sums.
From then on an iteration does nothing, and draws are draws of that q.

**Features that no row has** are given a use, one in every five batches
(`ribp.variational.unused_features`): the few rows of a start may not have shown all features.

Rows that were kept and updated all along, as in `ribp.variational.structured`, may have better q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts.tables import mean_log_probs, tallied_log_probs
from ribp.kernels import sweep_structured as kernel
from ribp.likelihoods.data import Data
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, State, Tally
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.local import in_memory
from ribp.rows.store import ChainRows, Packed
from ribp.search import sampled_start
from ribp.search.starts import Tick, no_tick
from ribp.variational import point_weights, structured
from ribp.variational.features import FeatureFactor, RowSums, draw_features, with_means
from ribp.variational.point_weights import Weights
from ribp.variational.structured import CAREFUL, StructuredState, evaluate, improve_features
from ribp.variational.structured_rows import (
    Given,
    Pass,
    Passed,
    Swept,
    Totals,
    count_tables,
    count_width,
    layout,
    sweep_rows,
)
from ribp.variational.unused_features import seeded

__all__ = [
    "BatchPlan",
    "StochasticInfo",
    "StochasticState",
    "draw",
    "drawn_rows",
    "estimated_bound",
    "from_structured",
    "resting",
    "start",
    "to_structured",
    "update",
    "use_batch",
]

_HARDLY = 0.1  # rows of a batch that have a feature: with fewer it is spare
_SHARE = 128  # rows of a batch that a thread takes at once


@dataclass(frozen=True)
class BatchPlan:
    """How batches are used."""

    batch: int = 1024
    """B, rows in a batch, about."""
    powers: tuple[float, ...] = (0.1, 0.3, 1.0, 1.0)
    """To which the likelihood is raised in each pass over the rows of a batch."""
    delay: float = 10.0
    decay: float = 0.7
    every: int = 5
    """The weights change in every so many updates."""
    still: float = 0.02
    """Rows that move by less than this part of the noise in a pass are at rest."""
    most_passes: int = 50

    def step(self, n_updates: int) -> float:
        """Return rho after so many updates."""
        return float((n_updates + self.delay) ** -self.decay)


DEFAULT = BatchPlan()


class StochasticState(NamedTuple):
    """Everything but q of the rows, and the running averages of their sums."""

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
    z: Packed
    """Z drawn in the last pass; without rows before the first one, and at rest."""
    bound: float
    """That of the last pass, or at rest."""
    at_rest: bool = False
    """Whether q of every row was found: it is with the rows."""
    n_updates: int = 0
    """How many batches were used."""
    number: int = 0
    """How many passes were made."""


class StochasticInfo(NamedTuple):
    """What an iteration did."""

    bound: float
    moved: float
    """How far it moved what rows are expected to be, in units of the noise."""


# One iteration


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: StochasticState,
    model: Model,
    rows: ChainRows,
    *,
    plan: BatchPlan = DEFAULT,
) -> tuple[StochasticState, StochasticInfo]:
    """Make a pass over the data, and find q of every row if it changed little; nothing at rest."""
    if state.at_rest:
        return state, StochasticInfo(state.bound, 0.0)
    before, n_rows = state, rows.shape[0]
    z, whole = np.zeros((n_rows, -(-model.n_features // 8)), np.uint8), None
    n_batches = max(1, round(n_rows / plan.batch))
    for place, chosen in enumerate(np.array_split(rng.permutation(n_rows), n_batches)):
        at = np.sort(chosen)
        data = rows.take(at)
        state, swept = use_batch(state, model, data, at, plan, rows.store.n_threads)
        if place % plan.every == 0 and place + plan.every < n_batches:
            state = _with_seed(state, model, data, swept.means)
        drawn = np.zeros(swept.row_log_odds.shape, np.int8)
        kernel.draw(seed, state.n_updates, 0, swept.row_log_odds, swept.count_terms, drawn)
        z[at] = pack_rows(drawn)
        whole = swept.totals if whole is None else whole.plus(swept.totals)
    assert whole is not None
    value = evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts, whole
    )
    state = state._replace(z=z, bound=value, number=state.number + 1)
    steps = sum(plan.step(at) for at in range(before.n_updates, state.n_updates))
    moved = _moved(before, state, n_rows)
    if moved < plan.still * min(1.0, steps) or state.number >= plan.most_passes:
        state = _settled(state, model, rows)
    return state, StochasticInfo(state.bound, moved)


def use_batch(
    state: StochasticState,
    model: Model,
    data: Data,
    at: IntArray,
    plan: BatchPlan = DEFAULT,
    n_threads: int = 1,
) -> tuple[StochasticState, Swept]:
    """Find q of the rows `at`, and update everything else with what they say."""
    swept = _fresh_rows(_given(state, model), model, data, at, plan.powers, n_threads, _SHARE)
    rho, totals = plan.step(state.n_updates), swept.totals.scaled(len(model.counts) / at.size)
    both = zip(state.sums, totals.sums, strict=True)
    sums = RowSums(*(_towards(old, new, rho) for old, new in both))
    law_counts = _towards(state.law_counts, totals.law_counts, rho)
    sizes = _towards(state.sizes, totals.sizes, rho)
    weights, n_updates = weights_of(state), state.n_updates + 1
    if n_updates % plan.every == 0:
        weights = point_weights.update(model, weights, sizes, law_counts.sum(axis=0))
    factor, parameters = improve_features(gaussian(model), sums, state.features, state.parameters)
    moved = state._replace(
        sums=sums, sizes=sizes, law_counts=law_counts, features=factor, parameters=parameters,
        n_updates=n_updates, **weights._asdict(),
    )  # fmt: skip
    return moved, swept


def _with_seed(
    state: StochasticState, model: Model, data: Data, means: FloatArray
) -> StochasticState:
    """Return a state in which a feature that batches do not have is given a use, if there is one.

    Until the weights change again it can show what it is good for.
    """
    in_use = state.sizes * data.shape[0] > _HARDLY * len(model.counts.index)
    if in_use.all() or not in_use.any():
        return state
    likelihood, parameters = gaussian(model), state.parameters
    found = seeded(likelihood, data, means, state.features, parameters, state.log_odds, in_use)
    return state._replace(
        **found._asdict(), parameters=with_means(likelihood, found.features.mean, parameters)
    )


def _moved(before: StochasticState, after: StochasticState, n_rows: int) -> float:
    """Return how far what rows are expected to be has moved, in units of the noise."""
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    pairs = after.sums.pairs
    onto = pairs[0] @ change if len(pairs) == 1 else np.einsum("dij,jd->id", pairs, change)
    return math.sqrt(max(float((change * onto).sum()), 0.0) / (n_rows * change.shape[1]))


# To begin, to come to rest, and to show


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    tick: Tick = no_tick,
    n_starts: int = 5,
) -> StochasticState:
    """Return a state found on some of the rows."""
    some = np.sort(rng.permutation(rows.shape[0])[: sampled_start.SAMPLE])
    state, here = structured.searched(rng, model.on_rows(some), rows, some, tick, n_starts)
    return from_structured(state, model, here, some)


def from_structured(
    state: StructuredState, model: Model, rows: ChainRows, some: IntArray
) -> StochasticState:
    """Return a state with the features of a `StructuredState` of some rows.

    Parameters
    ----------
    state, rows
        Of these rows only.
    model
        Of all rows.
    some
        Which rows they are.
    """
    width, scale = count_width(model), len(model.counts) / some.size
    whole = StochasticState(
        RowSums(*(np.empty(0) for _ in RowSums._fields)), np.empty(0),
        scale * structured.law_counts_of(model, state, some), state.features, state.parameters,
        state.log_odds, state.mass, state.concentration,
        np.zeros((0, -(-model.n_features // 8)), np.uint8), -np.inf,
    )  # fmt: skip
    table = np.concatenate([part.copy() for part in rows.parts()])
    wide = np.pad(table, ((0, 0), (0, model.n_features + width - table.shape[1])),
                  constant_values=-np.inf)  # fmt: skip
    here = in_memory(rows.take(np.arange(some.size)))
    again = here.rows(layout(model), model.counts.index[some])
    again.load(wide)
    passed: Passed = again.do(Pass(_given(whole, model), np.uint64(0), 0, move=False))
    assert isinstance(passed.totals, Totals)
    totals = passed.totals.scaled(scale)
    return whole._replace(sums=totals.sums, sizes=totals.sizes, law_counts=totals.law_counts)


def to_structured(
    state: StochasticState, model: Model, rows: ChainRows, powers: Sequence[float] = CAREFUL
) -> StructuredState:
    """Find q of every row given the features, with the exact bound; the rest stays as it is."""
    totals = _all_rows(state, model, rows, powers)
    value = evaluate(
        model, state.features, state.parameters, weights_of(state), totals.law_counts, totals
    )
    return StructuredState(
        state.features, state.parameters, state.log_odds, state.mass, state.concentration,
        totals.law_counts, value, state.number,
    )  # fmt: skip


def estimated_bound(
    state: StochasticState,
    model: Model,
    rows: ChainRows,
    some: IntArray,
    powers: Sequence[float] = CAREFUL,
) -> float:
    """Return an estimate of the bound that `to_structured` finds, from q of some of the rows.

    It would be unbiased if learned laws knew their counts, which are those of the running average.
    """
    given, data = _given(state, model), rows.take(some)
    swept = _fresh_rows(given, model, data, some, powers, rows.store.n_threads)
    totals = swept.totals.scaled(rows.shape[0] / some.size)
    return evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts, totals
    )


def _settled(state: StochasticState, model: Model, rows: ChainRows) -> StochasticState:
    """Return a state at rest: q of every row, then features and scales given these."""
    totals = _all_rows(state, model, rows, CAREFUL)
    factor, parameters = improve_features(
        gaussian(model), totals.sums, state.features, state.parameters
    )
    law_counts = totals.law_counts
    weights = point_weights.update(model, weights_of(state), totals.sizes, law_counts.sum(axis=0))
    return state._replace(
        sums=totals.sums, sizes=totals.sizes, law_counts=law_counts, features=factor,
        parameters=parameters, z=state.z[:0].copy(), at_rest=True, **weights._asdict(),
        bound=evaluate(model, factor, parameters, weights, law_counts, totals),
    )  # fmt: skip


def resting(rng: np.random.Generator, model: Model, rows: ChainRows) -> StochasticState:
    """Return a state at rest at the prior, to see how long a draw takes."""
    some = np.arange(min(rows.shape[0], _SHARE))
    part, data = model.on_rows(some), rows.take(some)
    drawn = part.draw_prior(rng, rows.shape[1])
    guess = model.likelihood.first_guess(data, model.n_features)
    here = in_memory(data).rows(layout(part), part.counts.index)
    first = structured.from_rows(part, here, drawn.rows, drawn._replace(parameters=guess))
    state = from_structured(first, model, here, some)
    rows.do(Pass(_given(state, model), np.uint64(0), 0, (), fresh=True))
    return state._replace(at_rest=True)


def drawn_rows(
    rng: np.random.Generator,
    seed: np.uint64,
    state: StochasticState,
    model: Model,
    rows: ChainRows,
) -> tuple[StochasticState, Tally]:
    """Return the tally of a draw of Z, and the state that has it.

    At rest Z is drawn afresh; before, it is that of the last pass, or of the prior if there was
    none.
    """
    if state.at_rest:
        passed: Passed = rows.do(Pass(_given(state, model), seed, 0, ()))
        return state, passed.tally
    if state.number == 0:
        laws = mean_log_probs(model.counts, model.n_features)
        state = state._replace(z=pack_rows(model.draw_rows(rng, state.log_odds, laws)))
    return state, model.tally(unpack_rows(state.z, model.n_features))


def draw(rng: np.random.Generator, state: StochasticState, model: Model, tally: Tally) -> State:
    """Return a state without rows: A drawn from q, learned laws given Z, and the points."""
    parameters = draw_features(rng, gaussian(model), state.features, state.parameters)
    laws = tallied_log_probs(rng, model.counts, tally.histograms)
    none = np.zeros((0, model.n_features), np.int8)
    return State(
        none, state.log_odds, state.mass, state.concentration, laws, parameters, state.number
    )


# Parts


def weights_of(state: StochasticState) -> Weights:
    """Return the weights of a state."""
    return Weights(state.log_odds, state.mass, state.concentration)


def _all_rows(
    state: StochasticState, model: Model, rows: ChainRows, powers: Sequence[float]
) -> Totals:
    """Find q of every row from the prior, and return their totals."""
    order = Pass(_given(state, model), np.uint64(0), 0, tuple(powers), fresh=True)
    passed: Passed = rows.do(order)
    assert isinstance(passed.totals, Totals)
    return passed.totals


def _fresh_rows(
    given: Given,
    model: Model,
    data: Data,
    at: IntArray,
    powers: Sequence[float],
    n_threads: int,
    block: int = 512,
) -> Swept:
    """Return the rows `at` after some passes that begin at the prior."""
    law_of_row = model.counts.index[at]
    return sweep_rows(
        given, data, law_of_row, np.repeat(given.log_odds[None], at.size, axis=0),
        given.tables[law_of_row, : count_width(model)], powers=powers, n_threads=n_threads,
        block=block, names=at,
    )  # fmt: skip


def _given(state: StochasticState, model: Model) -> Given:
    tables = count_tables(model, state.log_odds, state.law_counts)
    noise = state.parameters.noise_scale
    return Given(gaussian(model), state.features, noise, state.log_odds, tables)


def _towards(old: FloatArray, new: FloatArray, step: float) -> FloatArray:
    return np.asarray((1.0 - step) * old + step * new)
