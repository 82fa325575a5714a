"""Structured variational inference: rows of q obey their count laws exactly.

    q(Z, A, f) = prod_n q(z_n) prod_d q(A_.d) prod_g q(f_g),    q(z_n) = exp(lambda_n.z + g_n(|z|)),

the family of the prior, with log-odds and a count part of its own for every row; q(A) has the full
covariance (`ribp.variational.features`), q(f) is Dirichlet. Scales and weights are points. The
bound is exact,

    E_q log p(X, Z, A, f | theta, scales) - E_q log q + log p(scales) + log p(theta, alpha, c),

and so is every step: each lambda_ni given the others, g_n, q(A), the noise, the feature scale,
q(f), theta, alpha, c. None lowers the bound. Between updates of the weights q(Z) does not depend on
theta: it stays what it is when theta moves.

q(z_n) is with the rows (`ribp.variational.structured_rows.Pass`), wherever they are. The search for
a start is made on 2000 of them, as if there were no others; given its features all rows find their
q from the prior, with powers of the likelihood that rise to one: that is far quicker than to search
with all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.counts.tables import tallied_log_probs
from ribp.likelihoods.data import Rows
from ribp.likelihoods.linear_gaussian import GaussianParameters, LinearGaussian
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, State, Tally
from ribp.rows.local import LocalRows, in_memory
from ribp.rows.store import ChainRows
from ribp.search import sampled_start
from ribp.search.sampled_start import searched_rows
from ribp.search.starts import Tick, best_start, no_tick
from ribp.variational import features as feature_part
from ribp.variational import point_weights
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.point_weights import Weights
from ribp.variational.structured_rows import (
    Given,
    Pass,
    Passed,
    Totals,
    count_tables,
    count_width,
    layout,
    weighed,
)

__all__ = [
    "CAREFUL",
    "StructuredState",
    "bound",
    "draw",
    "drawn_rows",
    "finish",
    "from_rows",
    "given",
    "law_counts_of",
    "searched",
    "start",
    "update",
]

CAREFUL = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.0)
"""Powers of the likelihood in the passes that find q of a row from the prior."""
_SHARP = 3.0  # by how much a row's log-odds lean towards the row it starts from
_FIRST_UPDATES = 10
_WEIGHTS_EVERY = 25  # updates
_NO_SEED = np.uint64(0)  # of a draw of Z that nobody uses


class StructuredState(NamedTuple):
    """All of q but that of the rows, and the points."""

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


def from_rows(model: Model, rows: ChainRows, z: Rows, state: State) -> StructuredState:
    """Return a state whose rows lean towards 0/1 rows z, with the weights and scales given."""
    law_counts = model.tally(z).histograms.astype(np.float64)
    tables = count_tables(model, state.log_odds, law_counts)
    lean = state.log_odds + _SHARP * (2.0 * z - 1.0)
    rows.load(np.hstack([lean, tables[model.counts.index, : count_width(model)]]))
    first = _without_features(model, rows, state, law_counts)
    return finish(first, model, _moments(first, model, rows))


def _without_features(
    model: Model, rows: ChainRows, state: State, law_counts: FloatArray
) -> StructuredState:
    n_features = model.n_features + model.likelihood.background
    factor = feature_part.prior_factor(rows.shape[1], np.ones(n_features))
    return StructuredState(
        factor, state.parameters, state.log_odds, state.mass, state.concentration, law_counts,
        -np.inf,
    )  # fmt: skip


def at_prior(model: Model, rows: ChainRows, state: State) -> StructuredState:
    """Return a state whose rows are at their prior, with the weights and scales given."""
    law_counts = np.zeros((len(model.counts.laws), model.n_features + 1))
    first = _without_features(model, rows, state, law_counts)
    passed: Passed = rows.do(Pass(given(first, model), _NO_SEED, 0, fresh=True))
    return finish(first, model, _known(passed.totals))


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    tick: Tick = no_tick,
    n_starts: int = 5,
) -> StructuredState:
    """Return the state at the rows that a short search by Gibbs sampling finds.

    It is the search that finds the features. From random rows annealing the noise of q alone does
    not, and updates that begin at the wrong features stay there.
    """
    n_rows = rows.shape[0]
    if n_rows <= sampled_start.SAMPLE:
        found = best_start(rng, model, rows.take(np.arange(n_rows)), n_starts, tick=tick)
        return from_rows(model, rows, found.rows, found)
    some = searched_rows(rng, n_rows)
    state, _ = searched(rng, model.on_rows(some), rows, some, tick, n_starts)
    law_counts = law_counts_of(model, state, some) * (n_rows / some.size)
    state = state._replace(law_counts=law_counts, number=0)
    tick(n_starts, n_starts)
    passed: Passed = rows.do(Pass(given(state, model), _NO_SEED, 0, CAREFUL, fresh=True))
    return finish(state, model, _known(passed.totals))


def searched(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    some: IntArray,
    tick: Tick,
    n_starts: int,
) -> tuple[StructuredState, LocalRows]:
    """Return a state of some rows, as if there were no others, and these rows in memory.

    `model` is that of these rows.
    """
    here = in_memory(rows.take(some)).rows(layout(model), model.counts.index)
    state = start(rng, model, here, tick, n_starts)
    for _ in range(_FIRST_UPDATES):
        state, _ = update(_NO_SEED, state, model, here, every=5)
    return state, here


def law_counts_of(model: Model, state: StructuredState, some: IntArray) -> FloatArray:
    """Return the expected counts of laws known to the whole model, from a state of some rows."""
    whole = np.zeros((len(model.counts.laws), state.law_counts.shape[1]))
    _, first = np.unique(model.counts.index[some], return_index=True)
    whole[model.counts.index[some][np.sort(first)]] = state.law_counts
    return whole


def update(
    seed: np.uint64,
    state: StructuredState,
    model: Model,
    rows: ChainRows,
    *,
    every: int = _WEIGHTS_EVERY,
) -> tuple[StructuredState, Tally]:
    """Make one pass over rows, features, scales and laws, and over the weights now and then.

    Parameters
    ----------
    seed
        Of the draw of Z from q, which is tallied.
    state, model, rows
    every
        The weights change in every so many updates.
    """
    number = state.number + 1
    passed: Passed = rows.do(Pass(given(state, model), seed, number))
    totals = _known(passed.totals)
    if number % every == 0:
        sizes, histogram = totals.sizes, totals.law_counts.sum(axis=0)
        fresh = point_weights.update(model, weights_of(state), sizes, histogram)
        state = state._replace(**fresh._asdict())
    return finish(state, model, totals)._replace(number=number), passed.tally


def bound(state: StructuredState, model: Model, rows: ChainRows) -> float:
    """Return the bound, from nothing but q and the points."""
    return evaluate(
        model, state.features, state.parameters, weights_of(state), state.law_counts,
        _moments(state, model, rows),
    )  # fmt: skip


def drawn_rows(seed: np.uint64, state: StructuredState, model: Model, rows: ChainRows) -> Tally:
    """Draw Z from q as it is, and return its tally."""
    passed: Passed = rows.do(Pass(given(state, model), seed, state.number, ()))
    return passed.tally


def draw(rng: np.random.Generator, state: StructuredState, model: Model, tally: Tally) -> State:
    """Return a state without rows: A drawn from q, learned laws given Z, and the points."""
    parameters = feature_part.draw_features(rng, gaussian(model), state.features, state.parameters)
    laws = tallied_log_probs(rng, model.counts, tally.histograms)
    none = np.zeros((0, model.n_features), np.int8)
    return State(
        none, state.log_odds, state.mass, state.concentration, laws, parameters, state.number
    )


# Parts


def _moments(state: StructuredState, model: Model, rows: ChainRows) -> Totals:
    """Return the totals of q(z_n) as it is."""
    passed: Passed = rows.do(Pass(given(state, model), _NO_SEED, 0, move=False))
    return _known(passed.totals)


def _known(totals: Totals | tuple[()]) -> Totals:
    assert isinstance(totals, Totals)
    return totals


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


def weights_of(state: StructuredState) -> Weights:
    """Return the weights of a state."""
    return Weights(state.log_odds, state.mass, state.concentration)
