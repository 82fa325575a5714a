"""What every home for rows promises, driven by one table: its own objects, the same bits."""

import warnings

import dask.array as da
import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.rows.homes import HOMES, home_of
from tests.helpers.dask_cases import ON_DASK
from tests.helpers.plug_ins import of_page, registered
from tests.helpers.same_bits import assert_same_results

pytestmark = ON_DASK
PAGE = of_page("adding-a-home-for-rows")
STACK = PAGE["Stack"]


def mapped(X, folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


HOMES_OF = {  # how the home holds a table
    "memory-map": mapped,
    "dask": lambda X, folder: da.from_array(X, chunks=(40, X.shape[1])),
    "stack": lambda X, folder: STACK([X[:20], X[20:]]),
}


def table():
    rng = np.random.default_rng(0)
    X = 4.0 * np.eye(3, 5)[rng.integers(0, 3, 90)] + rng.normal(size=(90, 5))
    return np.where(rng.random(X.shape) < 0.05, np.nan, X)


def fitted(X):
    return estimator(X).result_


def estimator(X):
    model = ribp.RestrictedIBP(
        "gibbs-rows", max_features=3, counts="exactly(1)", n_chains=1, n_warmup=2, n_draws=4,
        background=False, progress=False, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ribp.errors.FitWarning)
        return model.fit(X)


@pytest.fixture
def stacks():
    """Register the home of the documentation."""
    with registered(HOMES, "stack", PAGE["Stacks"]):
        yield


def check_rows(name, folder):
    """Raise an AssertionError unless a home gives back the rows that it holds."""
    X = table()
    store = HOMES[name].open(HOMES_OF[name](X, folder))
    try:
        assert store.shape == X.shape
        assert not store.look().complete
        at = np.array([0, 19, 20, 41, 89])
        data = store.take(at)
        np.testing.assert_array_equal(np.where(data.observed, data.values, np.nan), X[at])
    finally:
        store.close()


def check_features(name, folder):
    """Raise an AssertionError unless a fit finds the features of rows of a home as in memory."""
    X = table()
    model, held = estimator(X), HOMES_OF[name](X, folder)
    laws = [ribp.counts.uniform(0, 2)] * 40 + [ribp.counts.exactly(1)] * 50
    counts = ribp.counts.by_row(laws)
    np.testing.assert_array_equal(model.transform(held, counts), model.transform(X, counts))
    rows = model.decode(held, counts)
    np.testing.assert_array_equal(rows, model.decode(X, counts))
    assert (rows[40:].sum(axis=1) == 1).all()
    with pytest.raises(InputError, match="5 columns of the fit"):
        model.transform(HOMES_OF[name](X[:, :4], folder))


@pytest.mark.usefixtures("few", "stacks")
class TestEveryHome:
    def test_has_a_row_here(self):
        assert set(HOMES) == set(HOMES_OF)

    @pytest.mark.parametrize("name", ["memory-map", "stack"])
    def test_owns_its_objects_and_gives_their_rows(self, name, tmp_path):
        assert home_of(HOMES_OF[name](table(), tmp_path)) is HOMES[name]
        assert home_of(table()) is None
        check_rows(name, tmp_path)

    @pytest.mark.parametrize("name", ["memory-map", "stack"])
    def test_a_fit_has_the_bits_of_one_in_memory(self, name, tmp_path):
        assert_same_results(fitted(table()), fitted(HOMES_OF[name](table(), tmp_path)))

    @pytest.mark.parametrize("name", ["memory-map", "stack"])
    def test_features_of_rows_have_these_bits_too(self, name, tmp_path):
        check_features(name, tmp_path)

    def test_on_a_cluster(self, client, tmp_path):
        assert home_of(HOMES_OF["dask"](table(), tmp_path)) is HOMES["dask"]
        check_rows("dask", tmp_path)
        check_features("dask", tmp_path)
        assert_same_results(fitted(table()), fitted(HOMES_OF["dask"](table(), tmp_path)))


class Broken(PAGE["Stacks"]):
    """A home that mixes up the order of tables."""

    @staticmethod
    def open(X):
        return PAGE["Stacks"].open(STACK(reversed(X)))


def test_mixed_up_rows_are_noticed(tmp_path):
    with registered(HOMES, "stack", Broken), pytest.raises(AssertionError):
        check_rows("stack", tmp_path)
