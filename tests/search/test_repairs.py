"""Repairs: rows go on obeying their laws, and what sweeps cannot mend is mended."""

import numpy as np
import pytest

from ribp import counts
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.model import Model
from ribp.search import repairs
from ribp.search.pool import from_rows
from ribp.search.repairs import Repairs
from ribp.testing.recovery import f1
from tests.helpers.search_cases import LAWS, obey, some_of

pytestmark = pytest.mark.jit


def quiet():
    """Do nothing."""


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_rows_obey_their_laws_and_seeds_repeat(law, background, monkeypatch):
    monkeypatch.setattr(repairs, "MOST_TRIALS", 12)
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 6))
    values[rng.random(values.shape) < 0.1] = np.nan
    values[3] = np.nan
    data = with_missing(values)
    model = Model(LAWS[law], 8, LinearGaussian(background=background))
    state = model.draw_prior(rng, 6)._replace(parameters=model.likelihood.first_guess(data, 8))

    def run(seed):
        search = Repairs(np.random.default_rng(seed), model, data, quiet)
        tried = search._tried(search._settled(state, -np.inf).state)
        assert tried is None or obey(tried.rows, model)
        return search.run(state)

    found, again = run(1), run(1)
    assert obey(found.state.rows, model)
    assert np.isfinite(found.score)
    np.testing.assert_array_equal(found.state.rows, again.state.rows)
    assert found.score == again.score
    assert law == "none" or found.score != run(2).score


def clear(rng, n_rows=200, n_features=5, dims=12, least=1, most=3, noise=0.3):
    truth = some_of(rng, n_rows, n_features, least, most)
    values = truth @ rng.normal(0, 2, (n_features, dims))
    return truth, complete(values + noise * rng.normal(size=values.shape))


def merged(truth):
    """Two features in one."""
    return np.column_stack([truth[:, 0] | truth[:, 1], truth[:, 2:]])


def recoded(truth):
    """A feature that also stands in rows of another, which is then only the difference."""
    return np.column_stack([truth[:, 0] | truth[:, 1], truth[:, 1:]])


def split(truth):
    """A feature in two halves."""
    half = np.arange(len(truth)) % 2
    return np.column_stack([truth[:, 0] * half, truth[:, 0] * (1 - half), truth[:, 1:]])


def complemented(truth):
    """A feature of all rows, and two that are complements of what they should be."""
    return np.column_stack([np.ones(len(truth), np.int8), 1 - truth[:, :2], truth[:, 2:]])


@pytest.mark.parametrize("spoil", [merged, recoded, split, complemented, np.zeros_like])
def test_what_sweeps_cannot_mend_is_mended(spoil):
    rng = np.random.default_rng(1)
    truth, data = clear(rng)
    law = counts.as_row_counts(counts.learned([1.0] * 8), 200)
    model = Model(law, 8, LinearGaussian())
    rows = np.zeros((200, 8), np.int8)
    wrong = spoil(truth)
    rows[:, : wrong.shape[1]] = wrong
    search = Repairs(rng, model, data, quiet)
    start = search._settled(from_rows(rng, model, data, rows), -np.inf)
    found = search.run(start.state)
    assert f1(found.state.rows, truth) > 0.99
    assert found.score > start.score - search.tolerance
    assert np.count_nonzero(found.state.rows.any(axis=0)) == 5


def halves(rng, truth, data):
    """Return two states, each right in other features, in two halves of the places."""
    law = counts.as_row_counts(counts.learned([1.0] * 10), len(truth))
    model = Model(law, 10, LinearGaussian())
    wrong = [merged(truth), merged(truth[:, ::-1])]
    rows = [np.pad(one, ((0, 0), (0, 10 - one.shape[1]))) for one in wrong]
    return model, [from_rows(rng, model, data, one) for one in rows]


def test_features_are_borrowed_from_another_start(monkeypatch):
    rng = np.random.default_rng(5)
    truth, data = clear(rng)
    model, (one, other) = halves(rng, truth, data)
    monkeypatch.setattr(repairs, "_BORROWED", 1.0)
    monkeypatch.setattr(Repairs, "_pruned", lambda self, best: best)
    alone = Repairs(rng, model, data, quiet)
    assert f1(alone._settled(one, -np.inf).state.rows, truth) < 0.95
    found = Repairs(rng, model, data, quiet, 1.0, [other.rows]).run(one)
    assert f1(found.state.rows, truth) > 0.99


def test_nothing_is_borrowed_where_there_is_nothing_or_no_room():
    rng = np.random.default_rng(5)
    truth, data = clear(rng)
    model = Model(counts.as_row_counts(counts.learned([1.0] * 6), 200), 5, LinearGaussian())
    state = from_rows(rng, model, data, truth)
    search = Repairs(rng, model, data, quiet, 1.0, [truth[:, ::-1]])
    assert search._borrowed(state) is None
    search = Repairs(rng, model, data, quiet, 1.0, [some_of(rng, 200, 5, 1, 3)])
    rooms = [search._borrowed(state) for _ in range(40)]
    assert any(one is None for one in rooms)
    assert all(obey(one.rows, model) for one in rooms if one)


