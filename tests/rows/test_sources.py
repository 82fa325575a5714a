"""Where rows come from: arrays, maps and files, and what is said of those that cannot be read."""

import numpy as np
import pytest

import ribp
from ribp import fitting, kinds
from ribp.blocks import Tree, blocks, in_order
from ribp.errors import InputError, StorageError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import with_missing
from ribp.likelihoods.first_rows import first_rows
from ribp.likelihoods.moments import Totals
from ribp.likelihoods.row_sweeps import RowPrior
from ribp.mcmc.rows_given_features import layout
from ribp.model import Model
from ribp.recording import unpack_rows
from ribp.rows.kind_look import looked_columns
from ribp.rows.local import LocalStore, in_memory, spans
from ribp.rows.shard import GROUP
from ribp.rows.source import ArraySource, FileSource, as_source, npy_source
from ribp.running.row_samplers import GibbsRows
from ribp.search import pool
from ribp.testing.exact import all_rows
from tests.helpers.store_cases import features

VALUES = features(300, share=0.1)[0]


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    return tmp_path / "x.npy"


# Sums


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7, 8, 21])
def test_a_tree_gives_the_same_bits_however_blocks_are_spread(n_blocks):
    rng = np.random.default_rng(n_blocks)
    parts = [Totals(i, rng.normal(size=40)) for i in range(n_blocks)]
    whole = Tree((0, i, part) for i, part in enumerate(parts)).total(None)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        edges = np.sort(rng.integers(0, n_blocks + 1, 3))
        spread = Tree()
        shards = np.split(np.arange(n_blocks), edges)
        for shard in rng.permutation(len(shards)):
            for node in Tree((0, int(i), parts[i]) for i in shards[shard]).nodes:
                spread.add(*node)
        found = spread.total(None)
        np.testing.assert_array_equal(found.value, whole.value)
        assert found.number == sum(range(n_blocks))
    assert Tree().total("nothing") == "nothing"
    # A broken twin: from right to left.
    if n_blocks > 7:
        other = sum((part.value for part in reversed(parts)), np.zeros(40))
        assert (other != whole.value).any()


def test_shards_begin_at_even_places_and_are_alike():
    n_rows = 200 * GROUP + 7
    found = spans(n_rows, 3)
    assert [start for start, _ in found][1:] == [stop for _, stop in found][:-1]
    assert (found[0][0], found[-1][1]) == (0, n_rows)
    for start, stop in found:
        assert start % (4 * GROUP) == 0
        assert stop - start == pytest.approx(n_rows / 3, rel=0.1)


def test_nodes_of_a_shard_are_few():
    found = Tree((0, i, 1) for i in range(3, 1000)).nodes
    assert sum(value for _, _, value in found) == 997
    assert len(found) < 20


