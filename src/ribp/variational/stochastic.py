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

**Features that no row has** are given a use, one in every five batches (`ribp.variational.spare`):
the few rows of a start may not have shown all features.

Rows that were kept and updated all along, as in `ribp.variational.structured`, may have better q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts.tables import draw_log_probs, mean_log_probs
from ribp.kernels import rows_structured as kernel
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.mcmc.rows_collapsed import gaussian
from ribp.mcmc.start import Tick, no_tick
from ribp.model import Model, State
from ribp.variational import point_weights, structured
from ribp.variational.features import FeatureFactor, RowSums, draw_features, with_means
from ribp.variational.point_weights import Weights
from ribp.variational.spare import seeded
from ribp.variational.structured import StructuredState, evaluate, improve_features
from ribp.variational.structured_rows import (
    Given,
    Swept,
    Totals,
    count_tables,
    count_width,
    sweep_rows,
)

__all__ = [
    "CAREFUL",
    "Plan",
    "StochasticInfo",
    "StochasticState",
    "draw",
    "estimated_bound",
    "from_structured",
    "law_counts_of",
    "resting",
    "searched",
    "start",
    "to_structured",
    "update",
    "use_batch",
]

_MOST_ROWS = 2000  # of a start
_FIRST_UPDATES = 10
CAREFUL = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.0)
"""Powers of the likelihood in the passes that find q of a row from the prior."""
_CHUNK = 2**14  # rows whose last q is found at once
_HARDLY = 0.1  # rows of a batch that have a feature: with fewer it is spare
_SHARE = 128  # rows of a batch that a thread takes at once


@dataclass(frozen=True)
class Plan:
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


DEFAULT = Plan()


class StochasticState(NamedTuple):
    """Everything but q of the rows, and the running averages of their sums; at rest also q."""

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
    rows: Rows
    """Z drawn in the last pass; without rows before the first one, and at rest."""
    row_log_odds: FloatArray
    """lambda, shape (rows, features), at rest; without rows before."""
    count_terms: FloatArray
    """g, shape (rows, counts), at rest; without rows before."""
    bound: float
    """That of the last pass, or at rest."""
    n_updates: int = 0
    """How many batches were used."""
    number: int = 0
    """How many passes were made."""

    @property
    def at_rest(self) -> bool:
        """Whether q of every row was found."""
        return len(self.row_log_odds) > 0


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
    data: Data,
    *,
    plan: Plan = DEFAULT,
    n_threads: int = 1,
) -> tuple[StochasticState, StochasticInfo]:
    """Make a pass over the data, and find q of every row if it changed little; nothing at rest."""
    if state.at_rest:
        return state, StochasticInfo(state.bound, 0.0)
    before, n_rows = state, data.shape[0]
    rows, whole = np.zeros((n_rows, model.n_features), np.int8), None
    n_batches = max(1, round(n_rows / plan.batch))
    for place, chosen in enumerate(np.array_split(rng.permutation(n_rows), n_batches)):
        at = np.sort(chosen)
        state, swept = use_batch(state, model, data, at, plan, n_threads)
        if place % plan.every == 0 and place + plan.every < n_batches:
            state = _with_seed(state, model, data.rows(at), swept.means)
        drawn = np.zeros(swept.row_log_odds.shape, np.int8)
        kernel.draw(seed, state.n_updates, 0, swept.row_log_odds, swept.count_terms, drawn)
        rows[at] = drawn
        whole = swept.totals if whole is None else whole.plus(swept.totals)
    assert whole is not None
    value = evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts, whole
    )
    state = state._replace(rows=rows, bound=value, number=state.number + 1)
    steps = sum(plan.step(at) for at in range(before.n_updates, state.n_updates))
    moved = _moved(before, state, n_rows)
    if moved < plan.still * min(1.0, steps) or state.number >= plan.most_passes:
        state = _settled(state, model, data, n_threads)
    return state, StochasticInfo(state.bound, moved)


