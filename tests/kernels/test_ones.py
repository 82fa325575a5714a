"""Counts of ones, and laws with a gap."""

import math

import numpy as np

from ribp.kernels import ones


def test_a_tally_counts_rows_and_features():
    rng = np.random.default_rng(0)
    rows, law_of_row = (rng.random((9, 4)) < 0.4).astype(np.int8), rng.integers(0, 3, 9)
    histograms, sizes = np.zeros((3, 5), np.int64), np.zeros(4, np.int64)
    ones.tally(rows, law_of_row, histograms, sizes)
    expected = np.zeros((3, 5), np.int64)
    np.add.at(expected, (law_of_row, rows.sum(axis=1)), 1)
    np.testing.assert_array_equal(histograms, expected)
    np.testing.assert_array_equal(sizes, rows.sum(axis=0))


def test_gaps():
    no = -math.inf
    tables = [
        [0.0, 1.0, no, no],
        [no, 1.0, no, 2.0],
        [1.0, no, no, 2.0],
        [no, no, 0.0, 0.0],
        [no, no, no, no],
    ]
    np.testing.assert_array_equal(ones.has_gap(np.array(tables)), [False, True, True, False, False])