def test_work_is_done_in_order_and_errors_come_through():
    assert list(in_order(lambda x: x * x, 3, range(50))) == [x * x for x in range(50)]
    assert [b.stop for b in blocks(512, 1300)] == [1024, 1300]

    def fails(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(in_order(fails, 2, range(3)))


# Sources


def test_sources_give_the_same_rows(path):
    mapped = np.load(path, mmap_mode="r")
    sources = [ArraySource(VALUES), npy_source(path), as_source(mapped), as_source(mapped[:, :])]
    kinds = [ArraySource, FileSource, FileSource, ArraySource]
    for source, kind in zip(sources, kinds, strict=True):
        assert isinstance(source, kind)
        assert source.shape == VALUES.shape
        for at in (slice(7, 100), np.array([3, 250]), np.arange(40, 60), np.array([], int)):
            found, expected = source.read(at, False), VALUES[at]
            np.testing.assert_array_equal(found.observed, ~np.isnan(expected))
            np.testing.assert_array_equal(found.values, np.nan_to_num(expected))


def test_a_file_is_read_into_memory_if_it_fits_twice(path, monkeypatch):
    store = LocalStore(npy_source(path))
    data = store.in_memory("gibbs")
    np.testing.assert_array_equal(np.where(data.observed, data.values, np.nan), np.load(path))
    monkeypatch.setattr("ribp.rows.local.memory", lambda: 1000)
    with pytest.raises(InputError, match='must fit into memory twice with method="gibbs"'):
        LocalStore(npy_source(path)).in_memory("gibbs")
    assert in_memory(data).in_memory("gibbs") is not None


def test_a_column_of_which_one_entry_was_seen():
    X = with_missing(np.array([[3.0, 1.0], [np.nan, 4.0], [np.nan, 9.0]]))
    columns = looked_columns(in_memory(X), [kinds.log_poisson()] * 2)
    assert [one.number for one in columns] == [1, 3]
    with pytest.raises(InputError, match="must give the 2 columns of X a kind"):
        looked_columns(in_memory(X), [kinds.log_poisson()])
    look = kinds.log_poisson().look(np.array([3.0]))
    assert columns[0].centre == pytest.approx(kinds.log_poisson().begin(look).centre)


def test_a_map_of_part_of_a_file_is_that_part(path):
    part = as_source(np.load(path, mmap_mode="r")[10:50])
    np.testing.assert_array_equal(part.read(slice(0, 5), True).values, VALUES[10:15])


def test_other_kinds_of_numbers_become_doubles(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.int16).reshape(4, 3))
    found = npy_source(tmp_path / "x.npy").read(slice(1, 3), True).values
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[3, 4, 5], [6, 7, 8]])


def write_bytes(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "none.npy", "cannot be read"),
        (lambda p: write_bytes(p / "a.npy", b"hello"), "not a .npy"),
        (lambda p: write_bytes(p / "a.npy", b""), "not a .npy"),
        (lambda p: np.save(p / "a.npy", np.zeros(3)) or p / "a.npy", "not a matrix"),
        (lambda p: np.save(p / "a.npy", np.array([["a"]])) or p / "a.npy", "not a matrix"),
        (lambda p: np.save(p / "a.npy", np.ones((3, 2), order="F")) or p / "a.npy", "column"),
        (
            lambda p: np.save(p / "a.npy", np.array([[None]]), allow_pickle=True) or p / "a.npy",
            "not a matrix",
        ),
    ],
)
def test_files_that_are_no_matrix(tmp_path, make, message):
    with pytest.raises(StorageError, match=message) as caught:
        npy_source(make(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_a_file_that_ends_too_soon_names_its_rows(path):
    source = npy_source(path)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(StorageError, match=r"x\.npy cannot be read in rows 206 to 299"):
        npy_source(path)
    np.testing.assert_array_equal(source.read(slice(0, 50), True).values, VALUES[:50])
    with pytest.raises(StorageError, match=r"rows 200 to 299 \(the file ends"):
        source.read(slice(200, 300), True)
    path.unlink()
    with pytest.raises(StorageError, match="rows 0 to 4"):
        source.read(slice(0, 5), True)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 2)), np.array([["a"]]), [[1.0]]])
def test_arrays_that_are_no_matrix_of_numbers(bad):
    with pytest.raises(InputError, match=r"^X "):
        as_source(bad)


# A first look


def model_of(n_rows, likelihood=None):
    law = ribp.counts.as_row_counts(ribp.counts.uniform(1, 2), n_rows)
    return Model(law, 3, likelihood or LinearGaussian())


def test_infinite_entries_are_named(path):
    values = VALUES.copy()
    values[123, 2] = -np.inf
    with pytest.raises(InputError, match="-inf in row 123, column 2"):
        LocalStore(ArraySource(values), 1).look()
    np.save(path, values)
    with pytest.raises(StorageError, match=r"x\.npy has -inf in row 123"):
        LocalStore(npy_source(path), 1).look()


