"""Structured variational inference for many rows: a batch at a time.

All that features, scales, learned laws and weights need of the rows are sums over them
(`RowTotals`). A batch of B of the N rows gives an unbiased estimate of these sums, N/B times its
own, at the q(z_n) computed for the present features; the running average

    S_t = (1 - rho_t) S_{t-1} + rho_t (N/B) S_batch,     rho_t = (t + delay)^-decay,

is what the others are updated with. Each update is that of `ribp.variational.structured`, so its
fixed point is that of all rows, as far as q(z_n) is the best there is. No q(z_n) is stored: it
starts from the prior and gets a few passes, the first of them with the likelihood raised to a power
below one, without which many rows end in poor optima.

**An iteration** is a pass over the data: batches that do not overlap and leave out no row, in an
order of its own. Every row is drawn from its q(z_n) as the pass computes it, so that there is a Z
that obeys its laws. The bound of an iteration is exact, not an estimate: that of the q(z_n) of all
its batches together with the q(A), scales, q(f) and weights at its end.

**At rest.** With P = sum_n E[z_n z_n'] and D the change of the mean features in a pass, in units of
the noise, what rows are expected to be moves by sqrt(tr(D'PD)/(N dims)), root mean square. When
that is below 0.02 times min(1, sum of rho_t in the pass), or after 50 passes, q of every row is
found once and for all, with more care, and features, scales and weights are updated with the exact
sums.
From then on an iteration does nothing, and draws are draws of that q.

**Features that no row has** get a use, one in every five batches
(`ribp.variational.unused_features`): the few rows of a start may not have shown all features.

Rows that are stored and updated all along, as in `ribp.variational.structured`, may have better q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts.tables import mean_log_probs
from ribp.kernels import sweep_structured as kernel
from ribp.likelihoods.data import Data
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, Tally
from ribp.recording import pack_rows, unpack_rows
from ribp.rows.local import in_memory
from ribp.rows.store import ChainRows
from ribp.search.pool import Start
from ribp.variational import point_weights, structured
from ribp.variational.features import RowSums, with_means
from ribp.variational.state import StochasticState, VariationalState, weights_of
from ribp.variational.structured import CAREFUL, evaluate, global_factors, improve_features
from ribp.variational.structured_rows import (
    GlobalFactors,
    Pass,
    Passed,
    UpdatedRows,
    count_width,
    layout,
    sweep_rows,
    totals_after,
)
from ribp.variational.unused_features import seeded

_HARDLY = 0.1  # rows of a batch that have a feature: with fewer it is unused
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


# One iteration


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: StochasticState,
    model: Model,
    rows: ChainRows,
    *,
    plan: BatchPlan = DEFAULT,
) -> tuple[StochasticState, float]:
    """Make a pass over the data, and come to rest if it changed little; nothing at rest.

    Also returned is how far the expected rows moved, root mean square in units of the noise.
    """
    if state.at_rest:
        return state, 0.0
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
    value = evaluate(model, state, whole)
    state = state._replace(z=z, bound=value, number=state.number + 1)
    steps = sum(plan.step(at) for at in range(before.n_updates, state.n_updates))
    moved = _moved(before, state, n_rows)
    if moved < plan.still * min(1.0, steps) or state.number >= plan.most_passes:
        state = _settled(state, model, rows)
    return state, moved


def use_batch(
    state: StochasticState,
    model: Model,
    data: Data,
    at: IntArray,
    plan: BatchPlan = DEFAULT,
    n_threads: int = 1,
) -> tuple[StochasticState, UpdatedRows]:
    """Find q of the rows `at`, and update everything else with what they say."""
    factors = global_factors(state, model)
    swept = _fresh_rows(factors, model, data, at, plan.powers, n_threads, _SHARE)
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
    """Return a state in which one feature that batches do not have gets a use, if there is one.

    Until the weights change again it can show what it is good for.
    """
    in_use = state.sizes * data.shape[0] > _HARDLY * len(model.counts)
    if in_use.all() or not in_use.any():
        return state
    likelihood, parameters = gaussian(model), state.parameters
    factor, log_odds = seeded(
        likelihood, data, means, state.features, parameters, state.log_odds, in_use
    )
    parameters = with_means(likelihood, factor.mean, parameters)
    return state._replace(features=factor, log_odds=log_odds, parameters=parameters)


def _moved(before: StochasticState, after: StochasticState, n_rows: int) -> float:
    """Return the root mean square change of the expected rows, in units of the noise."""
    change = (after.features.mean - before.features.mean) / after.parameters.noise_scale
    pairs = after.sums.pairs
    onto = pairs[0] @ change if len(pairs) == 1 else np.einsum("dij,jd->id", pairs, change)
    return math.sqrt(max(float((change * onto).sum()), 0.0) / (n_rows * change.shape[1]))


# To begin, to come to rest, and to show


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    begin: Start,
) -> StochasticState:
    """Return a state fitted to the rows that were searched."""
    state, here = structured.searched(rng, model, rows, begin)
    return from_structured(state, model, here, begin.some)


def from_structured(
    state: VariationalState, model: Model, rows: ChainRows, some: IntArray
) -> StochasticState:
    """Return a state with the features of a `VariationalState` of some rows.

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
    again = here.rows(layout(model), model.counts.law_of_row[some])
    again.load(wide)
    order = Pass(global_factors(whole, model), np.uint64(0), 0, move=False)
    totals = totals_after(again, order).scaled(scale)
    return whole._replace(sums=totals.sums, sizes=totals.sizes, law_counts=totals.law_counts)


