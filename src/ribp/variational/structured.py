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

from typing import TypeVar

import numpy as np

from ribp.checks import FloatArray, IntArray
from ribp.likelihoods import GaussianParameters, LinearGaussian
from ribp.likelihoods.data import Rows
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, State, Tally
from ribp.rows.local import LocalRows, in_memory
from ribp.rows.store import ChainRows
from ribp.search.following import searched_state
from ribp.search.pool import Start
from ribp.variational import features as feature_part
from ribp.variational import point_weights
from ribp.variational.features import FeatureFactor, RowSums
from ribp.variational.state import StochasticState, VariationalState, weights_of
from ribp.variational.structured_rows import (
    GlobalFactors,
    Pass,
    Passed,
    RowTotals,
    count_tables,
    count_width,
    layout,
    totals_after,
    weighed,
)

AnyState = TypeVar("AnyState", VariationalState, StochasticState)

CAREFUL = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.0)
"""Powers of the likelihood in the passes that find q of a row from the prior."""
_SHARP = 3.0  # by how much a row's log-odds lean towards the row it starts from
_FIRST_UPDATES = 10
_WEIGHTS_EVERY = 25  # updates
_NO_SEED = np.uint64(0)  # of a draw of Z that nobody uses


def from_rows(model: Model, rows: ChainRows, z: Rows, state: State) -> VariationalState:
    """Return a state whose rows lean towards 0/1 rows z, with the weights and scales of `state`."""
    law_counts = model.tally(z).histograms.astype(np.float64)
    tables = count_tables(model, state.log_odds, law_counts)
    lean = state.log_odds + _SHARP * (2.0 * z - 1.0)
    rows.load(np.hstack([lean, tables[model.counts.law_of_row, : count_width(model)]]))
    first = _without_features(model, rows, state, law_counts)
    return finish(first, model, _totals(first, model, rows))


def _without_features(
    model: Model, rows: ChainRows, state: State, law_counts: FloatArray
) -> VariationalState:
    n_features = model.n_features + model.likelihood.background
    factor = feature_part.prior_factor(rows.shape[1], np.ones(n_features))
    return VariationalState(
        factor, state.parameters, state.log_odds, state.mass, state.concentration, law_counts,
        -np.inf,
    )  # fmt: skip


def at_prior(model: Model, rows: ChainRows, state: State) -> VariationalState:
    """Return a state whose rows are at their prior, with the weights and scales of `state`."""
    law_counts = np.zeros((len(model.counts.laws), model.n_features + 1))
    first = _without_features(model, rows, state, law_counts)
    order = Pass(global_factors(first, model), _NO_SEED, 0, fresh=True)
    return finish(first, model, totals_after(rows, order))


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    begin: Start,
) -> VariationalState:
    """Return the state at the rows that a search has found.

    It is the search that finds the features. From random rows annealing the noise of q alone does
    not, and updates that begin at the wrong features stay there.
    """
    some, n_rows = begin.some, rows.shape[0]
    if some.size == n_rows:
        state = searched_state(rng, model, begin, rows)
        return from_rows(model, rows, state.rows, state)
    q, _ = searched(rng, model, rows, begin)
    law_counts = law_counts_of(model, q, some) * (n_rows / some.size)
    q = q._replace(law_counts=law_counts, number=0)
    order = Pass(global_factors(q, model), _NO_SEED, 0, CAREFUL, fresh=True)
    return finish(q, model, totals_after(rows, order))


def searched(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    begin: Start,
) -> tuple[VariationalState, LocalRows]:
    """Return a state of the rows that were searched, as if there were no others, and these rows."""
    model = model.on_rows(begin.some)
    here = in_memory(rows.take(begin.some)).rows(layout(model), model.counts.law_of_row)
    state = start(rng, model, here, begin.whole)
    for _ in range(_FIRST_UPDATES):
        state, _ = update(_NO_SEED, state, model, here, every=5)
    return state, here


