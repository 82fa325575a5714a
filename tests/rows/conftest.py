"""What tests of many rows share."""

import numpy as np
import pytest

from tests.helpers.short_searches import shorten_on_few_rows
from tests.helpers.store_cases import features


@pytest.fixture
def few(monkeypatch):
    """Make a search on few rows, and a short one."""
    shorten_on_few_rows(monkeypatch.setattr)


@pytest.fixture
def file(tmp_path):
    """Write rows with missing entries."""
    np.save(tmp_path / "data.npy", features(share=0.1)[0])
    return tmp_path / "data.npy"


@pytest.fixture(scope="module")
def cluster():
    """Give a cluster of three workers."""
    from tests.helpers.dask_cases import local_cluster

    with local_cluster(3) as found:
        yield found


@pytest.fixture
def client(cluster):
    import distributed

    with distributed.Client(cluster) as found:
        found.wait_for_workers(3)
        yield found