def to_structured(
    state: StochasticState, model: Model, rows: ChainRows, powers: Sequence[float] = CAREFUL
) -> VariationalState:
    """Compute q of every row given the features, and the exact bound; the rest stays as it is."""
    totals = totals_after(rows, _from_prior(state, model, powers))
    result = VariationalState(
        state.features, state.parameters, *weights_of(state), totals.law_counts, -np.inf,
        state.number,
    )  # fmt: skip
    return result._replace(bound=evaluate(model, result, totals))


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
    factors, data = global_factors(state, model), rows.take(some)
    swept = _fresh_rows(factors, model, data, some, powers, rows.store.n_threads)
    return evaluate(model, state, swept.totals.scaled(rows.shape[0] / some.size))


def _settled(state: StochasticState, model: Model, rows: ChainRows) -> StochasticState:
    """Return a state at rest: q of every row, then features and scales given these."""
    totals = totals_after(rows, _from_prior(state, model, CAREFUL))
    state = structured.finish(structured.with_best_weights(state, model, totals), model, totals)
    return state._replace(sums=totals.sums, sizes=totals.sizes, z=state.z[:0].copy(), at_rest=True)


def resting(rng: np.random.Generator, model: Model, rows: ChainRows) -> StochasticState:
    """Return a state at rest at the prior, to see how long a draw takes."""
    some = np.arange(min(rows.shape[0], _SHARE))
    part, data = model.on_rows(some), rows.take(some)
    drawn = part.draw_prior(rng, rows.shape[1])
    guess = model.likelihood.first_guess(data, model.n_features)
    here = in_memory(data).rows(layout(part), part.counts.law_of_row)
    first = structured.from_rows(part, here, drawn.rows, drawn._replace(parameters=guess))
    state = from_structured(first, model, here, some)
    rows.do(Pass(global_factors(state, model), np.uint64(0), 0, (), fresh=True))
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
        passed: Passed = rows.do(Pass(global_factors(state, model), seed, 0, ()))
        return state, passed.tally
    if state.number == 0:
        laws = mean_log_probs(model.counts, model.n_features)
        state = state._replace(z=pack_rows(model.draw_rows(rng, state.log_odds, laws)))
    return state, model.tally(unpack_rows(state.z, model.n_features))


# Parts


def _from_prior(state: StochasticState, model: Model, powers: Sequence[float]) -> Pass:
    """Return the pass that computes q of every row from the prior."""
    return Pass(global_factors(state, model), np.uint64(0), 0, tuple(powers), fresh=True)


def _fresh_rows(
    factors: GlobalFactors,
    model: Model,
    data: Data,
    at: IntArray,
    powers: Sequence[float],
    n_threads: int,
    block: int = 512,
) -> UpdatedRows:
    """Return the rows `at` after some passes that begin at the prior."""
    law_of_row = model.counts.law_of_row[at]
    return sweep_rows(
        factors, data, law_of_row, np.repeat(factors.log_odds[None], at.size, axis=0),
        factors.tables[law_of_row, : count_width(model)], powers=powers, n_threads=n_threads,
        block=block, names=at,
    )  # fmt: skip


def _towards(old: FloatArray, new: FloatArray, step: float) -> FloatArray:
    return np.asarray((1.0 - step) * old + step * new)
