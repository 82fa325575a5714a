"""The structured method with rows in memory, in files and in shards: the same bits."""

import numpy as np
import pytest

import ribp
from ribp import counts, fitting
from ribp.errors import InputError, StorageError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.model import Model
from ribp.rows.local import LocalRows, LocalStore
from ribp.rows.row_tables import FileTable, MemoryTable, SavedTable, save
from ribp.rows.shard import ShardGroup
from ribp.rows.source import ArraySource, as_source, npy_source
from ribp.search.pool import best
from ribp.variational import structured
from tests.helpers.marks import short_of_convergence
from tests.helpers.running_cases import save_often
from tests.helpers.same_bits import assert_same_results
from tests.helpers.store_cases import (
    ROWS,
    SHARDS,
    StoppedError,
    data_of,
    features,
    kill_driver,
    model_of,
)
from tests.helpers.structured_cases import (
    CASES,
    assert_same,
    at_prior,
    bound,
    case,
    in_memory,
    rows_of,
    update,
    whole,
    with_store,
)

pytestmark = short_of_convergence


@pytest.mark.jit
@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("name", CASES)
def test_shards_and_threads_change_nothing(name, shards):
    n_threads, edges = SHARDS[shards]
    found = with_store(name, lambda values: LocalStore(ArraySource(values), n_threads, edges))
    assert_same(in_memory(name), found)


@pytest.mark.jit
@pytest.mark.parametrize("name", ["complete", "background, missing"])
def test_q_in_a_file_is_q_in_memory(name, tmp_path):
    def store(values):
        np.save(tmp_path / "x.npy", values)
        return LocalStore(npy_source(tmp_path / "x.npy"), 2, (0, 4096), tmp_path)

    assert_same(in_memory(name), with_store(name, store))
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]  # q had no name


@pytest.mark.jit
def test_threads_of_many_groups_change_nothing(monkeypatch):
    monkeypatch.setattr("ribp.rows.shard.GROUP", 512)  # so many that they are shared out
    monkeypatch.setattr("ribp.variational.structured_rows.GROUP", 512)
    monkeypatch.setattr("ribp.variational.structured_rows.LEVEL", 0)
    model, state, values = case("complete")
    one, two = (update(state, model, data_of(values), n_threads=n) for n in (1, 2))
    assert one.q.bound == two.q.bound
    np.testing.assert_array_equal(one.row_log_odds, two.row_log_odds)


@pytest.mark.jit
def test_groups_change_nothing_but_rounding(monkeypatch):
    """The totals of groups are those of all rows, added in another order."""

    def updated(apart=0.0):
        model, first, data = at_prior("duplicates")
        state = first._replace(row_log_odds=first.row_log_odds.copy())
        state.row_log_odds[4096:] += apart
        for _ in range(3):
            state = update(state, model, data)
        assert bound(state, model, data) == pytest.approx(state.q.bound)
        return state

    grouped = updated()
    apart = updated(2.0)  # a broken twin: rows of different groups that are alike begin differently
    monkeypatch.setattr("ribp.rows.shard.GROUP", 2 * ROWS)
    whole = updated()
    assert grouped.q.bound == pytest.approx(whole.q.bound, rel=1e-12)
    assert apart.q.bound != pytest.approx(whole.q.bound, rel=1e-9)
    np.testing.assert_allclose(grouped.q.features.mean, whole.q.features.mean, rtol=1e-8)
    np.testing.assert_allclose(grouped.row_means, whole.row_means, atol=1e-8)


# Broken twins


def forgets(group, table):
    """Leave q of one shard as it was."""
    WRITE(group, group.table() if group.shard.start else table)


def mixes_up(group, z):
    """Give the rows of one shard to their neighbours."""
    WRITE_Z(group, np.roll(z, 1, axis=0) if group.shard.start else z)


WRITE, WRITE_Z = ShardGroup.write, ShardGroup.write_z


@pytest.mark.jit
@pytest.mark.parametrize(("method", "broken"), [("write", forgets), ("write_z", mixes_up)])
def test_a_shard_that_is_wrong_is_noticed(monkeypatch, method, broken):
    whole = in_memory("complete")
    monkeypatch.setattr(ShardGroup, method, broken)
    found = with_store("complete", lambda v: LocalStore(ArraySource(v), 1, (0, 4096)))
    with pytest.raises(AssertionError):
        assert_same(whole, found)


# Fits

PLAN = {"n_chains": 2, "n_warmup": 2, "n_draws": 4, "thin": 2, "seed": 7, "progress": False}


@pytest.mark.jit
@pytest.mark.parametrize("grow", [False, True])
def test_a_fit_from_a_file_is_a_fit_from_memory(few, file, grow):
    options = PLAN | {"grow": grow, "n_chains": 1}
    in_mind = fitting.fit(model_of(ROWS), data_of(np.load(file)), "structured", n_jobs=2, **options)
    store = LocalStore(npy_source(file), 2)
    found = fitting.fit(model_of(ROWS), store, "structured", **options)
    assert_same_results(in_mind, found)
    mapped = LocalStore(as_source(np.load(file, mmap_mode="r")), 1, (0, 4096))
    again = fitting.fit(model_of(ROWS), mapped, "structured", **options)
    assert_same_results(found, again)


