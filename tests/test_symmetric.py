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


# The inverse problem


def drawn_probs(seed, n_features, count, spread):
    """Return inclusion probabilities of log-odds drawn with a spread."""
    theta = spread * np.random.default_rng(seed).normal(size=n_features)
    return ribp.inclusion_probs(theta, count)


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("n_features", "count"), [(2, 1), (5, 2), (40, 1), (40, 39), (300, 100)])
def test_log_odds_are_found_from_inclusion(n_features, count, spread):
    for seed in range(5):
        pi = drawn_probs(seed, n_features, count, spread)
        theta = ribp.log_odds_from_inclusion(pi)
        np.testing.assert_allclose(ribp.inclusion_probs(theta, count), pi, rtol=1e-11, atol=1e-14)
        assert theta.mean() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "pi",
    [
        [0.999, 0.001],  # where the undamped step swings for ever
        [1 - 3e-8, 1e-8, 2e-8],
        [0.99, 0.99, 0.02],
        [0.999999, 0.999999, 0.000001, 0.000001],
        [*[1e-12] * 10, 1 - 5e-12, 1 - 5e-12],
        [1 - 1e-9, 1 - 1e-9, 0.5, 0.5, 1e-9, 1e-9],
        [*[1e-5] * 100, 0.999, 0.999, 0.999, 0.3, 0.702],
    ],
)
def test_rows_that_are_nearly_sure_converge_too(pi):
    found = ribp.inclusion_probs(ribp.log_odds_from_inclusion(pi), round(sum(pi)))
    np.testing.assert_allclose(found, pi, rtol=1e-10, atol=2e-15)


def test_an_inverse_is_the_inverse():
    theta = np.random.default_rng(2).normal(size=30)
    found = ribp.log_odds_from_inclusion(ribp.inclusion_probs(theta, 7))
    np.testing.assert_allclose(found, theta - theta.mean(), rtol=0, atol=1e-10)


def test_certainties_and_zeros():
    found = ribp.log_odds_from_inclusion([1.0, 0.0, 0.25, 0.75, 1.0])
    assert found[[0, 1, 4]].tolist() == [INF, -INF, INF]
    np.testing.assert_allclose(found[3] - found[2], np.log(3.0))
    assert ribp.log_odds_from_inclusion([1, 0, 1]).tolist() == [INF, -INF, INF]


def test_a_sum_that_is_whole_up_to_rounding_is_accepted():
    x = np.random.default_rng(3).gamma(2.0, size=1001)
    pi = x / x.sum() * 101
    assert pi.sum() != 101 or pi[:-1].sum() != 100
    theta = ribp.log_odds_from_inclusion(pi)
    assert np.abs(ribp.inclusion_probs(theta, 101) - pi).max() < 1e-14


@pytest.mark.parametrize(
    ("pi", "words"),
    [
        ([0.5, 0.6], ["pi must add up to a whole number", "1.1", "pi * (1 / pi.sum())"]),
        ([0.5, 0.5 + 1e-9], ["pi must add up"]),
        ([0.1, 0.2], ["pi must add up", "count of 1"]),
        ([1.2, 0.8], ["numbers from 0 to 1", "got 1.2"]),
        ([-0.1, 1.1], ["numbers from 0 to 1", "got -0.1"]),
        ([[0.5, 0.5]], ["one vector", "shape (1, 2)"]),
        ([0.5, np.nan], ["pi must not contain NaN"]),
    ],
)
def test_bad_inclusion(pi, words):
    message = message_of(lambda: ribp.log_odds_from_inclusion(pi))
    assert all(word in message for word in words), message


def test_probabilities_that_are_not_met_are_an_error(monkeypatch):
    monkeypatch.setattr("ribp.symmetric._STEPS", 2)
    message = message_of(lambda: ribp.log_odds_from_inclusion([0.98, 0.99, 0.03]))
    assert "missed by" in message
