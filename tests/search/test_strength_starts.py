"""Starts of rows with strengths: notes that were split come together, and rows obey their laws."""

import numpy as np
import pytest

from ribp import counts
from ribp.likelihoods import GaussianStrengths
from ribp.likelihoods.data import complete
from ribp.likelihoods.validation import as_data
from ribp.mcmc import gibbs_rows
from ribp.model import Model
from ribp.search import strength_starts
from ribp.search.given_rows import drawn_given
from ribp.search.pool import repaired
from ribp.search.repairs import tolerance
from ribp.testing.recovery import f1
from tests.helpers.search_cases import LAWS, ODD, obey, some_of

LAW_NAMES = sorted(LAWS)


def quiet():
    """Do nothing."""


def loud(seed, n_rows=120, spread=0.4):
    """Return rows of one or two of four features, and data in which they are loud or soft."""
    rng = np.random.default_rng(seed)
    rows = some_of(rng, n_rows, 4, 1, 2)
    strengths = np.exp(spread * rng.normal(size=rows.shape))
    features = rng.normal(0, 3, (4, 12))
    return rng, rows, strengths, (rows * strengths) @ features + 0.2 * rng.normal(size=(n_rows, 12))


def known_counts(rows, size=9, **settings):
    likelihood = GaussianStrengths(**settings)
    return Model(counts.as_row_counts(rows.sum(axis=1), len(rows)), size, likelihood)


def split(rows, strengths, size=9):
    """Return rows in which notes that are soft are others than those that are loud."""
    soft = rows * (strengths < 1.0)
    return np.pad(np.hstack([soft, rows - soft]), ((0, 0), (0, size - 8))).astype(np.int8)


@pytest.mark.jit
@pytest.mark.parametrize("law", ["around-one", "signed", "positive"])
def test_soft_and_loud_copies_of_a_feature_come_together(law):
    rng, rows, strengths, values = loud(0)
    model, data = known_counts(rows, strength_law=law), complete(values)
    state = drawn_given(rng, model, data, split(rows, strengths))
    alone = strength_starts.settled(rng, model, data, state, quiet)
    if law != "signed":  # where sweeps, which know no scale, are enough here
        assert f1(alone.state.rows != 0, rows) < 0.9
    found = strength_starts.pruned(rng, model, data, state, quiet)
    assert found.score > alone.score - tolerance(data)
    assert found.state.rows.any(axis=0).sum() == 4
    assert f1(found.state.rows != 0, rows) > 0.97


@pytest.mark.jit
def test_a_start_knows_what_is_known():
    rng, rows, _, values = loud(1)
    ahead = np.linalg.lstsq(rows.astype(float), values)[0][:2]
    model = known_counts(rows, known=tuple(map(tuple, ahead.tolist())))
    found = repaired(rng, model, complete(values))
    assert f1(found.state.rows != 0, rows) > 0.97
    np.testing.assert_array_equal(found.state.parameters.features[:2], ahead)
    for i in range(2):
        both = np.count_nonzero(found.state.rows[:, i] * rows[:, i])
        assert both > 0.9 * rows[:, i].sum()


@pytest.mark.jit
def test_ones_that_are_not_needed_do_not_make_a_state_better():
    """Strengths that hardly vary have a high density: each one more adds to the log joint."""
    rng = np.random.default_rng(2)
    rows = some_of(rng, 150, 4, 1, 2)
    values = rows @ rng.normal(0, 2, (4, 12)) + 0.3 * rng.normal(size=(150, 12))
    laws = counts.as_row_counts(counts.uniform(0, 5), 150)
    model, data = Model(laws, 8, GaussianStrengths()), complete(values)
    more = np.pad(rows, ((0, 0), (0, 4)))
    more[:, 4] = ~rows[:, 0].astype(bool)  # -A_0 where A_0 is not, and A_0 for all
    more[:, 0] = 1
    right = drawn_given(rng, model, data, np.pad(rows, ((0, 0), (0, 4))))
    wrong = drawn_given(rng, model, data, more)
    right, wrong = (strength_starts.settled(rng, model, data, s, quiet) for s in (right, wrong))
    assert right.score > wrong.score
    joints = [
        gibbs_rows.update_in_memory(rng, np.uint64(1), one.state, model, data)[1].log_joint
        for one in (right, wrong)
    ]
    assert joints[0] < joints[1]


@pytest.mark.jit
@pytest.mark.parametrize("name", LAW_NAMES)
def test_rows_without_a_feature_obey_their_laws(name):
    rng, laws = np.random.default_rng(3), LAWS[name]
    model = Model(laws, 6, GaussianStrengths())
    state = model.draw_prior(rng, 5)
    data = complete(model.likelihood.draw_data(rng, state.rows, state.parameters))
    for i in range(6):
        fewer = strength_starts.without(rng, model, data, state, i)
        assert obey(fewer.rows != 0, model)
        others = state.rows[:, i] == 0
        np.testing.assert_array_equal(fewer.rows[others], state.rows[others])
        assert (fewer.rows[:, i] != 0).sum() == (fewer.rows != 0).all(axis=1).sum()


@pytest.mark.jit
def test_a_state_that_stays_below_the_best_is_given_up():
    rng, rows, _, values = loud(4)
    model, data = known_counts(rows), complete(values)
    state = drawn_given(rng, model, data, np.pad(rows, ((0, 0), (0, 5))))
    ticks = []
    assert not strength_starts.settled(rng, model, data, state, lambda: ticks.append(1), np.inf)
    assert len(ticks) == 2


@pytest.mark.jit
@pytest.mark.parametrize("name", sorted(ODD))
def test_starts_of_odd_data_are_sound(name, short_searches):
    data, rng = as_data(ODD[name]), np.random.default_rng(0)
    laws = counts.as_row_counts(counts.uniform(0, 2), len(data.values))
    found = repaired(rng, Model(laws, 5, GaussianStrengths(background=True)), data)
    assert np.isfinite(found.score)
    assert np.isfinite(found.state.rows).all()


@pytest.mark.jit
def test_room_that_only_copies_needed_is_given_back():
    """Twelve features at many loudnesses, of which a binary search makes far more."""
    rng = np.random.default_rng(5)
    rows = some_of(rng, 200, 12, 1, 2)
    values = (rows * np.exp(0.7 * rng.normal(size=rows.shape))) @ rng.normal(0, 3, (12, 30))
    values += 0.1 * rng.normal(size=values.shape)
    found = repaired(rng, known_counts(rows, 14), complete(values), grow=True)
    assert found.state.rows.any(axis=0).sum() == 12
    assert found.model.n_features == found.state.rows.shape[1] == 15
    assert f1(found.state.rows != 0, rows) > 0.97
