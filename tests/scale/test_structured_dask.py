"""The structured method on a Dask cluster of real processes: same bits, also when a worker dies."""

import os
import signal

import dask.array as da
import distributed
import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.scale import dask_runner
from ribp.scale.dask_runner import DaskKeeper
from tests.helpers.scale_cases import assert_same_draws, features
from tests.helpers.structured_cases import in_memory, with_keeper
from tests.scale.test_structured_elsewhere import assert_same

pytestmark = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore"),  # of Dask, when processes die or ports are taken
]
UNEVEN = ((1000, 2500, 5500), (3, 1))


@pytest.fixture(scope="module")
def cluster():
    """Give a cluster of three workers."""
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as found:
        found.wait_for_workers(3)
        yield found


def keeper_on(client, kind=DaskKeeper, **options):
    return lambda values: kind.of_array(da.from_array(values, chunks=UNEVEN), client, **options)


def test_an_estimator_takes_a_dask_array(few, client):
    values, _ = features(share=0.05)
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 2, "n_draws": 4}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    here = ribp.RestrictedIBP("structured", **settings).fit(values)
    there = ribp.RestrictedIBP("structured", **settings).fit(da.from_array(values, chunks=UNEVEN))
    assert_same_draws(here.result_, there.result_)
    np.testing.assert_array_equal(here.row_probs_, there.row_probs_)


def test_q_that_is_taken_in_and_handed_out_again_is_the_same(client, monkeypatch):
    monkeypatch.setattr(dask_runner, "_RENEW", 1)
    assert_same(in_memory("complete"), with_keeper("complete", keeper_on(client)))


def test_a_worker_that_is_killed_is_replaced(client):
    """Its q is made again from the data, pass by pass, elsewhere."""

    class Deadly(DaskKeeper):
        def sweep(self, order):
            found = super().sweep(order)
            if order.number == 2:
                where = self.client.who_has(self._rows[-1])[self._rows[-1].key]
                pid = self.client.run(os.getpid, workers=list(where))
                os.kill(next(iter(pid.values())), signal.SIGKILL)
            return found

    name = "background, missing"
    assert_same(in_memory(name, 4), with_keeper(name, keeper_on(client, Deadly), 4))


def test_a_row_without_a_finite_bound_is_named(client):
    def keeper(values):
        values[5000, 1] = 1e200
        return keeper_on(client)(values)

    with pytest.raises(InputError, match="row 5000"):
        with_keeper("complete", keeper)


def test_the_number_of_workers_changes_nothing(cluster, client):
    """Three of them, then two, then one."""
    name = "background, missing"
    whole = in_memory(name)
    for n_workers in (3, 2, 1):
        leaving = list(client.nthreads())[n_workers:]
        client.retire_workers(leaving, close_workers=True)
        assert len(client.nthreads()) == n_workers
        assert_same(whole, with_keeper(name, keeper_on(client)))
    assert_same(whole, with_keeper(name, keeper_on(client, n_shards=2)))
