"""Rows on a Dask cluster of real processes, some of which die."""

import os
import signal

import dask.array as da
import distributed
import pytest

from ribp.scale.dask_runner import DaskKeeper

ON_DASK = [
    pytest.mark.jit,
    pytest.mark.filterwarnings("ignore"),  # of Dask, when processes die or ports are taken
]
UNEVEN = ((1000, 2500, 5500), (3, 1))


def local_cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
    )


def keeper_on(client, kind=DaskKeeper, **options):
    """Return a function that puts values on a cluster, in uneven chunks."""
    return lambda values: kind.of_array(da.from_array(values, chunks=UNEVEN), client, **options)


def deadly(when):
    """Return a keeper that kills a worker after a sweep."""

    class Deadly(DaskKeeper):
        def sweep(self, order):
            found = super().sweep(order)
            if order.number == when:
                where = self.client.who_has(self._rows[-1])[self._rows[-1].key]
                pid = self.client.run(os.getpid, workers=list(where))
                os.kill(next(iter(pid.values())), signal.SIGKILL)
            return found

    return Deadly
