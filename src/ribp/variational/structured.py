"""Structured variational inference: rows of q obey their count laws exactly.

    q(Z, A, f) = prod_n q(z_n) prod_d q(A_.d) prod_g q(f_g),    q(z_n) = exp(lambda_n.z + g_n(|z|)),

the family of the prior, with log-odds and a count part of its own for every row; q(A) has the full
covariance (`ribp.variational.features`), q(f) is Dirichlet. Scales are points, and so are weights,
or these are drawn now and then. The bound is exact,

    E_q log p(X, Z, A, f | theta, scales) - E_q log q + log p(scales) + log p(theta, alpha, c),

and so is every step: each lambda_ni given the others, g_n, q(A), the noise, the feature scale,
q(f), theta, alpha, c. None lowers the bound; only weights that are drawn can (weights="sample").
Between updates of the weights q(Z) does not depend on theta: it stays what it is when theta moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray
from ribp.counts.tables import draw_log_probs
from ribp.kernels import rows_structured as kernel
from ribp.likelihoods.base import Data, Rows
from ribp.likelihoods.linear_gaussian import GaussianParameters, LinearGaussian
from ribp.mcmc import hyper
from ribp.mcmc import weights as mcmc_weights
from ribp.mcmc.rows_collapsed import gaussian
from ribp.mcmc.start import Tick, best_start, no_tick
from ribp.model import Model, State
from ribp.variational import features as feature_part
from ribp.variational import point_weights
from ribp.variational.alike import alike
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import Weights
from ribp.variational.structured_rows import (
    GROUP,
    Given,
    Swept,
    Totals,
    count_tables,
    count_width,
    sweep_groups,
    weighed,
)

__all__ = [
    "StructuredInfo",
    "StructuredState",
    "bound",
    "draw",
    "finish",
    "follow",
    "from_rows",
    "given",
    "start",
    "update",
]

_SHARP = 3.0  # by how much a row's log-odds lean towards the row it starts from


class StructuredState(NamedTuple):
    """All of q, and the points."""

    row_log_odds: FloatArray
    """lambda, shape (rows, features)."""
    count_terms: FloatArray
    """g, shape (rows, counts); -inf where a count is impossible."""
    row_means: FloatArray
    """E[z_n], shape (rows, features)."""
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
    law_counts: FloatArray
    """Expected numbers of rows with each count, shape (laws, features + 1)."""
    bound: float
    """The bound at this state."""
    number: int = 0
    """How many updates were made."""


class StructuredInfo(NamedTuple):
    """What an update did."""

    bound: float
    change: float
    """The largest change of an E[z_ni]."""


def from_rows(model: Model, data: Data, rows: Rows, state: State) -> StructuredState:
    """Return a state whose rows lean towards given 0/1 rows, with the weights and scales given."""
    ones = rows.sum(axis=1)
    law_counts = np.zeros((len(model.counts.laws), model.n_features + 1))
    np.add.at(law_counts, (model.counts.index, ones), 1.0)
    tables = count_tables(model, state.log_odds, law_counts)
    lean = state.log_odds + _SHARP * (2.0 * rows - 1.0)
    if len(rows) > GROUP:  # rows that are alike begin alike, also in different groups
        kinds = alike(data, model.counts.index)
        lean = kinds.spread(kinds.firsts(lean))
    n_features = model.n_features + model.likelihood.background
    factor = feature_part.prior_factor(data.shape[1], np.ones(n_features))
    empty = StructuredState(
        lean, tables[model.counts.index, : count_width(model)], rows.astype(np.float64), factor,
        state.parameters, state.log_odds, state.mass, state.concentration, law_counts, -np.inf,
    )  # fmt: skip
    swept = _sweep(empty, model, data, move=False)
    return finish(empty, model, swept.totals)


def start(
    rng: np.random.Generator, model: Model, data: Data, tick: Tick = no_tick, n_starts: int = 5
) -> StructuredState:
    """Return the state at the rows that a short search by Gibbs sampling finds.

    It is the search that finds the features. From random rows annealing the noise of q alone does
    not, and updates that begin at the wrong features stay there.
    """
    found = best_start(rng, model, data, n_starts, tick=tick)
    return from_rows(model, data, found.rows, found)


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: StructuredState,
    model: Model,
    data: Data,
    *,
    weights: str = "point",
    every: int = 25,
    n_threads: int = 1,
) -> tuple[StructuredState, StructuredInfo]:
    """Make one pass over rows, features, scales and laws, and over the weights now and then.

    Parameters
    ----------
    rng, seed
        Used for weights that are drawn.
    state, model, data
    weights
        "point" to maximise the bound over the weights, "sample" to draw them given a Z from q.
    every
        The weights change in every so many updates.
    n_threads
        The result does not depend on it.
    """
    swept = _sweep(state, model, data, n_threads=n_threads)
    change = float(np.abs(swept.means - state.row_means).max(initial=0.0))
    moved = state._replace(
        row_log_odds=swept.row_log_odds, count_terms=swept.count_terms, row_means=swept.means
    )
    drawn = None
    if weights == "sample" and (state.number + 1) % every == 0:
        drawn = _drawn_weights(rng, seed, moved, model)
    moved = follow(moved, model, swept.totals, every=every, weights=drawn)
    return moved, StructuredInfo(moved.bound, change)


def follow(
    state: StructuredState,
    model: Model,
    totals: Totals,
    *,
    every: int = 25,
    weights: Weights | None = None,
) -> StructuredState:
    """Do what an update does after its pass over the rows, which may be anywhere.

    Parameters
    ----------
    state, model
    totals
        Of the rows after the pass.
    every
        The weights change in every so many updates,
    weights
        to these, or to better ones if none are given.
    """
    number = state.number + 1
    if number % every == 0:
        sizes, histogram = totals.sizes, totals.law_counts.sum(axis=0)
        fresh = weights or point_weights.update(model, weights_of(state), sizes, histogram)
        state = state._replace(**fresh._asdict())
    return finish(state, model, totals)._replace(number=number)


def bound(state: StructuredState, model: Model, data: Data) -> float:
    """Return the bound, from nothing but q and the points."""
    totals = _sweep(state, model, data, move=False).totals
    return evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts, totals
    )


def draw(
    rng: np.random.Generator, seed: np.uint64, state: StructuredState, model: Model, data: Data
) -> State:
    """Return a state with Z and A drawn from q, learned laws given Z, and the points."""
    rows = _drawn_rows(seed, state)
    likelihood = gaussian(model)
    parameters = feature_part.draw_features(rng, likelihood, state.features, state.parameters)
    laws = draw_log_probs(rng, model.counts, rows.sum(axis=1), model.n_features)
    return State(
        rows, state.log_odds, state.mass, state.concentration, laws, parameters, state.number
    )


# Parts


def _sweep(
    state: StructuredState, model: Model, data: Data, *, move: bool = True, n_threads: int = 1
) -> Swept:
    """Make one pass over all rows, or only find their moments."""
    return sweep_groups(
        given(state, model), data, model.counts.index, state.row_log_odds, state.count_terms,
        move=move, n_threads=n_threads,
    )  # fmt: skip


def given(state: StructuredState, model: Model) -> Given:
    """Return what rows need to know for a pass."""
    return Given(
        gaussian(model),
        state.features,
        state.parameters.noise_scale,
        state.log_odds,
        count_tables(model, state.log_odds, state.law_counts),
    )


def finish(state: StructuredState, model: Model, totals: Totals) -> StructuredState:
    """Update q(A), scales and q(f) given the rows, and find the bound."""
    factor, parameters = improve_features(
        gaussian(model), totals.sums, state.features, state.parameters
    )
    value = evaluate(model, factor, parameters, weights_of(state), totals.law_counts, totals)
    return state._replace(
        features=factor, parameters=parameters, law_counts=totals.law_counts, bound=value
    )


def improve_features(
    likelihood: LinearGaussian,
    sums: RowSums,
    factor: FeatureFactor,
    parameters: GaussianParameters,
) -> tuple[FeatureFactor, GaussianParameters]:
    """Return the best q(A), then better scales, then the q(A) that is best for these."""

    def renewed() -> FeatureFactor:
        t = likelihood.deviations(len(sums.products), parameters)
        return feature_part.update_features(sums, factor, parameters.noise_scale, t, full=True)

    factor = renewed()
    parameters = feature_part.update_scales(likelihood, sums, factor, parameters)
    factor = renewed()
    return factor, feature_part.with_means(likelihood, factor.mean, parameters)


def evaluate(
    model: Model,
    factor: FeatureFactor,
    parameters: GaussianParameters,
    weights: Weights,
    law_counts: FloatArray,
    totals: Totals,
) -> float:
    """Return the bound of rows with these totals, q(f) being Dirichlet(base + law_counts)."""
    likelihood, noise = gaussian(model), parameters.noise_scale
    t = likelihood.deviations(len(factor.mean), parameters)
    tables = count_tables(model, weights.log_odds, law_counts)
    value = feature_part.expected_log_likelihood(totals.sums, factor, noise)
    value -= feature_part.feature_divergence(factor, noise, t)
    value += float(totals.sizes @ weights.log_odds) + weighed(totals.law_counts, tables)
    value -= totals.log_q + point_weights.law_divergence(model.counts, law_counts)
    value += likelihood.scales_log_prior(parameters)
    return value + point_weights.log_prior(model, weights)


def _drawn_weights(
    rng: np.random.Generator, seed: np.uint64, state: StructuredState, model: Model
) -> Weights:
    """Draw weights, mass and concentration given a Z drawn from q."""
    rows = _drawn_rows(seed, state)
    histogram = np.bincount(rows.sum(axis=1), minlength=model.n_features + 1)
    prior = model.weight_prior(state.mass, state.concentration)
    sizes = rows.sum(axis=0, dtype=np.int64)
    log_odds, _ = mcmc_weights.update(rng, state.log_odds, sizes, histogram, prior)
    return Weights(*hyper.update(rng, model, state, log_odds, sizes, histogram))


def _drawn_rows(seed: np.uint64, state: StructuredState) -> Rows:
    rows = np.zeros(state.row_log_odds.shape, np.int8)
    kernel.draw(seed, state.number, 0, state.row_log_odds, state.count_terms, rows)
    return rows


def weights_of(state: StructuredState) -> Weights:
    """Return the weights of a state."""
    return Weights(state.log_odds, state.mass, state.concentration)
