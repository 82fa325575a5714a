"""Small runs of the structured method, with rows in memory or in shards."""

from typing import NamedTuple

import numpy as np

from ribp.likelihoods import LinearGaussian
from ribp.recording import unpack_rows
from ribp.rows.local import in_memory as memory_store
from ribp.variational import structured, structured_rows
from ribp.variational.state import VariationalState
from ribp.variational.state import draw as draw_state
from tests.helpers.store_cases import FEATURES, ROWS, data_of, simulated

CASES = {
    "complete": (LinearGaussian(), 0.0),
    "background, missing": (LinearGaussian(background=True), 0.2),
    "duplicates": (LinearGaussian(shared=True, background=True), 0.0),
}


class Whole(NamedTuple):
    """All of q, that of the rows included."""

    q: VariationalState
    row_log_odds: np.ndarray
    count_terms: np.ndarray

    @property
    def row_means(self):
        table = np.hstack([self.row_log_odds, self.count_terms])
        return structured_rows.row_means(table, self.row_log_odds.shape[1])


def rows_of(model, data, n_threads=1):
    """Return rows in memory that have nothing yet."""
    return memory_store(data, n_threads).rows(
        structured_rows.layout(model), model.counts.law_of_row
    )


def table(rows):
    """Return what rows have."""
    return np.concatenate([part.copy() for part in rows.parts()])


def whole(q, model, rows):
    """Return all of q."""
    return Whole(q, *np.split(table(rows), [model.n_features], axis=1))


def loaded(state, model, data, n_threads=1):
    """Return rows in memory that have q of a whole state."""
    rows = rows_of(model, data, n_threads)
    rows.load(np.hstack([state.row_log_odds, state.count_terms]))
    return rows


def from_rows(model, data, z, state):
    """Return the state that leans towards given rows."""
    rows = rows_of(model, data)
    return whole(structured.from_rows(model, rows, z, state), model, rows)


def update(state, model, data, n_threads=1, seed=0, **options):
    """Return a whole state after an update."""
    rows = loaded(state, model, data, n_threads)
    q, _ = structured.update(np.uint64(seed), state.q, model, rows, **options)
    return whole(q, model, rows)


def bound(state, model, data):
    """Return the bound of a whole state."""
    return structured.bound(state.q, model, loaded(state, model, data))


def swept(state, model, data):
    """Return a whole state after a pass over its rows only, and their totals."""
    rows = loaded(state, model, data)
    order = structured_rows.Pass(structured.global_factors(state.q, model), np.uint64(0), 0)
    totals = rows.do(order).totals
    return whole(state.q, model, rows), totals


def draw(rng, state, model, data, seed=0):
    """Return a draw of a whole state, with its rows."""
    rows = loaded(state, model, data)
    tally = structured.drawn_rows(np.uint64(seed), state.q, model, rows)
    drawn = draw_state(rng, state.q, model, tally)
    return drawn._replace(rows=unpack_rows(rows.packed(), model.n_features))


def case(name):
    """Return a model, a whole state, and data with NaN where missing."""
    likelihood, share = CASES[name]
    model, drawn, values = simulated(likelihood, share, 2.0 if name == "duplicates" else None)
    guess = likelihood.first_guess(data_of(values), FEATURES)
    state = drawn._replace(parameters=guess)
    return model, from_rows(model, data_of(values), drawn.rows, state), values


def at_prior(name):
    """Return a model, a whole state at the prior, and data."""
    likelihood, share = CASES[name]
    model, drawn, values = simulated(likelihood, share, 2.0 if name == "duplicates" else None)
    data = data_of(values)
    rows, guess = rows_of(model, data), likelihood.first_guess(data, FEATURES)
    q = structured.at_prior(model, rows, drawn._replace(parameters=guess))
    return model, whole(q, model, rows), data


def in_memory(name, n_updates=3):
    """Return the last of some states, bounds and draws."""
    return with_store(name, lambda values: memory_store(data_of(values)), n_updates)


def with_store(name, store_of, n_updates=3):
    """Return the same from rows of a store."""
    model, state, values = case(name)
    store = store_of(values)
    store.look()
    rows = store.rows(structured_rows.layout(model), model.counts.law_of_row)
    rows.load(np.hstack([state.row_log_odds, state.count_terms]))
    q, rng, found = state.q, np.random.default_rng(3), []
    for number in range(n_updates):
        q, tally = structured.update(np.uint64(number), q, model, rows)
        drawn = draw_state(rng, q, model, tally)
        found.append((q.bound, drawn._replace(rows=rows.packed())))
    assert table(rows).shape == (ROWS, structured_rows.layout(model).width)
    return whole(q, model, rows), found


def assert_same(one, other):
    """Compare q, bounds and draws, bit for bit."""
    for field in ("row_log_odds", "count_terms"):
        np.testing.assert_array_equal(getattr(one[0], field), getattr(other[0], field), field)
    for field in ("log_odds", "law_counts", "bound", "number"):
        np.testing.assert_array_equal(getattr(one[0].q, field), getattr(other[0].q, field), field)
    for field in ("mean", "covariance"):
        mine, yours = (getattr(state.q.features, field) for state in (one[0], other[0]))
        np.testing.assert_array_equal(mine, yours, field)
    for (bound, here), (same, there) in zip(one[1], other[1], strict=True):
        assert bound == same
        np.testing.assert_array_equal(here.rows, there.rows)
        np.testing.assert_array_equal(here.count_log_probs, there.count_log_probs)
        for a, b in zip(here.parameters, there.parameters, strict=True):
            np.testing.assert_array_equal(a, b)
