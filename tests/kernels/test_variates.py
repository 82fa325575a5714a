"""Variates of one counter-based stream have their laws."""

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import variates
from ribp.kernels.random import uniform_pair
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates

SEED = np.uint64(7)


def stream(seed):
    return np.uint64(seed), np.zeros(3, np.int64)


def test_a_stream_moves_on():
    place = np.zeros(3, np.int64)
    first = variates.next_pair(SEED, place)
    assert place[0] == 1
    assert variates.next_pair(SEED, place) != first
    assert variates.next_pair(SEED, np.zeros(3, np.int64)) == first
    assert variates.next_uniform(SEED, np.zeros(3, np.int64)) == first[0]


def test_a_stream_of_a_row_is_that_of_its_number():
    place = np.full(3, 9)
    variates.begin_row(place, 4, 5)
    assert place.tolist() == [0, 4, 5]
    assert variates.next_pair(SEED, place) == uniform_pair(SEED, 4, 5, 0)


def test_normal_variates():
    def check(n, seed):
        given = stream(seed)
        pairs = np.array([variates.normal_pair(*given) for _ in range(n)])
        squares = stats.chi2(2).cdf((pairs**2).sum(axis=1))
        return [
            *(stats.kstest(x, "norm").pvalue for x in pairs.T),
            stats.kstest(squares, "uniform").pvalue,
        ]

    assert holds(check, replicates(500, 20_000))


@pytest.mark.parametrize("shape", [1e-3, 0.4, 1.0, 7.0, 1e7])
def test_gamma_variates_in_logarithms(shape):
    """Given its logarithm x, P(Gamma(a) <= e^x) is uniform, about e^{a x} if a is small."""

    def check(n, seed, by=1.0):
        given = stream(seed)
        x = np.array([variates.log_gamma_variate(*given, shape * by) for _ in range(n)])
        uniform = np.exp(shape * x) if shape < 0.01 else stats.gamma(shape).cdf(np.exp(x))
        return [stats.kstest(uniform, "uniform").pvalue]

    if shape < 0.01:  # e^{a x} is uniform but for a part of order a
        assert holds(check, 300)
    else:
        assert holds(check, replicates(500, 20_000))
    assert is_caught(lambda n, seed: check(n, seed, by=1.5), 300)


def test_orders_are_equally_likely():
    def check(n, seed):
        given, found = stream(seed), np.zeros(27)
        for _ in range(n):
            values = np.arange(3)
            variates.shuffle(*given, values)
            found[values @ [9, 3, 1]] += 1
        orders = [5, 7, 11, 15, 19, 21]
        assert found.sum() == found[orders].sum()
        return [frequencies_p_value(found[orders], np.full(6, 1 / 6))]

    assert holds(check, replicates(600, 20_000))
