"""The paper's hybrid: mean field over features, rows and their counts; weights drawn now and then.

    q(A, Z, J) = prod_i q(A_i) prod_ni Bern(z_ni; nu_ni) prod_n gamma_n(J_n),

features independent of one another, the weights theta fixed. Its target is the model whose rows
have the law f_n(J) prod_i Bern(z_i; eta_{i;J}), with eta_{i;k} the inclusion probability of feature
i among k. That is a proper model, but not the restricted buffet: given J the number of ones is
J on average only. So the bound never falls between draws of the weights, and cannot be compared
with the bound of another family; and rows drawn from q need not obey their count laws.

One iteration: gamma and nu of every row (`ribp.kernels.rows_mean_field`), learned count laws, the
features one after another, then the scales (`ribp.variational.features`). Every 25 iterations rows
are drawn from q, and weights, mass and concentration given these, by the steps of the Gibbs
samplers: their law is that of the restricted buffet itself.

A learned count law has q(f) = Dirichlet(base + sum_n gamma_n), and rows see E log f. With
N = sum_n gamma_n it adds log B(base + N) - log B(base) to the bound, B the multivariate beta.
The bound includes the log prior of scales, weights, mass and concentration.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from ribp.checks import FloatArray
from ribp.counts import Learned, RowCounts
from ribp.counts.tables import prior_log_probs
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.mcmc import hyper, weights
from ribp.mcmc.rows_collapsed import gaussian
from ribp.mcmc.start import Tick, best_start, no_tick
from ribp.model import Model, State
from ribp.variational.features import FeatureFactor, draw_features
from ribp.variational.mean_field import (
    all_sums,
    data_bound,
    draw_rows,
    first_features,
    improve_features,
    row_prior,
    sweep_rows,
)
from ribp.variational.point_weights import (
    Weights,
    expected_log_probs,
    law_divergence,
    log_prior,
)

__all__ = ["HybridInfo", "HybridState", "bound", "draw", "from_rows", "start", "update"]


class HybridState(NamedTuple):
    """Where the optimisation is."""

    nu: FloatArray
    """q(z_ni = 1), shape (rows, features)."""
    gamma: FloatArray
    """q(J_n = k), shape (rows, features + 1)."""
    features: FeatureFactor
    """q(A), independent features; the background, if there is one, is the last."""
    parameters: GaussianParameters
    """Mean features, and scales at their best points."""
    log_odds: FloatArray
    """theta, as last drawn."""
    mass: float
    concentration: float
    law_counts: FloatArray
    """sum_n gamma_n over the rows of each law, shape (laws, features + 1)."""
    bound: float
    number: int = 0
    """Of iterations made."""


class HybridInfo(NamedTuple):
    """What an iteration did."""

    bound: float
    change: float
    """The largest change of an entry of nu."""
    redrawn: bool
    """Whether weights were drawn before it: the bound may then be lower than it was."""


# One iteration


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: HybridState,
    model: Model,
    data: Data,
    *,
    every: int = 25,
    n_threads: int = 1,
) -> tuple[HybridState, HybridInfo]:
    """Make one iteration; draw the weights before it if `every` have been made since."""
    redrawn = state.number > 0 and state.number % every == 0
    if redrawn:
        state = _redraw(rng, seed, state, model, data)
    fresh = _improve(state, model, data, n_threads)
    change = float(np.abs(fresh.nu - state.nu).max(initial=0.0))
    return fresh, HybridInfo(fresh.bound, change, redrawn)


def _improve(state: HybridState, model: Model, data: Data, n_threads: int) -> HybridState:
    """Update every factor once, the weights being what they are."""
    likelihood, counts = gaussian(model), model.counts
    log_f = expected_log_probs(counts, state.law_counts)
    nu, gamma, value, sums = sweep_rows(
        likelihood, data, row_prior(state.log_odds, log_f), counts.index, state.features,
        state.parameters, state.nu, state.gamma, n_threads,
    )  # fmt: skip
    law_counts = _law_counts(counts, gamma)
    value += _law_terms(counts, law_counts, log_f)
    features, parameters = improve_features(likelihood, sums, state.features, state.parameters)
    value += data_bound(likelihood, sums, features, parameters)
    value += log_prior(model, _weights(state))
    return state._replace(
        nu=nu, gamma=gamma, features=features, parameters=parameters, law_counts=law_counts,
        bound=value, number=state.number + 1,
    )  # fmt: skip


def _weights(state: HybridState) -> Weights:
    return Weights(state.log_odds, state.mass, state.concentration)


def _redraw(
    rng: np.random.Generator, seed: np.uint64, state: HybridState, model: Model, data: Data
) -> HybridState:
    """Return a state with weights, mass and concentration drawn given rows drawn from q."""
    drawn = draw(rng, seed, state, model, data)
    histogram = np.bincount(drawn.rows.sum(axis=1), minlength=model.n_features + 1)
    prior = model.weight_prior(state.mass, state.concentration)
    sizes = drawn.rows.sum(axis=0, dtype=np.int64)
    log_odds, _ = weights.update(rng, state.log_odds, sizes, histogram, prior)
    fresh = hyper.update(rng, model, state, log_odds, sizes, histogram)
    return state._replace(**fresh._asdict())


# The bound


def bound(state: HybridState, model: Model, data: Data) -> float:
    """Return the bound from its definition, for any state."""
    likelihood, nu, gamma = gaussian(model), state.nu, state.gamma
    log_f = expected_log_probs(model.counts, state.law_counts)
    prior = row_prior(state.log_odds, log_f)
    scores = np.full(gamma.shape, -np.inf)
    top = len(prior.logits)
    scores[:, 1 : top + 1] = prior.offsets + nu @ prior.logits.T
    scores[(nu == 0.0).all(axis=1), 0] = 0.0
    scores[(nu == 1.0).all(axis=1), -1] = 0.0
    scores += log_f[model.counts.index]
    value = float((np.where(gamma > 0, scores, 0.0) * gamma).sum() + entr(gamma).sum())
    value += float(entr(nu).sum() + entr(1.0 - nu).sum())
    value += _law_terms(model.counts, state.law_counts, log_f)
    sums = all_sums(likelihood, data, nu)
    value += data_bound(likelihood, sums, state.features, state.parameters)
    return value + log_prior(model, _weights(state))


def _law_terms(counts: RowCounts, law_counts: FloatArray, log_f: FloatArray) -> float:
    """Return what learned laws add to the bound, rows having been weighed with log_f.

    That is minus the divergence of q(f) from its prior, and the difference between the expectations
    of log f that now hold and those that rows were weighed with.
    """
    change = np.zeros_like(log_f)
    now = expected_log_probs(counts, law_counts)
    np.subtract(now, log_f, out=change, where=np.isfinite(log_f))
    return float((law_counts * change).sum()) - law_divergence(counts, law_counts)


def _law_counts(counts: RowCounts, gamma: FloatArray) -> FloatArray:
    """Return the sum of gamma over the rows of each law."""
    laws = len(counts.laws)
    return np.stack([np.bincount(counts.index, column, laws) for column in gamma.T], axis=1)


# To begin, and to show


def start(
    rng: np.random.Generator, model: Model, data: Data, tick: Tick = no_tick, n_starts: int = 2
) -> HybridState:
    """Return a state that begins at the rows of a short search by Gibbs sampling.

    On the chord spectra it stays there (F1 1.000); from random rows mean field ends at 0.49, from
    annealed ones at 0.71 (medians of five seeds).
    """
    found = best_start(rng, model, data, n_starts, tick=tick)
    return from_rows(model, data, found.rows, found)


def from_rows(model: Model, data: Data, rows: Rows, state: State) -> HybridState:
    """Return a state that begins at given rows, after one iteration from there.

    Weights, mass, concentration and scales are those of `state`.
    """
    likelihood, size = gaussian(model), model.n_features + 1
    nu = rows.astype(np.float64)
    law_counts = _law_counts(model.counts, np.eye(size)[rows.sum(axis=1)])
    law_counts[~np.isfinite(expected_log_probs(model.counts, law_counts))] = 0.0
    features, parameters = first_features(likelihood, data, nu, state.parameters)
    first = HybridState(
        nu, np.zeros((len(nu), size)), features, parameters, state.log_odds, state.mass,
        state.concentration, law_counts, -math.inf,
    )  # fmt: skip
    return _improve(first, model, data, 1)._replace(number=0)


def draw(
    rng: np.random.Generator, seed: np.uint64, state: HybridState, model: Model, data: Data
) -> State:
    """Return a draw from q, with the weights as they are; its rows need not obey their laws."""
    return State(
        draw_rows(rng, seed, state.nu),
        state.log_odds,
        state.mass,
        state.concentration,
        _draw_laws(rng, model.counts, state.law_counts),
        draw_features(rng, gaussian(model), state.features, state.parameters),
        state.number,
    )


def _draw_laws(rng: np.random.Generator, counts: RowCounts, law_counts: FloatArray) -> FloatArray:
    """Return log f of each law, learned ones drawn from Dirichlet(base + N)."""
    size = law_counts.shape[1]
    laws = list(counts.laws)
    for at, law in enumerate(laws):
        if isinstance(law, Learned):
            shape = law_counts[at].copy()
            shape[: len(law.base)] += law.base[:size]
            laws[at] = Learned(tuple(shape.tolist()))
    return prior_log_probs(rng, RowCounts(tuple(laws), counts.index), size - 1)