@pytest.mark.parametrize("gaps", [False, True])
def test_rows_that_lose_a_feature_become_as_others_are(gaps):
    """Five rows have a feature of their own in place of three others: no flip leads back."""
    rng = np.random.default_rng(6)
    truth, data = clear(rng, n_features=6, most=4)
    some = np.flatnonzero((truth == truth[truth.sum(axis=1) == 3][0]).all(axis=1))[:2]
    rows = np.pad(truth, ((0, 0), (0, 4)))
    rows[some, :6], rows[some, 6] = 0, 1
    if gaps:
        values = data.values.copy()
        values[::3, 2] = np.nan
        data = with_missing(values)
    law = counts.as_row_counts(counts.learned([1.0] * 10), 200)
    model = Model(law, 10, LinearGaussian())
    search = Repairs(rng, model, data, quiet)
    best = search._settled(from_rows(rng, model, data, rows), -np.inf)
    assert best.state.rows[some, 6].all()  # sweeps alone leave it
    at_once = search._without(best.state, 6).rows  # before any sweep
    np.testing.assert_array_equal(at_once[some, :6], truth[some])
    pruned = search._pruned(best)
    np.testing.assert_array_equal(pruned.state.rows[some, :6], truth[some])
    assert not pruned.state.rows[:, 6:].any()
    assert pruned.score > best.score + search.tolerance


def test_what_no_other_row_has_is_found_by_pruning_where_trials_run_out(monkeypatch):
    """Rows with 3 and 6 have another feature and 8 in their place: nearest rows are wrong."""
    monkeypatch.setattr(repairs, "MOST_TRIALS", 0)
    rng = np.random.default_rng(1)
    truth = some_of(rng, 1000, 20, 1, 3)
    mean = truth @ rng.gamma(2.0, 1.5, (20, 50))
    data = complete(mean + rng.normal(0, 0.5, mean.shape))
    rows = np.pad(truth, ((0, 0), (0, 4)))
    at = np.flatnonzero(truth[:, 3] & truth[:, 6] & (1 - truth[:, 8]))
    rows[np.ix_(at, [3, 6])] = 0
    rows[np.ix_(at, [8, 20])] = 1
    model = Model(counts.as_row_counts("uniform(1, 3)", 1000), 24, LinearGaussian())
    search = Repairs(rng, model, data, quiet)
    state = from_rows(rng, model, data, rows)
    assert at.size > 5
    assert (search._without(state, 20).rows[at, :20] != truth[at]).any()  # before any sweep
    np.testing.assert_array_equal(search.run(state).state.rows[:, :20], truth)


def test_exact_counts_are_kept_while_features_move():
    rng = np.random.default_rng(2)
    truth, data = clear(rng)
    ones = truth.sum(axis=1)
    model = Model(counts.as_row_counts(ones, 200), 8, LinearGaussian())
    wrong = np.array([rng.permutation(np.arange(8) < k) for k in ones], np.int8)
    found = Repairs(rng, model, data, quiet).run(from_rows(rng, model, data, wrong))
    np.testing.assert_array_equal(found.state.rows.sum(axis=1), ones)
    assert f1(found.state.rows, truth) > 0.99


def test_a_score_that_is_enough_ends_it_sooner():
    rng = np.random.default_rng(3)
    truth, data = clear(rng)
    model = Model(counts.as_row_counts(truth.sum(axis=1), 200), 5, LinearGaussian())
    state = from_rows(rng, model, data, truth)
    n_trials = []
    for enough in (np.inf, -np.inf):
        search = Repairs(np.random.default_rng(0), model, data, quiet)
        search.run(state, enough)
        n_trials.append(search.number)
    assert n_trials[1] <= 0.3 * n_trials[0]


def test_features_that_come_back_cost_no_sweeps(monkeypatch):
    rng = np.random.default_rng(4)
    truth, data = clear(rng, noise=0.05)
    model = Model(counts.as_row_counts(truth.sum(axis=1), 200), 5, LinearGaussian())
    state, sweeps = from_rows(rng, model, data, truth), []
    search = Repairs(rng, model, data, lambda: sweeps.append(1))
    search.run(state)
    assert search.number >= 40
    assert len(sweeps) < search.number


def test_a_search_can_be_ended():
    rng = np.random.default_rng(0)
    truth, data = clear(rng, n_rows=30)
    model = Model(counts.as_row_counts(truth.sum(axis=1), 30), 5, LinearGaussian())

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Repairs(rng, model, data, stop).run(from_rows(rng, model, data, truth))
