"""`ribp.total_moments`: shapes, what it is the derivative of, and errors."""

import numpy as np
import pytest

import ribp
from tests.helpers.messages import message_of


def test_log_odds_counts_and_x_broadcast():
    rng = np.random.default_rng(0)
    theta, x = rng.normal(size=(3, 6)), rng.normal(size=(4, 1, 6, 2))
    counts = np.array([0, 2, 6])
    found = ribp.total_moments(theta, counts, x)
    assert (found.log_esp.shape, found.mean.shape) == ((4, 3), (4, 3, 2))
    assert found.covariance.shape == (4, 3, 2, 2)
    for at in np.ndindex(4, 3):
        alone = ribp.total_moments(theta[at[1]], counts[at[1]], x[at[0], 0])
        for part, whole in zip(alone, found, strict=True):
            np.testing.assert_array_equal(part, whole[at])


def test_moments_are_derivatives_of_log_esp():
    """For theta = x beta: the gradient and the Hessian in beta, by differences."""
    rng = np.random.default_rng(1)
    x, beta, k, h = rng.normal(size=(9, 2)), np.array([0.4, -0.7]), 4, 1e-5
    of = ribp.total_moments(x @ beta, k, x)
    assert of.log_esp == pytest.approx(ribp.log_esp(x @ beta)[k], rel=1e-14)
    for c in range(2):
        step = h * np.eye(2)[c]
        up, down = (ribp.total_moments(x @ (beta + s), k, x) for s in (step, -step))
        assert of.mean[c] == pytest.approx((up.log_esp - down.log_esp) / (2 * h), abs=1e-9)
        np.testing.assert_allclose(of.covariance[c], (up.mean - down.mean) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 1.0], 3, np.ones((2, 1))), ["k must lie between", "got 3"]),
        (([0.0, 1.0], 1, np.ones((3, 1))), ["x must be finite", "2 features", "shape (3, 1)"]),
        (([0.0, 1.0], 1, np.ones(2)), ["x must be", "shape (2,)"]),
        (([0.0, 1.0], 1, [[np.inf], [0.0]]), ["x must be finite", "infinite entry"]),
        ((np.zeros((3, 2)), 1, np.ones((2, 2, 1))), ["x must broadcast", "(3,)"]),
    ],
)
def test_bad_input(arguments, words):
    message = message_of(lambda: ribp.total_moments(*arguments))
    assert all(word in message for word in words), message
