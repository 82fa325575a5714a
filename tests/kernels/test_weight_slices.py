"""Slice steps in kernels: their lines, their densities, and that they stay where they may."""

import math

import numpy as np
import pytest

from ribp.kernels import weight_slices as kernel
from ribp.mcmc import hyper
from ribp.weights import WEIGHT_PRIORS
from ribp.weights.density import row_log_density

THETA = np.array([-0.5, -1.0, 0.5, -30.0, 1.0])
SUMS, HISTOGRAM = np.array([3.0, 0.0, 2.0, 0.0, 1.0]), np.array([0.0, 4.0, 1.0])
MASS, C = 0.8, 1.4
ALL = (kernel.SHIFT, kernel.MASS, kernel.CONCENTRATION, kernel.RATIO, kernel.SPARE)
each_compiled = pytest.mark.parametrize("name", ["weak-limit", "gamma-odds"])


def moved(move, by):
    """Return theta, mass and concentration after a move, and the factors of its density."""
    up, down, used = math.exp(by), math.exp(-by), SUMS > 0
    if move == kernel.SPARE:
        theta = np.where(used, THETA + THETA[used].mean() * (down - 1), THETA * down)
        return theta, MASS * up, C, 3
    return {
        kernel.SHIFT: (THETA + by, MASS, C, 0),
        kernel.MASS: (THETA, MASS * up, C, 0),
        kernel.CONCENTRATION: (THETA, MASS, C * up, 0),
        kernel.RATIO: (THETA, MASS * down, C * up, 0),
    }[move]


@each_compiled
@pytest.mark.parametrize("move", ALL)
def test_densities_are_those_in_python(name, move):
    prior = WEIGHT_PRIORS[name](MASS, C, 5)
    out, values = THETA.copy(), []
    totals = kernel.prior_sums(prior.compiled, THETA)
    for by in (0.0, -0.7, 1.1):
        theta, mass, c, factors = moved(move, by)
        expected = hyper._log_joint(prior, mass, c, theta)
        if move == kernel.SPARE:
            expected += row_log_density(theta, SUMS, HISTOGRAM) - factors * by
        found = kernel.log_density_along(
            move, by, THETA, SUMS, HISTOGRAM, prior.compiled, MASS, C, *totals, out
        )
        np.testing.assert_allclose(out, theta, rtol=1e-14)
        assert found == pytest.approx(expected, rel=1e-12)
        values.append(found)
    assert len({*values}) == 3
    assert kernel.moved_hyper(move, 1.1, MASS, C) == pytest.approx(moved(move, 1.1)[1:3])


def test_without_rows_only_spare_features_move():
    out = np.empty(5)
    assert kernel.move_theta(kernel.SPARE, 0.3, THETA, np.zeros(5), out) == 5
    np.testing.assert_allclose(out, THETA * math.exp(-0.3))


def test_mass_stays_below_the_number_of_features():
    given = (THETA, SUMS, HISTOGRAM, 0, 4.9, C, 0.0, 0.0, THETA.copy())
    assert kernel.log_density_along(kernel.MASS, 0.1, *given) == -math.inf


@each_compiled
@pytest.mark.parametrize("move", ALL)
def test_a_step_moves_along_its_line(name, move):
    """One number tells where it went; the others follow from it."""
    prior, place = WEIGHT_PRIORS[name](MASS, C, 5), np.zeros(3, np.int64)
    for seed in range(30):
        theta = THETA.copy()
        mass, c = kernel.slice_step(
            np.uint64(seed), place, move, theta, SUMS, HISTOGRAM, prior.compiled, MASS, C
        )
        by = theta[0] - THETA[0] if move == kernel.SHIFT else math.log(mass / MASS)
        by = {kernel.CONCENTRATION: math.log(c / C), kernel.RATIO: -by}.get(move, by)
        expected = moved(move, by)
        assert by != 0.0
        assert mass < 5
        np.testing.assert_allclose(theta, expected[0], rtol=1e-9)
        assert (mass, c) == pytest.approx(expected[1:3])


def test_a_density_that_is_not_a_number_ends():
    theta = np.full(5, math.nan)
    given = (np.uint64(0), np.zeros(3, np.int64), kernel.MASS, theta, SUMS, HISTOGRAM, 0, MASS, C)
    assert kernel.slice_step(*given) == (MASS, C)


@pytest.mark.parametrize("learns_mass", [False, True])
@pytest.mark.parametrize("learns_c", [False, True])
def test_only_what_is_learned_moves(learns_mass, learns_c):
    theta = THETA.copy()
    mass, c = kernel.update_hyper(
        np.uint64(1), theta, SUMS, HISTOGRAM, 0, MASS, C, learns_mass, learns_c
    )
    assert (mass != MASS) == learns_mass
    assert (c != C) == learns_c
    assert np.array_equal(theta, THETA) != learns_mass
