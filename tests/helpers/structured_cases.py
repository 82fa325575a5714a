"""Small runs of the structured method with rows elsewhere."""

import numpy as np

from ribp.draws import pack_rows
from ribp.likelihoods import LinearGaussian
from ribp.scale.row_methods import row_method
from ribp.variational import structured, structured_elsewhere
from tests.helpers.scale_cases import FEATURES, ROWS, data_of, simulated

CASES = {
    "complete": (LinearGaussian(), 0.0),
    "background, missing": (LinearGaussian(background=True), 0.2),
    "alike": (LinearGaussian(shared=True, background=True), 0.0),
}


def case(name):
    """Return a model, a state with rows, and data with NaN where missing."""
    likelihood, share = CASES[name]
    model, drawn, values = simulated(likelihood, share, 2.0 if name == "alike" else None)
    guess = likelihood.first_guess(data_of(values), FEATURES)
    state = drawn._replace(parameters=guess)
    return model, structured.from_rows(model, data_of(values), drawn.rows, state), values


def in_memory(name, n_updates=3):
    """Return states and draws of some updates."""
    model, state, values = case(name)
    data, rng, found = data_of(values), np.random.default_rng(3), []
    for number in range(n_updates):
        state, _ = structured.update(rng, np.uint64(0), state, model, data)
        drawn = structured.draw(rng, np.uint64(number), state, model, data)
        found.append((state.bound, drawn))
    return state, found


def with_keeper(name, keeper_of, n_updates=3):
    """Return the same from rows elsewhere."""
    model, state, values = case(name)
    keeper = keeper_of(values)
    keeper.survey()
    keeper.begin(model, "structured")
    keeper.load(structured_elsewhere.table_of(state))
    state, rng, found = (
        structured_elsewhere.without_rows(state, model),
        np.random.default_rng(3),
        [],
    )
    for number in range(n_updates):
        state, tally = structured_elsewhere.update(np.uint64(number), state, model, keeper)
        drawn = structured_elsewhere.draw(rng, state, model, tally)
        found.append((state.bound, drawn._replace(rows=keeper.rows())))
    table = np.concatenate([part.copy() for part in keeper.held()])
    assert table.shape == (ROWS, row_method("structured", model).width)
    lam, terms = np.split(table, [FEATURES], axis=1)
    return state._replace(row_log_odds=lam, count_terms=terms), found


def assert_same(one, other):
    """Compare q, bounds and draws, bit for bit."""
    for field in ("row_log_odds", "count_terms", "log_odds", "law_counts", "bound", "number"):
        np.testing.assert_array_equal(getattr(one[0], field), getattr(other[0], field), field)
    for field in ("mean", "covariance"):
        mine, yours = (getattr(state.features, field) for state in (one[0], other[0]))
        np.testing.assert_array_equal(mine, yours, field)
    for (bound, here), (same, there) in zip(one[1], other[1], strict=True):
        assert bound == same
        np.testing.assert_array_equal(pack_rows(here.rows), there.rows)
        np.testing.assert_array_equal(here.count_log_probs, there.count_log_probs)
        for a, b in zip(here.parameters, there.parameters, strict=True):
            np.testing.assert_array_equal(a, b)