@pytest.mark.jit
def test_few_rows_start_as_in_memory(few):
    values, _ = features(120)
    in_mind = fitting.fit(model_of(120), data_of(values), "structured", **PLAN)
    store = LocalStore(ArraySource(values), 1)
    found = fitting.fit(model_of(120), store, "structured", **PLAN)
    assert_same_results(in_mind, found)


@pytest.mark.jit
def test_an_estimator_of_few_rows_takes_a_map_as_an_array(tmp_path, monkeypatch, few):
    """No more rows than a search is made on: mean and variance are those of memory, too."""
    monkeypatch.setattr("ribp.search.pool.SEARCH_ROWS", 2000)
    values, _ = features(700, share=0.05)
    np.save(tmp_path / "x.npy", values)
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 1, "n_draws": 3}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    for method in ("gibbs-rows", "structured"):
        here = ribp.RestrictedIBP(method, **settings).fit(values)
        there = ribp.RestrictedIBP(method, **settings).fit(
            np.load(tmp_path / "x.npy", mmap_mode="r")
        )
        assert_same_results(here.result_, there.result_)


@pytest.mark.jit
def test_a_start_on_some_rows_finds_clear_features(monkeypatch):
    monkeypatch.setattr("ribp.search.pool.SEARCH_ROWS", 300)
    rng = np.random.default_rng(0)
    _, rows = features(3000)
    values = rows @ rng.normal(0, 3, (3, 12)) + 0.3 * rng.normal(size=(3000, 12))
    law = counts.as_row_counts(rows.sum(axis=1).astype(int), 3000)
    model = Model(law, 4, LinearGaussian())
    here = rows_of(model, data_of(values))
    q = structured.start(rng, model, here, best(rng, model, data_of(values), 2))
    state = whole(q, model, here)
    overlap = rows.T @ state.row_means / rows.sum(axis=0)[:, None]
    assert (overlap.max(axis=1) > 0.98).all()
    assert q.number == 0
    assert q.bound == pytest.approx(bound(state, model, data_of(values)))
    after = update(state, model, data_of(values))
    assert after.q.bound >= q.bound
    change = np.abs(after.row_means - state.row_means).max()
    assert change < 0.5  # its rows were where they belong


# Going on

DRIVER = """
import ribp.running.run as run
from tests.helpers.store_cases import model_of, ROWS
from tests.helpers.short_searches import shorten_on_few_rows
from tests.rows.test_structured_rows import LONG
from ribp import fitting
from ribp.rows.local import LocalRows, LocalStore
from ribp.rows.source import npy_source
run.CHECKPOINT_SECONDS, run.CHECKPOINT_SWEEPS = 0.0, 1
shorten_on_few_rows()
store = LocalStore(npy_source({data!r}), 1)
fitting.fit(model_of(ROWS), store, "structured", checkpoint={run!r}, **LONG)
"""
LONG = PLAN | {"n_chains": 1, "n_draws": 40}


@pytest.mark.jit
def test_a_driver_that_is_killed_resumes(few, file, tmp_path):
    store, run = LocalStore(npy_source(file), 2), tmp_path / "run"
    whole = fitting.fit(model_of(ROWS), store, "structured", **LONG)
    code = DRIVER.format(data=str(file), run=str(run))
    kill_driver(code, run)
    fresh = LocalStore(npy_source(file), 1, (0, 4096))
    assert_same_results(whole, fitting.resume(run, fresh, progress=False))
    assert len(list(run.glob("chain-0-rows-*.npy"))) == 1


@pytest.mark.jit
@pytest.mark.parametrize("fails_at", [4, 9])
def test_a_run_that_was_killed_goes_on_with_the_same_bits(
    few, file, tmp_path, monkeypatch, fails_at
):
    save_often(monkeypatch, 2)
    store = LocalStore(npy_source(file), 2)
    whole = fitting.fit(model_of(ROWS), store, "structured", **PLAN)
    do, left = LocalRows.do, [fails_at]

    def failing(self, order):
        left[0] -= self.store is other and not order.fresh  # that of a start does not count
        if left[0] == 0:
            raise StoppedError
        return do(self, order)

    monkeypatch.setattr(LocalRows, "do", failing)
    other, folder = LocalStore(npy_source(file), 1, (0, 4096)), tmp_path / "run"
    with pytest.raises(StoppedError):
        fitting.fit(model_of(ROWS), other, "structured", checkpoint=folder, **PLAN)
    monkeypatch.setattr(LocalRows, "do", do)
    fresh = LocalStore(npy_source(file), 1, (0, 8192))
    found = fitting.resume(folder, fresh, progress=False)
    assert_same_results(whole, found)
    assert len(list(folder.glob("chain-*-rows-*.npy"))) == 2  # one a chain