def test_what_cannot_be_fitted_is_refused():
    store = LocalStore(ArraySource(VALUES), 1)
    with pytest.raises(InputError, match="one law for each of the 300 rows"):
        fitting.fit(model_of(299), store, "gibbs-rows")
    with pytest.raises(InputError, match="counts"):
        fitting.fit(model_of(300, PoissonCounts()), store, "gibbs-rows")
    known = LinearGaussian(known=((1.0, 2.0),))
    with pytest.raises(InputError, match="fixed_components"):
        fitting.fit(model_of(300, known), store, "gibbs-rows")


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
def test_shards_of_which_nothing_was_seen(few):
    values = np.full((5000, 3), np.nan)
    values[4096:] = np.random.default_rng(0).normal(size=(904, 3))
    store = LocalStore(ArraySource(values), 1, (0, 4096))
    survey = store.look()
    assert not survey.complete
    found = fitting.fit(
        model_of(5000), store, "gibbs-rows", n_chains=1, n_warmup=1, n_draws=2, seed=0,
        progress=False,
    )  # fmt: skip
    assert np.isfinite(found.tree["posterior"]["log_joint"]).all()


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore::ribp.errors.FitWarning")
def test_an_estimator_takes_a_map(few, path, monkeypatch):
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 2, "n_draws": 6}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    mapped = np.load(path, mmap_mode="r")
    for method in ("gibbs-rows", "structured"):
        here = ribp.RestrictedIBP(method, **settings).fit(VALUES)
        there = ribp.RestrictedIBP(method, **settings).fit(mapped)
        np.testing.assert_array_equal(here.components_, there.components_)
        np.testing.assert_array_equal(here.row_probs_, there.row_probs_)
        assert there.n_features_in_ == VALUES.shape[1]
    monkeypatch.setattr("ribp.rows.local.memory", lambda: 100)
    with pytest.raises(InputError, match=r'memory twice with method="gibbs".*gibbs-rows'):
        ribp.RestrictedIBP("gibbs", **settings).fit(mapped)


# Rows to begin with


def test_first_rows_obey_their_laws_and_suit_clear_data():
    rng = np.random.default_rng(0)
    rows = all_rows(4)
    loads = rng.normal(0, 3, (4, 12))
    laws = [ribp.counts.uniform(0, 4), ribp.counts.exactly(2), ribp.counts.table([0, 0.5, 0, 0.5])]
    theta = np.array([0.3, -1.0, 0.0, 0.5])
    tables = np.array([law.log_probs(4) for law in laws]) - ribp.log_esp(theta)
    prior = RowPrior(theta, tables, np.zeros(3, bool), np.ones(3, int))
    given = LinearGaussian().at_scales(4, 12, 0.2, 1.0)._replace(features=loads)
    values = rows @ loads + 0.2 * rng.normal(size=(16, 12))
    for share in (0.0, 0.2):
        data = with_missing(np.where(rng.random(values.shape) < share, np.nan, values))
        for law in range(3):
            which = np.full(16, law)
            found = first_rows(LinearGaussian(), data, given, prior, which)
            assert np.isfinite(tables[law, found.sum(axis=1)]).all()
            if share == 0.0:
                possible = np.isfinite(tables[law, rows.sum(axis=1)])
                np.testing.assert_array_equal(found[possible], rows[possible])


@pytest.mark.jit
def test_a_start_on_some_rows_finds_clear_features(monkeypatch):
    monkeypatch.setattr(pool, "SEARCH_ROWS", 300)
    rng = np.random.default_rng(0)
    _, rows = features(3000)
    values = rows @ rng.normal(0, 3, (3, 12)) + 0.3 * rng.normal(size=(3000, 12))
    law = ribp.counts.as_row_counts(rows.sum(axis=1).astype(int), 3000)
    model = Model(law, 4, LinearGaussian())
    data = with_missing(values)
    here = in_memory(data).rows(layout(4), law.law_of_row)
    state = GibbsRows(model).begin(rng, here, pool.best(rng, model, data, 2))
    overlap = rows.T @ unpack_rows(here.packed(), 4) / rows.sum(axis=0)[:, None]
    assert (overlap.max(axis=1) > 0.98).all()
    assert state.number == 0
