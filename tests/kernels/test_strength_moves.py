"""Slices for the law of strengths keep their densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, log_ndtr

from ribp.kernels import strength_moves as kernel
from ribp.testing.goodness import holds, is_caught, replicates


def test_the_density_is_that_of_its_terms():
    terms = np.array([-3.0, 0.4, 0.7, 1.3, 2.0, 0.0])
    for at in (-1.2, 0.0, 0.6):
        exact = -3.0 * at - 0.4 * np.exp(2 * at) + 0.7 * np.exp(at) - 1.3 * np.exp(-2 * at)
        assert kernel.log_density(at, terms * [1, 1, 1, 1, 0, 0]) == pytest.approx(exact)
        tail = exact - 2.0 * log_ndtr(np.exp(-at))
        assert kernel.log_density(at, terms) == pytest.approx(tail)
        a, gammas = np.exp(at), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 3.0])
        exact = tail + 3.0 * (a * at - gammaln(a))
        assert kernel.log_density(at, terms + gammas) == pytest.approx(exact)


def scales(number, squares, steps=6):
    """Return a check: tau^2 has its inverse gamma law, from its prior after some steps."""

    def check(n, seed):
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(n):
            tau = np.sqrt(0.5 * (0.25 + squares) / rng.standard_gamma(2 + number / 2))
            for _ in range(steps):
                key = np.uint64(rng.integers(2**63))
                tau = kernel.draw_scale(key, tau, float(number), squares, 0.25, False)
            found.append(tau)
        law = stats.invgamma(2 + 3 / 2, scale=(0.25 + 1.7) / 2)
        return [stats.kstest(np.square(found), law.cdf).pvalue]

    return check


@pytest.mark.jit
def test_scales_have_their_law():
    assert holds(scales(3, 1.7), replicates(1000))
    assert is_caught(scales(4, 1.7), 2000)


def test_scales_stay_above_the_least():
    tau = 2e-3
    for seed in range(20):
        tau = kernel.draw_scale(np.uint64(seed), tau, 1e9, 1e-3, 0.25, seed % 2 == 0)
        assert kernel.LEAST_SCALE <= tau < 2e-3


@pytest.mark.parametrize("start", [-5.0, 3.0])
def test_slices_far_from_the_mode_step_towards_it(start):
    terms = np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.0])  # symmetric around 0
    for seed in range(20):
        place = np.zeros(3, np.int64)
        at = kernel.slice_step(np.uint64(seed), place, start, terms, 0.1, -np.inf)
        # The slice ends where the density is as low on the other side.
        assert abs(at) <= abs(start)
        assert at != start


def densities(dims, linear_dims):
    """Return a check of the common scale of three strengths of a feature, by quadrature."""
    sums, sizes, mu, tau = np.array([[3.0], [3.3], [4.1]]), np.array([2.2]), 1.0, 0.6
    at = np.linspace(-4, 3, 20001)
    terms = np.array([3.0 - dims, 0.5 * 4.1 / tau**2, 3.3 / tau**2, 1.1, 0.0, 0.0])
    density = np.exp([kernel.log_density(one, terms) for one in at])
    cdf = np.cumsum(density) / density.sum()

    def check(n, seed):
        found = []
        for number in range(n):
            scale = 1.0
            for step in range(8):
                key, by = np.uint64(seed * n + number * 8 + step), np.array([1, scale, scale**2])
                given = sums * by[:, None]
                q = sizes / scale**2
                scale *= kernel.draw_factors(key, mu, tau, given, q, linear_dims, 0)[0]
            found.append(np.log(scale))
        return [stats.kstest(found, lambda x: np.interp(x, at, cdf)).pvalue]

    return check


@pytest.mark.jit
def test_factors_have_their_law():
    assert holds(densities(2, 2), replicates(1500))
    assert is_caught(densities(2, 1), 3000)


def test_known_features_and_those_of_nobody_are_left_alone():
    sums = np.array([[2.0, 0.0, 2.0], [1.5, 0.0, 1.5], [1.2, 0.0, 1.2]])
    found = kernel.draw_factors(np.uint64(3), 1.0, 0.5, sums, np.ones(3), 4, 1)
    np.testing.assert_array_equal(found[:2], 1.0)
    assert found[2] != 1.0


# Gamma strengths

STRENGTHS = np.array([0.6, 1.7, 0.9, 2.1])


def check_of_law(log_density, start, step, lowest=-6.0, highest=8.0):
    """Return a check: the logarithm of a number has a density, after some steps from `start`."""
    at = np.linspace(lowest, highest, 40001)
    logs = log_density(at)
    density = np.exp(logs - logs.max())
    cdf = np.cumsum(density) / density.sum()

    def check(n, seed):
        found = []
        for number in range(n):
            value = start
            for turn in range(10):
                value = step(np.uint64(seed * 10 * n + number * 10 + turn), value)
            found.append(np.log(value))
        return [stats.kstest(found, lambda x: np.interp(x, at, cdf)).pvalue]

    return check


def shapes(told):
    """Return a check of the shape of gamma strengths, told of so many of them."""
    s = STRENGTHS

    def log_density(at):
        a = np.exp(at)
        of_s = s.size * (a * at - gammaln(a)) + (a - 1) * np.log(s).sum() - a * s.sum()
        return np.where(a > kernel.LEAST_SHAPE, of_s + 2 * at - 0.125 * a, -np.inf)

    def step(key, a):
        return kernel.draw_shape(key, a, float(told), s.sum(), np.log(s).sum(), 0.25)

    return check_of_law(log_density, 3.0, step)


def gamma_factors(linear_dims):
    """Return a check of the common scale of gamma strengths and of their feature."""
    s, a, shape, rate, feature = STRENGTHS, 3.0, 0.5, 0.8, np.array([1.2, 0.4])

    def log_density(at):
        c = np.exp(at)
        return (a * s.size - shape * 2) * at - a * c * s.sum() - rate * feature.sum() / c

    def step(key, scale):
        sums = np.array([[s.size], [scale * s.sum()], [0.0]])
        sizes = np.array([rate * feature.sum() / scale])
        return scale * kernel.draw_gamma_factors(key, a, sums, sizes, shape, linear_dims, 0)[0]

    return check_of_law(log_density, 1.0, step)


@pytest.mark.jit
def test_shapes_and_factors_of_gamma_strengths_have_their_law():
    assert holds(shapes(4), replicates(600))
    assert holds(gamma_factors(2), replicates(600))
    assert is_caught(shapes(3), 3000)
    assert is_caught(gamma_factors(8), 3000)


def test_known_features_keep_their_gamma_strengths():
    sums = np.array([[2.0, 0.0, 2.0], [1.5, 0.0, 1.5], [-0.2, 0.0, -0.2]])
    found = kernel.draw_gamma_factors(np.uint64(3), 3.0, sums, np.ones(3), 0.5, 4, 1)
    np.testing.assert_array_equal(found[:2], 1.0)
    assert found[2] != 1.0
    assert kernel.draw_shape(np.uint64(1), 5.0, 3.0, 4.0, -0.5, 0.25) >= kernel.LEAST_SHAPE