def law_counts_of(model: Model, state: VariationalState, some: IntArray) -> FloatArray:
    """Return the expected counts of laws known to the whole model, from a state of some rows."""
    whole = np.zeros((len(model.counts.laws), state.law_counts.shape[1]))
    _, first = np.unique(model.counts.law_of_row[some], return_index=True)
    whole[model.counts.law_of_row[some][np.sort(first)]] = state.law_counts
    return whole


def update(
    seed: np.uint64,
    state: VariationalState,
    model: Model,
    rows: ChainRows,
    *,
    every: int = _WEIGHTS_EVERY,
) -> tuple[VariationalState, Tally]:
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
    passed: Passed = rows.do(Pass(global_factors(state, model), seed, number))
    assert isinstance(passed.totals, RowTotals)
    if number % every == 0:
        state = with_best_weights(state, model, passed.totals)
    return finish(state, model, passed.totals)._replace(number=number), passed.tally


def bound(state: VariationalState, model: Model, rows: ChainRows) -> float:
    """Return the bound, from nothing but q and the points."""
    return evaluate(model, state, _totals(state, model, rows))


def drawn_rows(seed: np.uint64, state: VariationalState, model: Model, rows: ChainRows) -> Tally:
    """Draw Z from q as it is, and return its tally."""
    passed: Passed = rows.do(Pass(global_factors(state, model), seed, state.number, ()))
    return passed.tally


# Parts


def _totals(state: VariationalState, model: Model, rows: ChainRows) -> RowTotals:
    """Return the totals of q(z_n) as it is."""
    return totals_after(rows, Pass(global_factors(state, model), _NO_SEED, 0, move=False))


def global_factors(state: VariationalState | StochasticState, model: Model) -> GlobalFactors:
    """Return all that rows need for a pass."""
    return GlobalFactors(
        gaussian(model),
        state.features,
        state.parameters.noise_scale,
        state.log_odds,
        count_tables(model, state.log_odds, state.law_counts),
    )


def with_best_weights(state: AnyState, model: Model, totals: RowTotals) -> AnyState:
    """Return the state with weights, mass and concentration improved."""
    sizes, histogram = totals.sizes, totals.law_counts.sum(axis=0)
    weights = point_weights.update(model, weights_of(state), sizes, histogram)
    return state._replace(**weights._asdict())


def finish(state: AnyState, model: Model, totals: RowTotals) -> AnyState:
    """Update q(A), scales and q(f) given the rows, and compute the bound."""
    factor, parameters = improve_features(
        gaussian(model), totals.sums, state.features, state.parameters
    )
    state = state._replace(features=factor, parameters=parameters, law_counts=totals.law_counts)
    return state._replace(bound=evaluate(model, state, totals))


def improve_features(
    likelihood: LinearGaussian,
    sums: RowSums,
    factor: FeatureFactor,
    parameters: GaussianParameters,
) -> tuple[FeatureFactor, GaussianParameters]:
    """Return the best q(A), then better scales, then the q(A) that is best for these."""

    def renewed() -> FeatureFactor:
        t = likelihood.deviations(len(sums.products), parameters)
        return feature_part.update_features(sums, factor, t, full=True)

    factor = renewed()
    parameters = feature_part.update_scales(likelihood, sums, factor, parameters)
    factor = renewed()
    return factor, feature_part.with_means(likelihood, factor.mean, parameters)


def evaluate(model: Model, state: VariationalState | StochasticState, totals: RowTotals) -> float:
    """Return the bound of rows with these totals, q(f) being Dirichlet(base + law_counts)."""
    factor, noise = state.features, state.parameters.noise_scale
    likelihood = gaussian(model)
    t = likelihood.deviations(len(factor.mean), state.parameters)
    tables = count_tables(model, state.log_odds, state.law_counts)
    value = feature_part.expected_log_likelihood(totals.sums, factor, noise)
    value -= feature_part.feature_divergence(factor, noise, t)
    value += float(totals.sizes @ state.log_odds) + weighed(totals.law_counts, tables)
    value -= totals.log_q + point_weights.law_divergence(model.counts, state.law_counts)
    value += likelihood.scales_log_prior(state.parameters)
    return value + point_weights.log_prior(model, weights_of(state))
