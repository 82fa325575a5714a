"""The structured method on a Dask cluster of real processes: same bits, also when a worker dies."""

import dask.array as da
import numpy as np
import pytest

import ribp
from ribp.errors import InputError
from ribp.rows import dask_store
from tests.helpers.dask_cases import ON_DASK, UNEVEN, deadly, store_on
from tests.helpers.same_bits import assert_same_results
from tests.helpers.store_cases import features
from tests.helpers.structured_cases import assert_same, in_memory, with_store

pytestmark = ON_DASK


def test_an_estimator_takes_a_dask_array(few, client):
    values, _ = features(share=0.05)
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 2, "n_draws": 4}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    here = ribp.RestrictedIBP("structured", **settings).fit(values)
    there = ribp.RestrictedIBP("structured", **settings).fit(da.from_array(values, chunks=UNEVEN))
    assert_same_results(here.result_, there.result_)
    np.testing.assert_array_equal(here.row_probs_, there.row_probs_)


def test_q_that_is_taken_in_and_handed_out_again_is_the_same(client, monkeypatch):
    monkeypatch.setattr(dask_store, "_RENEW", 1)
    assert_same(in_memory("complete"), with_store("complete", store_on(client)))


def test_a_worker_that_is_killed_is_replaced(client):
    """Its q is made again from the data, pass by pass, elsewhere."""
    name = "background, missing"
    assert_same(in_memory(name, 4), with_store(name, store_on(client, deadly(2)), 4))


def test_a_row_without_a_finite_bound_is_named(client):
    def store(values):
        values[5000, 1] = 1e200
        return store_on(client)(values)

    with pytest.raises(InputError, match="row 5000"):
        with_store("complete", store)


def test_the_number_of_workers_changes_nothing(cluster, client):
    """Three of them, then two, then one."""
    name = "background, missing"
    whole = in_memory(name)
    for n_workers in (3, 2, 1):
        leaving = list(client.nthreads())[n_workers:]
        client.retire_workers(leaving, close_workers=True)
        assert len(client.nthreads()) == n_workers
        assert_same(whole, with_store(name, store_on(client)))
    assert_same(whole, with_store(name, store_on(client, n_shards=2)))
