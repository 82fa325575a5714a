"""The paper's hybrid: mean field over features, rows and their counts; weights drawn now and then.

    q(A, Z, J) = prod_i q(A_i) prod_ni Bern(z_ni; nu_ni) prod_n gamma_n(J_n),

features independent of one another, the weights theta fixed. Its target is the model whose rows
have the law f_n(J) prod_i Bern(z_i; eta_{i;J}), with eta_{i;k} the inclusion probability of feature
i among k. That is a proper model, but not the restricted buffet: given J the number of ones is
J on average only. So the bound never falls between draws of the weights, and cannot be compared
with the bound of another family; and rows drawn from q need not obey their count laws.

One iteration: gamma and nu of every row (`ribp.kernels.sweep_mean_field`), learned count laws, the
features one after another, then the scales (`ribp.variational.features`). Every 25 iterations rows
are drawn from q, and weights, mass and concentration given these, by the steps of the Gibbs
samplers: their law is that of the restricted buffet itself.

A learned count law has q(f) = Dirichlet(base + sum_n gamma_n), and rows see E log f. With
N = sum_n gamma_n it adds log B(base + N) - log B(base) to the bound, B the multivariate beta.
The bound includes the log prior of scales, weights, mass and concentration.
"""

from __future__ import annotations

import math

import numpy as np

from ribp.checks import FloatArray
from ribp.counts import Learned, RowCounts
from ribp.counts.tables import prior_log_probs
from ribp.likelihoods.data import Rows
from ribp.mcmc import hyper, weight_moves
from ribp.mcmc.rows_collapsed import gaussian
from ribp.model import Model, State, Tally
from ribp.rng import kernel_seed
from ribp.rows.store import ChainRows
from ribp.search.following import followed, searched_state
from ribp.search.pool import Start
from ribp.variational.features import draw_features
from ribp.variational.hybrid_rows import Begin, Begun, DrawRows, Improve, Improved
from ribp.variational.mean_field import count_prior, data_bound, first_features, improve_features
from ribp.variational.point_weights import expected_log_probs, law_divergence, log_prior
from ribp.variational.state import VariationalState, state_without_rows, weights_of

_NO_SEED = np.uint64(0)  # of a draw of Z that nobody uses


# One iteration


def update(
    rng: np.random.Generator,
    seed: np.uint64,
    state: VariationalState,
    model: Model,
    rows: ChainRows,
    *,
    every: int = 25,
) -> tuple[VariationalState, Tally, bool]:
    """Make one iteration; draw the weights before it if `every` have been made since.

    The tally is that of Z, drawn from q after it. Also returned is whether weights were drawn: only
    then may the bound be lower than it was.
    """
    redrawn = state.number > 0 and state.number % every == 0
    if redrawn:
        tally = drawn_rows(seed ^ kernel_seed(rng), model, rows)
        state = _redrawn(rng, state, model, tally)
    fresh, tally = _improve(state, model, rows, draw_seed(rng))
    return fresh, tally, redrawn


def _improve(
    state: VariationalState, model: Model, rows: ChainRows, seed: np.uint64
) -> tuple[VariationalState, Tally]:
    """Update every factor once, the weights being what they are; draw Z."""
    likelihood, counts = gaussian(model), model.counts
    log_f = expected_log_probs(counts, state.law_counts)
    prior = count_prior(state.log_odds, log_f)
    improved: Improved = rows.do(Improve(likelihood, state.features, state.parameters, prior, seed))
    sums, law_counts, value, tally = improved
    value += law_terms(counts, law_counts, log_f)
    features, parameters = improve_features(likelihood, sums, state.features, state.parameters)
    value += data_bound(likelihood, sums, features, parameters)
    value += log_prior(model, weights_of(state))
    fresh = state._replace(
        features=features, parameters=parameters, law_counts=law_counts, bound=value,
        number=state.number + 1,
    )  # fmt: skip
    return fresh, tally


