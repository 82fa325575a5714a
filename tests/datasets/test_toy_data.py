"""The laws of the two toy sets."""

import numpy as np
import pytest
from scipy import stats

from ribp import counts
from ribp.datasets import OneInflatedToy, Toy, toy_missing_one, toy_one_inflated
from ribp.errors import InputError
from ribp.testing.goodness import agrees, frequencies_p_value, mean_p_value, n_seeds


def is_gaussian(values, scale):
    """Whether mean, variance and kurtosis are within five sigma of independent N(0, scale^2)."""
    x = np.concatenate([v.ravel() for v in values]) / scale
    seen = np.array([x.mean(), (x**2).mean(), (x**4).mean()])
    error = np.sqrt(np.array([1, 2, 96]) / x.size)
    return bool((np.abs(seen - [0, 1, 3]) < 5 * error).all())


def noises(toys):
    return [toy.data - toy.rows @ toy.components for toy in toys]


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
    toys = [toy_missing_one(seed) for seed in range(n_seeds(5))]
    for seen in odd_features(toys):
        assert agrees(frequencies_p_value(seen, np.full(15, 1 / 15)))
    assert is_gaussian([toy.components for toy in toys], 1.0)
    assert is_gaussian(noises(toys), 0.5)


def test_wrong_laws_are_noticed():
    toys = [toy_missing_one(seed) for seed in range(5)]
    never_last = np.append(np.full(14, 1 / 14), 0)
    missing, _ = odd_features(toys)
    twin = np.random.default_rng(0).multinomial(missing.sum(), never_last)
    assert not agrees(frequencies_p_value(twin, np.full(15, 1 / 15)))
    assert not is_gaussian([1.2 * toy.components for toy in toys], 1.0)
    assert not is_gaussian([noise + 0.02 for noise in noises(toys)], 0.5)
    flat = np.random.default_rng(0).uniform(-1, 1, (5, 500, 36)) * np.sqrt(3) / 2
    assert not is_gaussian(list(flat), 0.5)


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
    toys = [toy_one_inflated(seed, rate, n_rows=1000) for seed in range(n_seeds(5))]
    totals = np.concatenate([toy.rows.sum(axis=1, dtype=np.int64) for toy in toys])
    groups = np.concatenate([toy.groups for toy in toys])
    share = (groups == "poisson").sum()
    assert agrees(stats.binomtest(int(share), groups.size, 0.2).pvalue)
    poisson = np.bincount(totals[groups == "poisson"], minlength=60)
    assert agrees(frequencies_p_value(poisson, stats.poisson.pmf(np.arange(60), rate)))
    mixture = toys[0].counts.laws[0].probs(59)
    assert agrees(frequencies_p_value(np.bincount(totals, minlength=60), mixture))
    assert is_gaussian([toy.components for toy in toys], 1.0)
    assert is_gaussian(noises(toys), 0.5)


def overlap(ones, others):
    """Agreement of rows with one feature across groups, less that within `ones`; mean zero if
    both have the same weights: given weights p, two rows agree with probability sum p_i^2."""
    n, freq = len(ones), ones.mean(axis=0)
    within = ((freq**2).sum() - 1 / n) / (1 - 1 / n)
    return (others.mean(axis=0) * freq).sum() - within


@pytest.mark.jit
def test_groups_share_their_weights():
    right, wrong = [], []
    for seed in range(n_seeds(150)):
        toy = toy_one_inflated(seed, 1.0, n_rows=60)
        rows, single = toy.rows, toy.rows.sum(axis=1) == 1
        ones, others = (rows[single & (toy.groups == group)] for group in ("one", "poisson"))
        if len(others):
            right.append(overlap(ones, others))
            wrong.append(overlap(ones, np.roll(others, 1, axis=1)))  # weights of other features
    assert len(right) > 100
    assert agrees(mean_p_value(right, 0.0))
    assert not agrees(mean_p_value(wrong, 0.0))


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
