"""Errors carry their numbers, read well, and travel between processes."""

import copy

import numpy as np
import pytest

from ribp import checks, counts
from ribp.errors import InputError, ProposalLimitError, TruncationWarning


def test_messages_and_numbers():
    error = InputError("mass", "must be positive", np.float64(-1.5), "Pass mass > 0.")
    assert str(error) == "mass must be positive, but got -1.5. Pass mass > 0."
    assert error.argument == "mass"
    long = InputError("x", "must be short", "y" * 500, "Shorten it.")
    assert len(str(long)) < 150
    limit = ProposalLimitError("too many", 10, 3)
    assert (str(limit), limit.n_proposed, limit.n_accepted) == ("too many", 10, 3)
    warning = TruncationWarning("stopped", 1e-3)
    assert (str(warning), warning.tv_bound_row) == ("stopped", 1e-3)


@pytest.mark.parametrize(
    "error",
    [
        InputError("a", "must be b", 3, "Do c."),
        ProposalLimitError("m", 1, 2),
        TruncationWarning("m", 0.5),
    ],
)
def test_errors_can_be_rebuilt(error):
    # copy uses the same protocol as sending an error from a worker process
    twin = copy.copy(error)
    assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


def test_text_errors_can_be_rebuilt():
    with pytest.raises(InputError) as caught:
        counts.parse("exactly(3")
    twin = copy.copy(caught.value)
    assert str(twin) == str(caught.value)
    assert "^" in str(twin)


@pytest.mark.parametrize(
    ("check", "value", "words"),
    [
        (checks.number, "3", "must be a number"),
        (checks.number, 10**400, "must be a number"),
        (checks.number, float("nan"), "must be a number"),
        (checks.positive, 0, "must be positive"),
        (checks.positive, np.inf, "must be positive"),
        (checks.integer, "3", "must be a whole number"),
        (checks.integer, 2.5, "must be a whole number"),
        (checks.integer, True, "must be a whole number"),
        (checks.integer, -1, "must be at least 0"),
        (checks.integers, [1, -2], "must be at least 0, but got -2"),
        (checks.integers, np.array([2**64 - 1], np.uint64), "must be below 2**63"),
        (checks.integers, [1e300], "must be below 2**63"),
        (checks.integers, [True], "must hold whole numbers"),
        (checks.generator, "seed", "must be a numpy.random.Generator"),
        (checks.generator, -1, "must be a numpy.random.Generator"),
    ],
)
def test_checks(check, value, words):
    with pytest.raises(InputError, match="x must") as caught:
        check("x", value)
    assert words in str(caught.value)


def test_checks_return_clean_values():
    assert checks.integer("x", np.float64(3.0)) == 3
    assert checks.integers("x", []).dtype == np.int64
    assert checks.number("x", np.float32(0.5)) == 0.5
    a, b = checks.generator("rng", 3), checks.generator("rng", np.random.default_rng(3))
    assert a.random() == b.random()
