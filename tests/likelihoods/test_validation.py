"""Data at the door: what is taken, what is refused, and with which words."""

import numpy as np
import pytest
from scipy import sparse

from ribp.errors import InputError
from ribp.likelihoods.validation import as_data

VALUES = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 6.0]])


class Frame:
    """A data frame that knows nulls, as pandas has it."""

    def __init__(self, values, nulls):
        self.values, self.nulls = values, nulls

    def to_numpy(self, dtype=None, na_value=None):
        return np.where(self.nulls, na_value, self.values).astype(dtype)


class PlainFrame:
    """A data frame whose `to_numpy` takes no arguments of pandas."""

    def to_numpy(self):
        return VALUES


@pytest.mark.parametrize(
    "given",
    [
        VALUES.tolist(),
        VALUES.astype(int),
        VALUES.astype(np.float32),
        np.asfortranarray(VALUES),
        sparse.csr_array(VALUES),
        sparse.coo_matrix(VALUES),
        Frame(VALUES, np.zeros((2, 3), bool)),
        PlainFrame(),
    ],
)
def test_what_holds_numbers_is_taken(given):
    data = as_data(given)
    assert data.complete
    assert data.values.dtype == np.float64
    assert data.values.flags.c_contiguous
    np.testing.assert_array_equal(data.values, VALUES)


@pytest.mark.parametrize(
    "given",
    [
        np.where(VALUES == 5, np.nan, VALUES),
        np.ma.masked_equal(VALUES, 5),
        Frame(VALUES, VALUES == 5),
    ],
)
def test_missing_entries(given):
    data = as_data(given)
    np.testing.assert_array_equal(data.observed, VALUES != 5)
    assert data.values[1, 1] == 0.0
    assert data.rows(np.array([1])).observed.tolist() == [[True, False, True]]


def test_nothing_observed_is_allowed():
    data = as_data(np.full((2, 2), np.nan))
    assert not data.observed.any()


def test_the_input_is_not_changed():
    given = np.where(VALUES == 5, np.nan, VALUES)
    as_data(given).values[0, 0] = 99.0
    assert given[0, 0] == 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((0, 3)), r"at least one row.*shape \(0, 3\)"),
        (np.zeros((3, 0)), "at least one row"),
        (np.zeros(3), "X\\[None, :\\]"),
        (np.zeros((2, 2, 2)), "must be a matrix"),
        ([[1.0, np.inf]], "inf in row 0, column 1.*NaN"),
        ([["a", "b"]], "real numbers.*encode"),
        ([[1.0], [1.0, 2.0]], "real numbers"),
        (np.ones((2, 2)) * 1j, "real numbers"),
        ("text", "real numbers"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        as_data(given)
