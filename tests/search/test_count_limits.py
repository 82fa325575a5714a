"""Which numbers of ones rows may have, and rows that are brought there."""

import numpy as np

from ribp import counts
from ribp.search.count_limits import CountLimits, popularity


def test_limits_and_what_is_nearest():
    laws = counts.by_row([counts.exactly(2), counts.table([0, 0.5, 0, 0.5]), counts.uniform(0, 9)])
    limits = CountLimits.of(laws, 4)
    np.testing.assert_array_equal(limits.least, [2, 1, 0])
    np.testing.assert_array_equal(limits.most, [2, 3, 4])
    assert limits.free
    assert not CountLimits.of(counts.as_row_counts(counts.exactly(2), 3), 4).free
    rows = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], np.int8)
    rows[2, 3] = 0  # so that the last feature is the least popular
    np.testing.assert_array_equal(limits.cut(rows), [2, 3, 3])
    np.testing.assert_array_equal(rows, [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]])
    nothing = np.zeros((3, 4), np.int8)
    np.testing.assert_array_equal(limits.cut(nothing), [2, 1, 0])  # to be filled by others


def test_popularity_is_finite_and_ranks():
    rows = np.array([[1, 1, 0], [1, 0, 0]], np.int8)
    odds = popularity(rows)
    assert np.isfinite(odds).all()
    assert (np.diff(odds) < 0).all()