@pytest.mark.jit
def test_more_draws_and_a_checkpoint_without_its_rows(few, tmp_path, file):
    store, folder = LocalStore(npy_source(file), 2), tmp_path / "run"
    options = PLAN | {"n_chains": 1}
    fitting.fit(model_of(ROWS), store, "structured", checkpoint=folder, **options)
    longer = fitting.resume(folder, store, n_draws=6, progress=False)
    whole = fitting.fit(model_of(ROWS), store, "structured", **options | {"n_draws": 6})
    assert_same_results(whole, longer)
    (rows,) = folder.glob("chain-0-rows-*.npy")
    whole = rows.read_bytes()
    for damage, says in ((whole[:-8], "damaged"), (b"", "damaged"), (None, "missing")):
        rows.unlink(missing_ok=True) if damage is None else rows.write_bytes(damage)
        with pytest.raises(StorageError, match=rf"chain-0-rows.*{says}"):
            fitting.resume(folder, store, n_draws=8, progress=False)
    np.save(rows, np.zeros((5, 2)))
    with pytest.raises(StorageError, match="5 rows of 2"):
        fitting.resume(folder, store, n_draws=8, progress=False)


# Tables


def test_tables(tmp_path):
    values = np.random.default_rng(0).normal(size=(10, 3))
    for table in (MemoryTable(np.zeros((10, 3))), FileTable(tmp_path, (10, 3))):
        table.write(0, values[:4])
        table.write(4, values[4:])
        np.testing.assert_array_equal(table.read(2, 7), values[2:7])
        after = table.following()
        after.write(0, 2 * values)
        np.testing.assert_array_equal(after.read(0, 10), 2 * values)
        kept = isinstance(table, MemoryTable)  # a task may be run again; a file is changed in place
        np.testing.assert_array_equal(table.read(0, 10), values if kept else 2 * values)
    save(tmp_path / "t.npy", 10, [values[:4], values[4:]])
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), values)
    stored = SavedTable(tmp_path / "t.npy", (10, 3))
    np.testing.assert_array_equal(stored[3:8], values[3:8])
    with pytest.raises(StorageError, match="cannot hold what all rows have"):
        FileTable(tmp_path / "nowhere", (10, 3))


def test_a_disk_that_is_full(tmp_path):
    table = FileTable(tmp_path, (10, 3))

    class Full:
        seek = staticmethod(lambda at: None)

        def write(self, what):
            raise OSError(28, "No space left on device")

    table._file = Full()
    with pytest.raises(StorageError, match="No space left"):
        table.write(0, np.zeros((10, 3)))


# What is refused

VALUES = features(300, share=0.1)[0]


def test_what_cannot_be_fitted_is_refused():
    store = LocalStore(ArraySource(VALUES), 1)
    law = counts.as_row_counts(counts.uniform(1, 2), 300)

    def fit(likelihood=None, law=law, method="structured", n_features=3):
        fitting.fit(Model(law, n_features, likelihood or LinearGaussian()), store, method)

    with pytest.raises(InputError, match="one law for each of the 300 rows"):
        fit(law=counts.as_row_counts(counts.uniform(1, 2), 299))
    with pytest.raises(InputError, match="must be possible with max_features=3"):
        fit(law=counts.as_row_counts(counts.exactly(4), 300))
    with pytest.raises(InputError, match=r'"gibbs-rows" where data are counts'):
        fit(PoissonCounts())
    with pytest.raises(InputError, match='"gibbs-rows" where features are known'):
        fit(LinearGaussian(known=((1.0,) * 4,)))
    with pytest.raises(InputError, match="must be one of gibbs, gibbs-rows"):
        fit(method="gibs")


def test_known_features_are_no_more_than_all():
    """The same words as in memory."""
    law = counts.as_row_counts(counts.uniform(1, 2), 300)
    model = Model(law, 3, LinearGaussian(known=((1.0,) * 4,) * 5))
    store = LocalStore(ArraySource(VALUES), 1)
    with pytest.raises(InputError) as there:
        fitting.fit(model, store, "gibbs-rows")
    with pytest.raises(InputError) as here:
        fitting.fit(model, data_of(VALUES), "gibbs-rows")
    assert str(there.value) == str(here.value)
    assert "at most max_features=3" in str(here.value)


@pytest.mark.jit
def test_a_row_without_a_finite_bound_is_named():
    def store(values):
        values[5000, 1] = 1e200
        return LocalStore(ArraySource(values), 1, (0, 4096))

    with np.errstate(all="ignore"), pytest.raises(InputError, match="row 5000"):
        with_store("complete", store)


@pytest.mark.jit
def test_shards_of_which_nothing_was_seen(few):
    values = np.full((5000, 3), np.nan)
    values[4096:] = np.random.default_rng(0).normal(size=(904, 3))
    store = LocalStore(ArraySource(values), 1, (0, 4096))
    law = counts.as_row_counts(counts.uniform(1, 2), 5000)
    found = fitting.fit(Model(law, 3, LinearGaussian()), store, "structured", **PLAN)
    assert np.isfinite(found.tree["posterior"]["log_joint"]).all()