def use_batch(
    state: StochasticState,
    model: Model,
    data: Data,
    at: IntArray,
    plan: Plan = DEFAULT,
    n_threads: int = 1,
) -> tuple[StochasticState, Swept]:
    """Find q of some rows, and update everything else with what they say."""
    swept = _fresh_rows(_given(state, model), model, data, at, plan.powers, n_threads, _SHARE)
    rho, totals = plan.step(state.n_updates), swept.totals.scaled(data.shape[0] / at.size)
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
    rng: np.random.Generator, model: Model, data: Data, tick: Tick = no_tick, n_starts: int = 5
) -> StochasticState:
    """Return a state found on some of the rows."""
    n_rows = data.shape[0]
    some = np.sort(rng.permutation(n_rows)[:_MOST_ROWS])
    state = searched(rng, model.on_rows(some), data.rows(some), tick, n_starts)
    return from_structured(state, model, data, some)


def searched(
    rng: np.random.Generator, model: Model, data: Data, tick: Tick, n_starts: int
) -> StructuredState:
    """Return a state of some rows, as if there were no others, from which all can begin."""
    state = structured.start(rng, model, data, tick, n_starts)
    for _ in range(_FIRST_UPDATES):
        state, _ = structured.update(rng, np.uint64(0), state, model, data, every=5)
    return state


def from_structured(
    state: StructuredState, model: Model, data: Data, rows: IntArray | None = None
) -> StochasticState:
    """Return a state with the features of a `StructuredState` of all rows, or of those given."""
    n_rows = data.shape[0]
    at = np.arange(n_rows) if rows is None else rows
    width, scale = count_width(model), n_rows / at.size
    law_counts = scale * law_counts_of(model, state, at)
    whole = StochasticState(
        RowSums(*(np.empty(0) for _ in RowSums._fields)), np.empty(0), law_counts, state.features,
        state.parameters, state.log_odds, state.mass, state.concentration,
        np.zeros((0, model.n_features), np.int8), np.zeros((0, model.n_features)),
        np.zeros((0, width)), -np.inf,
    )  # fmt: skip
    terms = np.full((at.size, width), -np.inf)
    terms[:, : state.count_terms.shape[1]] = state.count_terms
    swept = sweep_rows(
        _given(whole, model), data.rows(at), model.counts.index[at], state.row_log_odds, terms,
        move=False,
    )  # fmt: skip
    totals = swept.totals.scaled(scale)
    return whole._replace(sums=totals.sums, sizes=totals.sizes, law_counts=totals.law_counts)


def to_structured(
    state: StochasticState,
    model: Model,
    data: Data,
    powers: Sequence[float] = CAREFUL,
    n_threads: int = 1,
) -> StructuredState:
    """Return q of every row given the features, with the exact bound; the rest stays as it is."""
    return _all_rows(state, model, data, powers, n_threads)[0]


def estimated_bound(
    state: StochasticState,
    model: Model,
    data: Data,
    rows: IntArray,
    powers: Sequence[float] = CAREFUL,
    n_threads: int = 1,
) -> float:
    """Return an estimate of the bound that `to_structured` finds, from q of some of the rows.

    It would be unbiased if learned laws knew their counts, which are those of the running average.
    """
    swept = _fresh_rows(_given(state, model), model, data, rows, powers, n_threads)
    totals = swept.totals.scaled(data.shape[0] / rows.size)
    return evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts, totals
    )


def _settled(
    state: StochasticState, model: Model, data: Data, n_threads: int = 1
) -> StochasticState:
    """Return a state at rest: q of every row, then features and scales given these."""
    whole, totals = _all_rows(state, model, data, CAREFUL, n_threads)
    factor, parameters = improve_features(
        gaussian(model), totals.sums, state.features, state.parameters
    )
    law_counts = totals.law_counts
    weights = point_weights.update(model, weights_of(state), totals.sizes, law_counts.sum(axis=0))
    return state._replace(
        sums=totals.sums, sizes=totals.sizes, law_counts=law_counts, features=factor,
        parameters=parameters, rows=state.rows[:0].copy(), row_log_odds=whole.row_log_odds,
        count_terms=whole.count_terms, **weights._asdict(),
        bound=evaluate(model, factor, parameters, weights, law_counts, totals),
    )  # fmt: skip


