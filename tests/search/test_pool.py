"""The pool of starts: threads, room, other likelihoods, odd data, and what it says of a problem."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from ribp import counts
from ribp.baselines.ibp_gibbs import BuffetModel
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.datasets import load_chords, scaled
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete
from ribp.likelihoods.moments import moments
from ribp.likelihoods.units import Units
from ribp.likelihoods.validation import as_data
from ribp.model import Model
from ribp.search import capacity, pool
from ribp.search.pool import Pool, Search, Start, settle
from ribp.testing.recovery import f1
from tests.helpers.clear_features import clear_features
from tests.helpers.search_cases import ODD, obey, some_of

pytestmark = pytest.mark.jit


def table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    made = clear_features(rng, n_rows, 8, 3, size=1.0, noise=0.2)
    return made, as_data(made.values)


def search_of(seed=0, n_chains=3, **asked):
    made, data = table()
    likelihood = LinearGaussian(units=Units.of(moments(data)))
    model = Model(counts.as_row_counts(made.counts, 60), 6, likelihood)
    return made, Search(model, data, np.arange(60), (seed,), n_chains, **asked)


def test_starts_are_the_same_on_any_number_of_threads():
    _, search = search_of(choose=True, grow=True)
    one, three = settle(search, 1), settle(search, 3)
    assert one.choice == three.choice
    assert one.pool[1:] == three.pool[1:]
    for a, b in zip(one.pool.starts, three.pool.starts, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
    assert one.model.n_features == three.model.n_features


def test_each_chain_has_a_start_of_its_own():
    made, search = search_of(n_chains=5)
    found = settle(search).pool
    assert len(found.starts) == 5
    assert found.reached.n_starts == 7
    assert 1 <= found.reached.n_best <= 7
    for start in found.starts:
        assert obey(start.rows, search.model)
    assert f1(found.starts[0].rows, made.rows) == 1.0
    orders = {start.rows.tobytes() for start in found.starts}
    assert len(orders) > 1  # features are the same, in another order: nothing was copied
    assert found.start(6) is found.starts[1]
    assert Pool().start(0) is None


def test_starts_of_which_few_are_good_are_told_of(monkeypatch):
    """How many reach the best score tells how hard a problem is."""
    _, search = search_of(n_chains=4)
    assert settle(search).pool.reached == (6, 6)
    usual, scores = pool.repaired, iter([5.0, 900.0, 30.0, 895.0, 0.0, 20.0, *[0.0] * 6])

    def spoiled(*given, **named):
        return usual(*given, **named)._replace(score=next(scores))

    monkeypatch.setattr(pool, "repaired", spoiled)
    assert settle(search).pool.reached == (12, 2)  # as many again, since few were good


def test_a_best_start_that_is_alone_is_looked_at_again(monkeypatch):
    _, search = search_of(n_chains=2)
    usual, scores, patience = pool.repaired, iter([5.0, 900.0, 30.0, 20.0, *[0.0] * 4]), []

    def spoiled(*given, **named):
        return usual(*given, **named)._replace(score=next(scores))

    class Watched(pool.Repairs):
        def run(self, state, enough=np.inf):
            patience.append((self.patience, len(self.others)))
            found = super().run(state, enough)
            return found if self.patience == 1.0 else found._replace(score=1000.0)

    monkeypatch.setattr(pool, "repaired", spoiled)
    monkeypatch.setattr(pool, "Repairs", Watched)
    assert settle(search).pool.reached == (8, 1)
    assert patience == [(1.0, 0)] * 8 + [(pool._PATIENT, 7)]


def test_room_is_made_where_it_is_needed():
    rng = np.random.default_rng(0)
    truth = np.eye(18, dtype=np.int8)[np.repeat(np.arange(18), 8)]
    data = complete(truth @ rng.normal(0, 4, (18, 12)) + 0.3 * rng.normal(size=(144, 12)))
    laws = counts.as_row_counts(counts.exactly(1), 144)
    assert capacity.first_guess(laws) == 16
    model = Model(laws, 16, LinearGaussian())
    search = Search(model, data, np.arange(144), (0,), 1)
    assert settle(search).model.n_features == 16
    found = settle(search._replace(grow=True))
    assert found.model.n_features == 24
    assert found.pool.starts[0].rows.shape == (144, 24)
    assert f1(found.pool.starts[0].rows, truth) > 0.99


def test_room_stays_where_it_is_enough():
    _, search = search_of(grow=True)
    assert settle(search).model.n_features == 6


@pytest.mark.parametrize("kind", [BuffetModel, FiniteBuffetModel])
def test_buffets_are_searched_too(kind):
    made, data = table()
    model = kind(*((60,) if kind is BuffetModel else (60, 6)), LinearGaussian())
    found = settle(Search(model, data, np.arange(60), (0,), 2))
    assert found.model.likelihood == model.likelihood
    assert f1(found.pool.starts[0].rows, made.rows) > 0.95


def test_chords_are_found():
    """One seed of the recovery study (`experiments/recovery`)."""
    chords = load_chords()
    data = as_data(scaled(chords.spectra))
    likelihood = LinearGaussian(units=Units.of(moments(data)))
    model = Model(counts.as_row_counts(chords.counts, 232), 24, likelihood)
    found = settle(Search(model, data, np.arange(232), (0,), 2)).pool
    assert f1(found.starts[0].rows, chords.notes) == 1.0
    assert found.reached.n_best >= 3


def test_counts_find_their_rows():
    """The Poisson likelihood borrows the Gaussian search."""
    rng = np.random.default_rng(3)
    truth = some_of(rng, 150, 5, 1, 3)
    features = rng.gamma(0.5, 20.0, (5, 25))
    data = complete(rng.poisson(truth @ features + 0.1).astype(float))
    likelihood = PoissonCounts(background=True, prior_mean=float(data.values.mean()))
    model = Model(counts.as_row_counts(truth.sum(axis=1), 150), 8, likelihood)
    found = settle(Search(model, data, np.arange(150), (0,), 1)).pool
    assert f1(found.starts[0].rows, truth) > 0.98


def test_known_features_come_first():
    made, data = table()
    known = tuple(map(tuple, made.components[[2]]))
    model = Model(counts.as_row_counts(made.counts, 60), 6, LinearGaussian(known=known))
    found = settle(Search(model, data, np.arange(60), (0,), 1)).pool
    np.testing.assert_array_equal(found.starts[0].rows[:, 0], made.rows[:, 2])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_search_is_ended_by_an_error(n_threads):
    """On threads the others end too, and the first error is raised."""
    _, search = search_of(n_chains=4)
    began = time.monotonic()

    def tick(done, total):
        assert total == 6
        if done >= 2:  # two threads may end a start between two looks
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, pool.Stopped)):
        settle(search, n_threads, tick)
    assert time.monotonic() - began < 60
    assert not [one for one in threading.enumerate() if one.name.startswith("ribp-search")]


@pytest.mark.parametrize("law", ["uniform(0, 2)", "exactly(1)", "exactly(0)", "learned(1, 1, 1)"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_are_no_trouble(name, law):
    data = as_data(ODD[name])
    likelihood = LinearGaussian(units=Units.of(moments(data)))
    model = Model(counts.as_row_counts(law, len(data.values)), 5, likelihood)
    search = Search(model, data, np.arange(len(data.values)), (0,), 2, choose=True, grow=True)
    found = settle(search)
    assert obey(found.pool.starts[0].rows, replace(model, n_features=found.model.n_features))


def test_a_start_of_some_rows_is_one_of_all_that_there_are():
    start = Start(np.zeros((3, 2), np.int8), np.array([1, 4, 9]))
    np.testing.assert_array_equal(start.whole.some, [0, 1, 2])


def test_starts_that_differ_by_what_features_vary_are_equals(short_searches):
    """Log joints of kept features vary by more than those of features integrated out."""
    made, data = table()
    law = PoissonCounts(prior_mean=1.0)
    model = Model(counts.as_row_counts(made.counts, 60), 6, law)
    rows = np.pad(made.rows, ((0, 0), (0, 3))).astype(np.int8)
    state = pool.from_rows(np.random.default_rng(0), model, complete(np.abs(data.values)), rows)
    found = [pool._Found(model, state, -1000.0 - loss, 0.0) for loss in (0.0, 9.0, 12.0)]
    assert pool._reach(found, data) == pytest.approx(-1010.0)  # 3 features, 8 columns
    linear = replace(model, likelihood=LinearGaussian())
    wide = [one._replace(state=one.state._replace(rows=np.ones((60, 6), np.int8))) for one in found]
    assert pool._reach(wide, data) == pytest.approx(-1000.0 - 2.0 * 48**0.5)
    assert pool._few(found, data) is False
    assert pool._reach([one._replace(model=linear) for one in wide], data) == -1010.0
