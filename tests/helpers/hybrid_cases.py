"""Small runs of the hybrid, with rows in memory, and its bound from its definition."""

from typing import NamedTuple

import numpy as np
from scipy.special import entr

from ribp.recording import unpack_rows
from ribp.rows.local import in_memory
from ribp.variational import hybrid, hybrid_rows
from ribp.variational.mean_field import all_sums, count_prior, data_bound
from ribp.variational.point_weights import PointWeights, expected_log_probs, log_prior
from ribp.variational.state import VariationalState
from tests.helpers.structured_cases import table


class Whole(NamedTuple):
    """All of q, that of the rows included."""

    q: VariationalState
    nu: np.ndarray
    gamma: np.ndarray


def rows_of(model, data, n_threads=1):
    """Return rows in memory that have nothing yet."""
    layout = hybrid_rows.layout(model.n_features)
    return in_memory(data, n_threads).rows(layout, model.counts.law_of_row)


def whole(q, model, rows):
    """Return all of q."""
    return Whole(q, *np.split(table(rows), [model.n_features], axis=1))


def loaded(state, model, data, n_threads=1):
    """Return rows in memory that have q of a whole state."""
    rows = rows_of(model, data, n_threads)
    rows.load(np.hstack([state.nu, state.gamma]))
    return rows


def from_rows(model, data, z, state):
    """Return the state that begins at given rows."""
    rows = rows_of(model, data)
    return whole(hybrid.from_rows(model, rows, z, state), model, rows)


def update(rng, seed, state, model, data, n_threads=1, **options):
    """Return a whole state after an iteration, and whether weights were drawn."""
    rows = loaded(state, model, data, n_threads)
    q, tally, redrawn = hybrid.update(rng, np.uint64(seed), state.q, model, rows, **options)
    np.testing.assert_array_equal(tally.sizes, drawn(model, rows).sum(axis=0))
    return whole(q, model, rows), redrawn


def drawn(model, rows):
    """Return Z as it was drawn."""
    return unpack_rows(rows.packed(), model.n_features)


def draw(rng, state, model, rows):
    """Return a draw of a state, with its rows."""
    hybrid.drawn_rows(hybrid.draw_seed(rng), model, rows)
    return hybrid.draw(rng, state, model)._replace(rows=drawn(model, rows))


def law_counts(counts, gamma):
    """Return the sum of gamma over the rows of each law."""
    laws = len(counts.laws)
    return np.stack([np.bincount(counts.law_of_row, column, laws) for column in gamma.T], axis=1)


def bound(state, model, data):
    """Return the bound from its definition, for any whole state."""
    (q, nu, gamma), likelihood = state, model.likelihood
    log_f = expected_log_probs(model.counts, q.law_counts)
    prior = count_prior(q.log_odds, log_f)
    scores = np.full(gamma.shape, -np.inf)
    top = len(prior.logits)
    scores[:, 1 : top + 1] = prior.offsets + nu @ prior.logits.T
    scores[(nu == 0.0).all(axis=1), 0] = 0.0
    scores[(nu == 1.0).all(axis=1), -1] = 0.0
    scores += log_f[model.counts.law_of_row]
    value = float((np.where(gamma > 0, scores, 0.0) * gamma).sum() + entr(gamma).sum())
    value += float(entr(nu).sum() + entr(1.0 - nu).sum())
    value += hybrid.law_terms(model.counts, q.law_counts, log_f)
    value += data_bound(likelihood, all_sums(likelihood, data, nu), q.features, q.parameters)
    return value + log_prior(model, PointWeights(q.log_odds, q.mass, q.concentration))