def resting(rng: np.random.Generator, model: Model, data: Data) -> StochasticState:
    """Return a state at rest at the prior, to see how long a draw takes."""
    drawn = model.draw_prior(rng, data.shape[1])
    guess = model.likelihood.first_guess(data, model.n_features)
    some = np.arange(min(data.shape[0], _SHARE))
    part, here = model.on_rows(some), data.rows(some)
    first = structured.from_rows(part, here, drawn.rows[some], drawn._replace(parameters=guess))
    state = from_structured(first, model, data, some)
    terms = _given(state, model).tables[:, : count_width(model)]
    return state._replace(
        row_log_odds=np.repeat(state.log_odds[None], data.shape[0], axis=0),
        count_terms=terms[model.counts.index],
    )


def draw(
    rng: np.random.Generator, seed: np.uint64, state: StochasticState, model: Model, data: Data
) -> State:
    """Return a state with Z and A drawn from q, learned laws given Z, and the points.

    Z is drawn afresh at rest; before, it is that of the last pass, or of the prior if there was
    none.
    """
    rows = state.rows
    if state.at_rest:
        rows = np.zeros(state.row_log_odds.shape, np.int8)
        kernel.draw(seed, 0, 0, state.row_log_odds, state.count_terms, rows)
    elif state.number == 0:
        laws = mean_log_probs(model.counts, model.n_features)
        rows = model.draw_rows(rng, state.log_odds, laws)
    parameters = draw_features(rng, gaussian(model), state.features, state.parameters)
    laws = draw_log_probs(rng, model.counts, rows.sum(axis=1), model.n_features)
    return State(
        rows, state.log_odds, state.mass, state.concentration, laws, parameters, state.number
    )


# Parts


def weights_of(state: StochasticState) -> Weights:
    """Return the weights of a state."""
    return Weights(state.log_odds, state.mass, state.concentration)


def _all_rows(
    state: StochasticState, model: Model, data: Data, powers: Sequence[float], n_threads: int
) -> tuple[StructuredState, Totals]:
    """Return q of every row, found some rows at a time, and their totals."""
    given, n_rows = _given(state, model), data.shape[0]
    lam, nu = (np.empty((n_rows, model.n_features)) for _ in range(2))
    terms, totals = np.empty((n_rows, count_width(model))), None
    for first in range(0, n_rows, _CHUNK):
        at = np.arange(first, min(first + _CHUNK, n_rows))
        swept = _fresh_rows(given, model, data, at, powers, n_threads)
        lam[at], terms[at], nu[at] = swept.row_log_odds, swept.count_terms, swept.means
        totals = swept.totals if totals is None else totals.plus(swept.totals)
    assert totals is not None
    value = evaluate(
        model, state.features, state.parameters, weights_of(state), totals.law_counts, totals
    )
    whole = StructuredState(
        lam, terms, nu, state.features, state.parameters, state.log_odds, state.mass,
        state.concentration, totals.law_counts, value, state.number,
    )  # fmt: skip
    return whole, totals


def _fresh_rows(
    given: Given,
    model: Model,
    data: Data,
    at: IntArray,
    powers: Sequence[float],
    n_threads: int,
    block: int = 512,
) -> Swept:
    """Return rows after some passes that begin at the prior."""
    which = model.counts.index[at]
    return sweep_rows(
        given, data.rows(at), which, np.repeat(given.log_odds[None], at.size, axis=0),
        given.tables[which, : count_width(model)], powers=powers, n_threads=n_threads, block=block,
        names=at,
    )  # fmt: skip


def _given(state: StochasticState, model: Model) -> Given:
    tables = count_tables(model, state.log_odds, state.law_counts)
    noise = state.parameters.noise_scale
    return Given(gaussian(model), state.features, noise, state.log_odds, tables)


def _towards(old: FloatArray, new: FloatArray, step: float) -> FloatArray:
    return np.asarray((1.0 - step) * old + step * new)


def law_counts_of(model: Model, state: StructuredState, at: IntArray) -> FloatArray:
    """Return the expected counts of laws known to the whole model, from a state of some rows."""
    whole = np.zeros((len(model.counts.laws), state.law_counts.shape[1]))
    _, first = np.unique(model.counts.index[at], return_index=True)
    whole[model.counts.index[at][np.sort(first)]] = state.law_counts
    return whole