def _redrawn(
    rng: np.random.Generator, state: VariationalState, model: Model, tally: Tally
) -> VariationalState:
    """Return a state with weights, mass and concentration drawn given rows drawn from q."""
    histogram, sizes = tally.histograms.sum(axis=0), tally.sizes
    prior = model.weight_prior(state.mass, state.concentration)
    log_odds, _ = weight_moves.update(rng, state.log_odds, sizes, histogram, prior)
    fresh = hyper.update(rng, model, state, log_odds, sizes, histogram)
    return state._replace(**fresh._asdict())


def law_terms(counts: RowCounts, law_counts: FloatArray, log_f: FloatArray) -> float:
    """Return what learned laws add to the bound, rows having been weighed with log_f.

    That is minus the divergence of q(f) from its prior, and the difference between the expectations
    of log f that now hold and those that rows were weighed with.
    """
    change = np.zeros_like(log_f)
    now = expected_log_probs(counts, law_counts)
    np.subtract(now, log_f, out=change, where=np.isfinite(log_f))
    return float((law_counts * change).sum()) - law_divergence(counts, law_counts)


# To begin, and to show


def start(
    rng: np.random.Generator,
    model: Model,
    rows: ChainRows,
    begin: Start,
) -> VariationalState:
    """Return a state that begins at the rows that a search has found.

    On the chord spectra it stays there (F1 1.000); from random rows mean field ends at 0.49, from
    annealed ones at 0.71 (medians of five seeds). Rows that were not searched follow.
    """
    state = searched_state(rng, model, begin, rows)
    if begin.some.size == rows.shape[0]:
        return from_rows(model, rows, state.rows, state)
    return from_features(rng, model, rows, state)


def from_features(
    rng: np.random.Generator, model: Model, rows: ChainRows, state: State
) -> VariationalState:
    """Return a state that begins at 0/1 rows that suit the features of `state`."""
    state, sweep = followed(rng, model, state)
    return _begin(model, rows, Begin(gaussian(model), len(model.counts.laws), sweep), state)


def from_rows(model: Model, rows: ChainRows, z: Rows, state: State) -> VariationalState:
    """Return a state that begins at 0/1 rows z, after one iteration from there.

    Weights, mass, concentration and scales are those of `state`.
    """
    rows.load(np.hstack([z.astype(np.float64), np.zeros((len(z), model.n_features + 1))]))
    return _begin(model, rows, Begin(gaussian(model), len(model.counts.laws)), state)


def _begin(model: Model, rows: ChainRows, order: Begin, state: State) -> VariationalState:
    begun: Begun = rows.do(order)
    law_counts = begun.tally.histograms.astype(np.float64)
    law_counts[~np.isfinite(expected_log_probs(model.counts, law_counts))] = 0.0
    features, parameters = first_features(gaussian(model), begun.sums, state.parameters)
    first = VariationalState(
        features, parameters, state.log_odds, state.mass, state.concentration, law_counts,
        -math.inf,
    )  # fmt: skip
    return _improve(first, model, rows, _NO_SEED)[0]._replace(number=0)


def draw_seed(rng: np.random.Generator) -> np.uint64:
    """Return the key of a draw of Z."""
    return np.uint64(rng.integers(2**63)) ^ kernel_seed(rng)


def drawn_rows(seed: np.uint64, model: Model, rows: ChainRows) -> Tally:
    """Draw Z from q; rows need not obey their laws."""
    tally: Tally = rows.do(DrawRows(seed, len(model.counts.laws)))
    return tally


def draw(rng: np.random.Generator, state: VariationalState, model: Model) -> State:
    """Return a draw from q without its rows, the weights as they are."""
    laws = _draw_laws(rng, model.counts, state.law_counts)
    parameters = draw_features(rng, gaussian(model), state.features, state.parameters)
    return state_without_rows(state, parameters, laws)


def _draw_laws(rng: np.random.Generator, counts: RowCounts, law_counts: FloatArray) -> FloatArray:
    """Return log f of each law, learned ones drawn from Dirichlet(base + N)."""
    size = law_counts.shape[1]
    laws = list(counts.laws)
    for at, law in enumerate(laws):
        if isinstance(law, Learned):
            shape = law_counts[at].copy()
            shape[: len(law.base)] += law.base[:size]
            laws[at] = Learned(tuple(shape.tolist()))
    return prior_log_probs(rng, RowCounts(tuple(laws), counts.law_of_row), size - 1)
