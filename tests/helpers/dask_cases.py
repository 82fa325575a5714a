"""Rows on a Dask cluster of real processes, some of which die."""

import os
import signal

import dask.array as da
import distributed
import pytest

from ribp.rows.dask_store import DaskRows, DaskStore

ON_DASK = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore"),  # of Dask, when processes die or ports are taken
]
UNEVEN = ((1000, 2500, 5500), (3, 1))


def local_cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
    )


def store_on(client, kind=DaskStore, **options):
    """Return a function that puts values on a cluster, in uneven chunks."""
    return lambda values: kind.of_array(da.from_array(values, chunks=UNEVEN), client, **options)


def deadly(when):
    """Return a store that kills a worker after piece of work number `when`."""

    class DeadlyRows(DaskRows):
        done = 0

        def do(self, order):
            found = super().do(order)
            self.done += 1
            if self.done == when:
                client = self.store.client
                where = client.who_has(self._states[-1])[self._states[-1].key]
                pid = client.run(os.getpid, workers=list(where))
                os.kill(next(iter(pid.values())), signal.SIGKILL)
            return found

    class Deadly(DaskStore):
        def rows(self, layout, law_of_row):
            return DeadlyRows(self, layout, law_of_row)

    return Deadly
