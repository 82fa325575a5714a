"""Every row-parallel method, in memory, from a file, in shards, on a cluster: the same bits."""

import dask.array as da
import numpy as np
import pytest

from ribp import fitting
from ribp.rows.dask_store import DaskStore
from ribp.rows.local import LocalStore
from ribp.rows.source import npy_source
from ribp.running.samplers import ROW_METHODS
from ribp.variational import stochastic
from tests.helpers.dask_cases import ON_DASK, UNEVEN
from tests.helpers.marks import short_of_convergence
from tests.helpers.running_cases import save_often
from tests.helpers.same_bits import assert_same_results
from tests.helpers.store_cases import ROWS, StoppedError, data_of, model_of

pytestmark = [*ON_DASK, short_of_convergence]
PLAN = {"n_chains": 2, "n_warmup": 1, "n_draws": 4, "thin": 2, "seed": 7, "progress": False}


@pytest.fixture(autouse=True)
def _at_rest_soon(few, monkeypatch):
    """Bring the stochastic method to rest after two passes, so that both of its halves are seen."""
    plan = stochastic.BatchPlan(still=0.0, most_passes=2)
    monkeypatch.setattr(stochastic, "DEFAULT", plan)
    monkeypatch.setitem(stochastic.update.__kwdefaults__, "plan", plan)


@pytest.fixture(params=ROW_METHODS)
def method(request):
    return request.param


@pytest.fixture
def whole(file, method):
    """Fit from memory, without a stop."""
    return fitting.fit(model_of(ROWS), data_of(np.load(file)), method, n_jobs=2, **PLAN)


def test_a_file_in_shards_gives_the_same(whole, file, method, tmp_path):
    store = LocalStore(npy_source(file), 2, (0, 4096), tmp_path)
    assert_same_results(whole, fitting.fit(model_of(ROWS), store, method, **PLAN))


@pytest.mark.parametrize("fails_at", [2, 7])
def test_a_run_that_was_killed_goes_on(whole, file, method, tmp_path, monkeypatch, fails_at):
    """It begins with a file, and goes on in memory."""
    save_often(monkeypatch, 1)
    done, run = [], tmp_path / "run"
    sampler = fitting.sampler(method, model_of(ROWS))
    kind, update = type(sampler), sampler.update

    def failing(*given):
        done.append(1)
        if len(done) == fails_at:
            raise StoppedError
        return update(*given)

    monkeypatch.setattr(kind, "update", staticmethod(failing))
    with pytest.raises(StoppedError):
        fitting.fit(model_of(ROWS), LocalStore(npy_source(file), 1), method, checkpoint=run, **PLAN)
    monkeypatch.setattr(kind, "update", staticmethod(update))
    assert_same_results(whole, fitting.resume(run, data_of(np.load(file)), progress=False))


def test_a_cluster_gives_the_same(whole, client, file, method):
    store = DaskStore.of_array(da.from_array(np.load(file), chunks=UNEVEN), client)
    assert_same_results(whole, fitting.fit(model_of(ROWS), store, method, **PLAN))
    assert store.look().digest == LocalStore(npy_source(file)).look().digest
