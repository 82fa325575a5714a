"""Shards on a Dask cluster of real processes: same bits, and what happens when things go wrong."""

import shutil
import socket
import subprocess
import sys
import time

import dask.array as da
import distributed
import numpy as np
import pytest

import ribp
from ribp import counts, fitting
from ribp.errors import InputError, StorageError
from ribp.likelihoods import LinearGaussian
from ribp.model import Model
from ribp.rows import dask_store
from ribp.rows.cluster import connect, versions
from ribp.rows.dask_store import DaskStore
from ribp.rows.local import LocalStore
from ribp.rows.source import FileSource, npy_source
from tests.helpers.dask_cases import ON_DASK, UNEVEN, deadly, local_cluster, store_on
from tests.helpers.same_bits import assert_same_results, assert_same_states
from tests.helpers.store_cases import ROWS, features, in_memory, in_shards, kill_driver

pytestmark = ON_DASK


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("name", ["background, missing", "counts, missing"])
def test_shards_on_workers_change_nothing(client, name, n_shards):
    assert_same_states(in_memory(name), in_shards(name, store_on(client, n_shards=n_shards)))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_number_of_workers_changes_nothing(n_workers):
    with (
        local_cluster(n_workers) as few,
        distributed.Client(few) as client,
    ):
        found = in_shards("gaussian", store_on(client))
    assert_same_states(in_memory("gaussian"), found)


def test_rows_that_are_taken_in_and_handed_out_again_are_the_same(client, monkeypatch):
    monkeypatch.setattr(dask_store, "_RENEW", 2)
    found = in_shards("gaussian", lambda values: DaskStore.of_array(da.from_array(values), client))
    assert_same_states(in_memory("gaussian"), found)


@pytest.mark.parametrize("when", [4])
def test_a_worker_that_is_killed_is_replaced(client, when):
    """Its shard is made again from the data, sweep by sweep, elsewhere."""
    found = in_shards(
        "background, missing",
        store_on(client, deadly(when)),
    )
    assert_same_states(in_memory("background, missing"), found)


DRIVER = """
import ribp.running.run as run
from tests.helpers.short_searches import shorten_on_few_rows
from tests.rows.test_dask import model_of, PLAN
from ribp import fitting
from ribp.rows.cluster import connect
from ribp.rows.dask_store import DaskStore
from ribp.rows.source import npy_source
run.CHECKPOINT_SECONDS, run.CHECKPOINT_SWEEPS = 0.0, 2
shorten_on_few_rows()
store = DaskStore.of_source(npy_source({data!r}), connect({address!r}))
fitting.fit(model_of(), store, "gibbs-rows", checkpoint={run!r}, **PLAN)
"""
PLAN = {"n_chains": 2, "n_warmup": 3, "n_draws": 90, "thin": 30, "seed": 4, "progress": False}


def model_of():
    law = counts.as_row_counts(counts.uniform(1, 2), ROWS)
    return Model(law, 4, LinearGaussian())


@pytest.fixture
def complete_file(tmp_path):
    np.save(tmp_path / "data.npy", features()[0])
    return tmp_path / "data.npy"


def test_a_driver_that_is_killed_resumes(few, cluster, client, complete_file, tmp_path):
    store = LocalStore(npy_source(complete_file))
    whole = fitting.fit(model_of(), store, "gibbs-rows", **PLAN)
    run, address = tmp_path / "run", cluster.scheduler_address
    code = DRIVER.format(data=str(complete_file), address=address, run=str(run))
    kill_driver(code, run)
    assert not list(run.glob("chain-1-draws-*"))  # it was not done
    fresh = DaskStore.of_source(npy_source(complete_file), client)
    assert_same_results(whole, fitting.resume(run, fresh, progress=False))


def test_an_estimator_takes_a_dask_array(few, client):
    values, _ = features(share=0.05)
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 2, "n_draws": 6}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    here = ribp.RestrictedIBP("gibbs-rows", **settings).fit(values)
    there = ribp.RestrictedIBP("gibbs-rows", **settings).fit(da.from_array(values, chunks=UNEVEN))
    assert_same_results(here.result_, there.result_)
    np.testing.assert_array_equal(here.row_probs_, there.row_probs_)
    with pytest.raises(InputError, match="gibbs-rows"):
        ribp.RestrictedIBP("gibbs", **settings).fit(da.from_array(values))


