"""`ribp.log_esp` and `ribp.inclusion_probs`: shapes, infinities, accuracy and errors."""

import numpy as np
import pytest

import ribp
from ribp.testing import exact
from tests.helpers.messages import message_of

INF = np.inf


def test_log_esp_batches_and_zero_odds():
    theta = np.random.default_rng(0).normal(size=(2, 3, 5))
    theta[1, 2, 4] = -INF
    theta[0, 0] = -INF
    found = ribp.log_esp(theta, 4)
    assert found.shape == (2, 3, 5)
    for at in np.ndindex(2, 3):
        np.testing.assert_allclose(found[at], exact.log_esp(theta[at], 4), rtol=1e-13, atol=1e-13)
    assert found[0, 0].tolist() == [0.0, -INF, -INF, -INF, -INF]
    assert ribp.log_esp([1.0, 2.0]).shape == (3,)
    assert ribp.log_esp([1.0, 2.0], 0).tolist() == [0.0]


def test_inclusion_broadcasts_counts():
    theta = np.random.default_rng(1).normal(size=(4, 6))
    found = ribp.inclusion_probs(theta, np.arange(7)[:, None])
    assert found.shape == (7, 4, 6)
    for k in range(7):
        for row in range(4):
            truth = exact.inclusion_probs(theta[row], k)
            np.testing.assert_allclose(found[k, row], truth, atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=-1), np.arange(7)[:, None] * np.ones(4), atol=1e-13)


def test_certain_features():
    theta = [0.5, INF, -INF, -1.0, INF, 2.0]
    found = ribp.inclusion_probs(theta, 3)
    assert found[[1, 2, 4]].tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_allclose(found[[0, 3, 5]], exact.inclusion_probs([0.5, -1.0, 2.0], 1))
    assert ribp.inclusion_probs(theta, 2).tolist() == [0, 1, 0, 0, 1, 0]
    assert ribp.inclusion_probs(theta, 5).tolist() == [1, 1, 0, 1, 1, 1]


def test_tiny_mass_is_accepted():
    np.testing.assert_allclose(
        ribp.inclusion_probs([-50000.0, -49999.0], 1)[1], 1 / (1 + np.exp(-1))
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ribp.inclusion_probs([0.0, np.nan], 1), ["log_odds", "NaN", "index 1", "-inf"]),
        (lambda: ribp.inclusion_probs([[0.0], [np.nan]], 1), ["NaN at index (1, 0)"]),
        (lambda: ribp.inclusion_probs([], 0), ["log_odds", "at least one feature", "shape (0,)"]),
        (lambda: ribp.inclusion_probs(0.5, 0), ["log_odds", "shape ()"]),
        (lambda: ribp.inclusion_probs(["a", "b"], 0), ["log_odds", "array of numbers"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], 3), ["k must lie between", "got 3", "Change k"]),
        (lambda: ribp.inclusion_probs([INF, INF, 0.0], 1), ["2 features that are", "got 1"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], -1), ["k must be at least 0", "-1"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], 1.5), ["k must hold whole numbers", "1.5"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], "two"), ["k must hold whole numbers", "two"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], [np.inf]), ["k must hold whole numbers", "inf"]),
        (lambda: ribp.inclusion_probs(np.zeros((2, 3)), [1, 1, 1]), ["k must broadcast", "(2,)"]),
        (lambda: ribp.inclusion_probs([0.0, 1.0], [[1, 2], [1]]), ["k must be a regular array"]),
        (lambda: ribp.log_esp([0.0, INF]), ["log_odds", "+inf", "always on"]),
        (lambda: ribp.log_esp([0.0, 1.0], 3), ["k_max must be between 0 and 2", "got 3"]),
        (lambda: ribp.log_esp([0.0, 1.0], 1.5), ["k_max must be a whole number", "1.5"]),
        (lambda: ribp.log_esp([0.0, 1.0], True), ["k_max must be a whole number", "True"]),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    message_of(call, *words)


def test_an_empty_batch_is_fine():
    assert ribp.inclusion_probs(np.zeros((0, 3)), np.zeros(0, int)).shape == (0, 3)
