"""The laws of the two toy sets."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from ribp import counts
from ribp.datasets import OneInflatedToy, Toy, toy_missing_one, toy_one_inflated
from ribp.errors import InputError
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.normal_law import normal_p_values


def gaussian_p_values(toys, components=1.0, shift=0.0, noise=None):
    """Return p-values of components being N(0, 1) and noise N(0, .25); the rest breaks them."""
    noises = np.concatenate([(toy.data - toy.rows @ toy.components).ravel() for toy in toys])
    noises = noises / 0.5 + shift if noise is None else noise(noises.size)
    values = components * np.concatenate([toy.components.ravel() for toy in toys])
    found = [normal_p_values(x[:, None]) for x in (values, noises)]
    fourth = [mean_p_value(x**4, 3.0) for x in (values, noises)]
    return [*fourth, *(one[name] for one in found for name in ("means", "variances"))]


def check_shapes(toy, n_rows):
    assert isinstance(toy, Toy)
    features = toy.rows.shape[1]
    assert toy.rows.shape == (n_rows, features)
    assert toy.data.shape == (n_rows, 36)
    assert toy.components.shape == (features, 36)
    assert len(toy.counts) == n_rows
    assert (toy.data.dtype, toy.components.dtype) == (np.float64, np.float64)
    assert toy.rows.dtype == np.int8
    assert set(np.unique(toy.rows)) <= {0, 1}
    assert toy.noise_scale == 0.5


def same(a, b):
    return np.array_equal(a.data, b.data) and np.array_equal(a.rows, b.rows)


def test_missing_one():
    toy = toy_missing_one(0)
    check_shapes(toy, 500)
    assert toy.rows.sum(axis=1).tolist() == [14] * 400 + [1] * 100
    assert toy.counts == counts.by_row(counts.window(k, 1) for k in toy.rows.sum(axis=1).tolist())
    assert toy.counts[0] == counts.uniform(13, 15)
    assert toy.counts[499] == counts.uniform(0, 2)
    assert repr(toy) == "<Toy: 500 rows of 15 features, 36 dims>"


def odd_features(toys):
    """How often each feature is the missing one, and the only one."""
    missing = sum((1 - toy.rows[:400]).sum(axis=0, dtype=np.int64) for toy in toys)
    present = sum(toy.rows[400:].sum(axis=0, dtype=np.int64) for toy in toys)
    return missing, present


def test_missing_one_laws():
    def p_values(n, seed, missing_probs=None, **wrong):
        rng = np.random.default_rng(seed)
        toys = [toy_missing_one(rng) for _ in range(n)]
        missing, present = odd_features(toys)
        if missing_probs is not None:
            missing = rng.multinomial(missing.sum(), missing_probs)
        counted = [frequencies_p_value(seen, np.full(15, 1 / 15)) for seen in (missing, present)]
        return counted + gaussian_p_values(toys, **wrong)

    def flat(size):
        return np.random.default_rng(0).uniform(-(3**0.5), 3**0.5, size)

    assert holds(p_values, replicates(5))
    never_last = np.append(np.full(14, 1 / 14), 0)
    for wrong in ({"missing_probs": never_last}, {"components": 1.2}, {"shift": 0.04},
                  {"noise": flat}):  # fmt: skip
        assert is_caught(partial(p_values, **wrong), 5), wrong


def test_same_seed_same_toy():
    assert same(toy_missing_one(3), toy_missing_one(np.random.default_rng(3)))
    assert not same(toy_missing_one(3), toy_missing_one(4))


@pytest.mark.jit
def test_one_inflated():
    toy = toy_one_inflated(0, 5.0)
    assert isinstance(toy, OneInflatedToy)
    check_shapes(toy, 500)
    assert toy.rows.any(axis=0).all()
    assert toy.groups.shape == (500,)
    assert set(toy.groups.tolist()) == {"one", "poisson"}
    assert toy.mass == pytest.approx(1.8)
    one, several = counts.exactly(1), counts.poisson(5.0)
    assert toy.counts == counts.as_row_counts(counts.mixture([(0.8, one), (0.2, several)]), 500)
    assert all(
        law == (one if group == "one" else several)
        for law, group in zip(toy.group_counts, toy.groups, strict=True)
    )
    assert (toy.rows[toy.groups == "one"].sum(axis=1) == 1).all()
    assert repr(toy).startswith("<OneInflatedToy: 500 rows of ")


@pytest.mark.jit
@pytest.mark.parametrize("rate", [0.5, 6.0])
def test_one_inflated_laws(rate):
    def p_values(n, seed, wrong=1.0):
        rng = np.random.default_rng(seed)
        toys = [toy_one_inflated(rng, rate, n_rows=1000) for _ in range(n)]
        totals = np.concatenate([toy.rows.sum(axis=1, dtype=np.int64) for toy in toys])
        several = np.concatenate([toy.groups == "poisson" for toy in toys])
        poisson = stats.poisson.pmf(np.arange(60), wrong * rate)
        return [
            stats.binomtest(int(several.sum()), several.size, 0.2).pvalue,
            frequencies_p_value(np.bincount(totals[several], minlength=60), poisson),
            frequencies_p_value(
                np.bincount(totals, minlength=60), toys[0].counts.laws[0].probs(59)
            ),
            *gaussian_p_values(toys),
        ]

    assert holds(p_values, replicates(5))
    assert is_caught(partial(p_values, wrong=1.6), 5)


def overlap(ones, others):
    """Agreement of rows with one feature across groups, less that within `ones`; mean zero if
    both have the same weights: given weights p, two rows agree with probability sum p_i^2."""
    n, freq = len(ones), ones.mean(axis=0)
    within = ((freq**2).sum() - 1 / n) / (1 - 1 / n)
    return (others.mean(axis=0) * freq).sum() - within


@pytest.mark.jit
def test_groups_share_their_weights():
    def p_values(n, seed, turn=0):
        rng, found = np.random.default_rng(seed), []
        for _ in range(n):
            toy = toy_one_inflated(rng, 1.0, n_rows=60)
            rows, single = toy.rows, toy.rows.sum(axis=1) == 1
            ones, others = (rows[single & (toy.groups == group)] for group in ("one", "poisson"))
            if len(others):
                found.append(overlap(ones, np.roll(others, turn, axis=1)))
        assert len(found) > 0.6 * n
        return [mean_p_value(found, 0.0)]

    assert holds(p_values, replicates(150))
    assert is_caught(partial(p_values, turn=1), 150)  # weights of other features


@pytest.mark.jit
def test_same_seed_same_one_inflated_toy():
    a, b = toy_one_inflated(3, 4.0, 50), toy_one_inflated(np.random.default_rng(3), 4.0, 50)
    assert same(a, b)
    assert np.array_equal(a.groups, b.groups)
    assert not same(a, toy_one_inflated(4, 4.0, 50))


@pytest.mark.jit
def test_one_row_can_be_empty():
    shapes = {toy_one_inflated(seed, 0.01, 1).rows.shape for seed in range(30)}
    assert {(1, 0), (1, 1)} <= shapes


@pytest.mark.parametrize(
    ("rate", "n_rows", "rule"),
    [
        (0, 10, "rate must be positive and finite"),
        (-1.0, 10, "rate must be positive and finite"),
        (float("inf"), 10, "rate must be positive and finite"),
        (float("nan"), 10, "rate must be a number"),
        ("five", 10, "rate must be a number"),
        (5.0, 0, "n_rows must be at least 1"),
        (5.0, 2.5, "n_rows must be a whole number"),
    ],
)
def test_one_inflated_errors(rate, n_rows, rule):
    with pytest.raises(InputError, match=rule):
        toy_one_inflated(0, rate, n_rows)


def test_seed_is_required():
    with pytest.raises(InputError, match="rng must be"):
        toy_missing_one(None)
    with pytest.raises(InputError, match="rng must be"):
        toy_one_inflated("seed", 5.0)
