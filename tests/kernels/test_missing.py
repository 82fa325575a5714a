"""Sums over missing entries are those of the array formula."""

import numpy as np
import pytest

from ribp.kernels.missing import add_missing_pairs


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("factor", [-1.0, 0.5])
def test_missing_pairs_are_added(share, factor):
    rng = np.random.default_rng(0)
    rows = (rng.random((6, 4)) < 0.5).astype(np.int8)
    rows[2] = 0
    observed = rng.random((6, 3)) >= share
    start = rng.normal(size=(3, 4, 4))
    found = start.copy()
    add_missing_pairs(observed, rows, factor, found)
    change = factor * np.einsum("nd,ni,nj->dij", ~observed, rows, rows)
    np.testing.assert_allclose(found, start + change, atol=1e-12)
    assert np.any(found != start) == (share > 0)