def test_kinds_of_columns_on_a_cluster(few, client):
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.random(700) < 0.4, rng.integers(3, size=700), rng.normal(size=700)]
    )
    kinds = {0: "binary", 1: ribp.kinds.categorical(["a", "b", "c"]), 2: "real"}
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 1, "n_draws": 4, "likelihood": kinds}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    here = ribp.RestrictedIBP("gibbs-rows", **settings).fit(values)
    there = ribp.RestrictedIBP("gibbs-rows", **settings).fit(da.from_array(values, chunks=(300, 2)))
    assert_same_results(here.result_, there.result_)
    assert there.kinds_["1"].levels == ("a", "b", "c")


@pytest.mark.parametrize("method", ["stochastic", "hybrid"])
def test_stochastic_and_hybrid_take_a_dask_array(few, client, method):
    values, _ = features(400)
    settings = {"max_features": 4, "n_chains": 1, "n_warmup": 1, "n_draws": 2}
    settings |= {"counts": "uniform(1, 2)", "random_state": 3, "progress": False}
    here = ribp.RestrictedIBP(method, **settings).fit(values)
    there = ribp.RestrictedIBP(method, **settings).fit(da.from_array(values, chunks=100))
    assert_same_results(here.result_, there.result_)


# What is refused


def test_workers_with_other_versions(client):
    other = versions() | {"numpy": "1.0.0"}

    def pretend(found):
        from ribp.rows import cluster

        cluster.versions = lambda: found

    def honest():
        import importlib

        from ribp.rows import cluster

        importlib.reload(cluster)

    worker = next(iter(client.nthreads()))
    client.run(pretend, other, workers=[worker])
    try:
        with pytest.raises(InputError, match=r"numpy 1\.0\.0 instead of") as caught:
            DaskStore.of_array(da.zeros((10, 2)), client)
        assert worker in str(caught.value)
    finally:
        client.run(honest, workers=[worker])


def test_a_scheduler_that_does_not_answer():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(InputError, match="within 1 seconds"):
            connect(address, patience=1.0)
        assert time.monotonic() - began < 15
    with pytest.raises(InputError, match="scheduler"):
        connect(address, patience=1.0)  # nobody listens any more
    with pytest.raises(InputError, match="scheduler"):
        connect("nonsense://here", patience=1.0)


def test_a_scheduler_without_workers():
    with (
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=None) as none,
        distributed.Client(none) as client,
        pytest.raises(InputError, match="worker within"),
    ):
        DaskStore.of_array(da.zeros((10, 2)), client, patience=0.5)


BAD = {
    "text": da.from_array(np.array([["a", "b"]])),
    "one axis": da.zeros(5),
    "no rows": da.zeros((0, 3)),
    "unknown size": da.from_array(np.arange(6.0).reshape(3, 2))[da.from_array(np.ones(3, bool))],
}


@pytest.mark.parametrize("name", BAD)
def test_arrays_that_are_no_matrix(client, name):
    with pytest.raises(InputError, match=r"^X "):
        DaskStore.of_array(BAD[name], client)


def test_infinite_entries_and_files_that_workers_cannot_read(client, file):
    values = features()[0]
    values[5000, 2] = np.inf
    with pytest.raises(InputError, match="row 5000, column 2"):
        DaskStore.of_array(da.from_array(values), client).look()
    source = FileSource("/nowhere/data.npy", 128, "<f8", ROWS, 4)
    with pytest.raises(StorageError, match=r"nowhere.*rows"):
        DaskStore.of_source(source, client).look()
    store = DaskStore.of_source(npy_source(file), client)
    short = Model(counts.as_row_counts(counts.exactly(1), 5), 4, LinearGaussian())
    with pytest.raises(InputError, match="one law for each"):
        fitting.fit(short, store, "gibbs-rows")


# Encrypted


def certificate(folder):
    """Make a key and a certificate that vouches for itself."""
    key, signed = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=ribp", "-keyout", key, "-out", signed],
        check=True, capture_output=True,
    )  # fmt: skip
    return {"tls_ca_file": str(signed)} | {
        f"tls_{role}_{kind}": str(path)
        for role in ("client", "scheduler", "worker")
        for kind, path in (("key", key), ("cert", signed))
    }


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_cluster_with_tls(tmp_path):
    security = distributed.Security(require_encryption=True, **certificate(tmp_path))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None,
        protocol="tls://", security=security,
    ) as secret:  # fmt: skip
        assert secret.scheduler_address.startswith("tls://")
        with connect(secret.scheduler_address, security=security) as client:
            found = in_shards(
                "gaussian", lambda values: DaskStore.of_array(da.from_array(values), client), 2
            )
        with pytest.raises(InputError, match="certificates"):
            connect(secret.scheduler_address, patience=2.0)
    assert_same_states(in_memory("gaussian", 2), found)


def test_without_dask_an_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"ribp\[dask\]"):
        connect()
