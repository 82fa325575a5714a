"""Keys of rows depend on the seed and on everything observed, and look like chance."""

import numpy as np

from ribp.kernels.row_keys import row_keys


def keys(values, observed=None, seed=0):
    values = np.ascontiguousarray(values, dtype=np.float64)
    seen = np.ones(values.shape, bool) if observed is None else observed
    found = np.empty(len(values), np.uint64)
    with np.errstate(over="ignore"):
        row_keys(np.uint64(seed), values.view(np.uint64), seen, found)
    return found


def test_every_entry_its_place_and_the_seed_matter():
    rows = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, np.nextafter(3.0, 4.0)]])
    some = np.array([[False, True, True], [True, False, True], [True, True, False]])
    found = [keys(rows), keys(rows, seed=1), keys(rows, some), keys(0.0 * rows, some)]
    assert np.unique(np.concatenate(found)).size == 12
    np.testing.assert_array_equal(keys(rows[[0, 0]]), keys(rows)[[0, 0]])


def test_what_is_missing_has_no_value():
    hidden = np.array([[True, False], [True, False]])
    one, other = keys([[1.0, 5.0], [1.0, 7.0]], hidden)
    assert one == other


def test_each_bit_of_keys_is_on_in_half_of_them():
    rows = np.random.default_rng(0).integers(0, 3, (500, 4)).cumsum(axis=1) / 8
    found = keys(np.unique(rows, axis=0))
    bits = (found[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(len(found))
    assert np.unique(found).size == len(found)
