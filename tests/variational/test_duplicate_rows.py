"""Duplicate rows: found by their numbers, or by their bytes if numbers mislead."""

import numpy as np
import pytest

from ribp.likelihoods.data import Data, complete
from ribp.variational import duplicate_rows as module
from ribp.variational.duplicate_rows import unique_rows


def values():
    return np.random.default_rng(4).normal(size=(4, 3))[[0, 1, 0, 2, 0, 1, 3]]


WHICH = np.array([0, 0, 0, 0, 1, 0, 0])


@pytest.fixture(params=["good", "the same for all rows", "the law only"])
def _keys(request, monkeypatch):
    """Numbers that tell rows apart, and two kinds that do not."""
    if request.param != "good":
        only = 0 if request.param == "the law only" else -1
        monkeypatch.setattr(
            module, "_keys", lambda data, which: np.where(only, 0, which).astype(np.uint64)
        )


@pytest.mark.usefixtures("_keys")
def test_kinds_are_in_order():
    found = unique_rows(complete(values()), WHICH)
    assert found.first.tolist() == [0, 1, 3, 4, 6]
    assert found.kind.tolist() == [0, 1, 0, 2, 3, 1, 4]
    assert found.number.tolist() == [2, 2, 1, 1, 1]
    assert not found.all_differ
    np.testing.assert_array_equal(found.spread(found.firsts(values())), values())


@pytest.mark.usefixtures("_keys")
def test_what_was_observed_matters():
    observed = np.ones((7, 3), bool)
    observed[2, 0] = False
    assert unique_rows(Data(values(), observed), WHICH).first.tolist() == [0, 1, 2, 3, 4, 6]


def test_rows_that_all_differ_are_not_copied_back():
    data = np.arange(6.0).reshape(3, 2)
    found = unique_rows(complete(data), np.zeros(3, np.int64))
    assert found.all_differ
    assert found.spread(data) is data
    assert found.firsts(data) is not data
    np.testing.assert_array_equal(found.firsts(data), data)


def test_numbers_of_zeros_and_ones_differ(monkeypatch):
    """Their bits are zero but for a few: without folding many rows have the same number."""
    monkeypatch.setattr(module, "_AT_ONCE", 100)
    rows = ((np.arange(2**10)[:, None] >> np.arange(10)) & 1).astype(np.float64)
    keys = module._keys(complete(rows), np.zeros(len(rows), np.int64))
    assert np.unique(keys).size == len(rows)
    assert unique_rows(complete(rows), np.zeros(len(rows), np.int64)).all_differ
    twice = unique_rows(complete(np.vstack([rows, rows])), np.zeros(2 * len(rows), np.int64))
    np.testing.assert_array_equal(twice.first, np.arange(len(rows)))
