"""Counts that cannot be meant are refused before a search; honest ones never are."""

import numpy as np
import pytest

from ribp import counts
from ribp.errors import InputError
from ribp.search import capacity


def exact(ks):
    return counts.as_row_counts(np.array(ks), len(ks))


@pytest.mark.parametrize("others", [[2, 3, 1, 2], [0] * 30, [9]])
def test_a_mistyped_count_is_named(others):
    ks = [*others, 1000]
    with pytest.raises(InputError, match=rf"exactly\(1000\) in row {len(others)}\. .*max_features"):
        capacity.check_counts(exact(ks), 8)
    names = [f"case {n}" for n in range(len(ks))]
    with pytest.raises(InputError, match=f"in row 'case {len(others)}'"):
        capacity.check_counts(exact(ks), 8, names)


def test_so_is_a_mistyped_end_of_a_range():
    laws = counts.as_row_counts(np.array([[1, 2], [2, 1000], [1, 3]]), 3)
    with pytest.raises(InputError, match=r"uniform\(2, 1000\) in row 1"):
        capacity.check_counts(laws, 8)


@pytest.mark.parametrize(
    ("ks", "n_dims"),
    [
        ([500] * 5, 8),  # all rows have many
        ([60, 80, 100, 300, 900], 50),
        ([2] * 50 + [100], 8),  # a hundred may be
        ([2] * 50 + [700], 1000),  # fewer than there are columns
        ([1000], 3),
        ([], 3),
    ],
)
def test_honest_counts(ks, n_dims):
    capacity.check_counts(exact(ks), n_dims)


def test_laws_without_end_and_laws_far_too_wide():
    capacity.check_counts(counts.as_row_counts("poisson(3)", 5), 4)
    with pytest.raises(InputError, match=r"laws that need 999999.*Set max_features"):
        capacity.check_counts(counts.as_row_counts("uniform(0, 999999)", 5), 4)
