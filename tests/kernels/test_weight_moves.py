"""The parts of the compiled weight update are those in Python; tests/mcmc has its law."""

import math

import numpy as np
import pytest

from ribp.kernels import weight_moves as kernel
from ribp.mcmc import weight_moves
from ribp.weights import WEIGHT_PRIORS

CASES = {
    "rare and common": ([9, 0, 4, 2, 0, 1], [1, 3, 5, 1, 0, 0, 0]),
    "none at all": ([0, 0, 0], [0, 0, 0, 0]),
    "only empty rows": ([0, 0, 0], [5, 0, 0, 0]),
    "all used": ([5, 4, 3], [0, 0, 6, 0]),
    "every row has all": ([3, 3], [0, 0, 3]),
}
MASS, C = 1.3, 1.5
each_compiled = pytest.mark.parametrize("name", ["weak-limit", "gamma-odds"])
each_case = pytest.mark.parametrize("case", CASES)


def stream(seed=0):
    return np.uint64(seed), np.zeros(3, np.int64)


class Case:
    """Rows and a prior, for Python and for kernels."""

    def __init__(self, name, case, mass=MASS):
        sums, histogram = map(np.array, CASES[case])
        self.prior = WEIGHT_PRIORS[name](mass, C, sums.size)
        self.target = weight_moves._Target(sums, histogram, self.prior)
        self.law = (self.prior.compiled, mass, C)
        self.given = (self.target.sums, self.target.histogram, *self.law)
        self.theta = np.random.default_rng(0).normal(0, 2, sums.size)

    def metric(self):
        return kernel.metric(self.target.sums, self.target.n_rows, self.target.rare, *self.law)


@each_compiled
@each_case
def test_rare_features_and_metric(name, case):
    one = Case(name, case)
    top = one.target.histogram.size - 1
    np.testing.assert_array_equal(kernel.rare_features(one.target.sums, top), one.target.rare)
    expected, (root, v, left) = weight_moves._Metric(one.target), one.metric()
    np.testing.assert_allclose(root, expected.root, rtol=1e-14)
    np.testing.assert_allclose(v, expected.v, rtol=1e-14)
    assert left == pytest.approx(expected.left, rel=1e-12)
    momentum, velocity = np.random.default_rng(1).normal(size=(2, root.size))
    energy = kernel.fill_velocity(momentum, root, v, left, velocity)
    np.testing.assert_allclose(velocity, expected.velocity(momentum), rtol=1e-12)
    assert energy == pytest.approx(0.5 * momentum @ velocity)


@each_compiled
@pytest.mark.parametrize("case", ["rare and common", "all used", "none at all"])
def test_momenta_are_normal_variates_times_a_root_of_the_metric(name, case):
    one = Case(name, case)
    metric, out = one.metric(), np.empty(one.theta.size)
    kernel.draw_momentum(*stream(), *metric, out)
    place, xi = stream()[1], np.empty(out.size + 1)
    for i in range(0, out.size, 2):
        xi[i : i + 2] = kernel.normal_pair(np.uint64(0), place)

    class Given:
        @staticmethod
        def standard_normal(size):
            return xi[:size]

    expected = weight_moves._Metric(one.target).momentum(Given)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@each_compiled
def test_pull_and_proposal(name):
    one, block = Case(name, "rare and common"), np.array([1, 4])
    others = np.delete(one.theta, block)
    pull = weight_moves._pull(others, one.target.histogram)
    found = kernel.log_pull(np.sort(others)[::-1].copy(), one.target.histogram)
    assert found == pytest.approx(pull, rel=1e-12)
    law = one.prior.rare_law(one.target.sums[block], others, pull)
    same = kernel.beta_prime(*found, law.shape.max(), *one.law, one.theta.size)
    assert same == pytest.approx((law.power, law.log_scale), rel=1e-12)


@each_compiled
def test_no_rows_do_not_pull(name):
    pull = kernel.log_pull(np.array([1.0, 0.0]), np.array([3.0]))
    assert pull == (-math.inf, -math.inf)
    prior = WEIGHT_PRIORS[name](MASS, C, 2)
    law = prior.rare_law(np.zeros(2), np.zeros(0), weight_moves._pull(np.zeros(0), np.ones(1)))
    found = kernel.beta_prime(*pull, prior.shape, prior.compiled, MASS, C, 2)
    assert found == pytest.approx((law.power, law.log_scale), rel=1e-12)


@each_compiled
def test_a_proposal_is_accepted_by_its_weight(name):
    """Density over density of the proposal, here and there."""
    one, block = Case(name, "rare and common"), np.array([1, 4])
    others = np.delete(one.theta, block)
    pull = weight_moves._pull(others, one.target.histogram)
    law = one.prior.rare_law(one.target.sums[block], others, pull)

    def log_weight(at):
        return one.target.log_density(at) - law.log_density(at[block])

    outcomes = set()
    for seed in range(40):
        (key, place), theta = stream(seed), one.theta.copy()
        chance = kernel.refresh(key, place, theta, block, *one.given)
        moved = not np.array_equal(theta, one.theta)
        proposal, again = one.theta.copy(), np.zeros(3, np.int64)
        for i, shape in zip(block, law.shape, strict=True):
            proposal[i] = law.log_scale + kernel.log_gamma_variate(key, again, shape)
            proposal[i] -= kernel.log_gamma_variate(key, again, law.power - shape)
        log_ratio = log_weight(proposal) - log_weight(one.theta)
        assert chance == pytest.approx(math.exp(min(0.0, log_ratio)), rel=1e-9)
        if moved:
            np.testing.assert_allclose(theta, proposal, rtol=1e-12)
        outcomes.add(moved)
    assert outcomes == {False, True}


def test_a_weight_that_is_not_a_number_is_rejected():
    one = Case("gamma-odds", "none at all")
    start = np.full(3, 800.0)  # of density zero
    theta = np.append(start[:1], [math.nan, 0.0])
    assert kernel.refresh(*stream(), theta, np.array([0]), *one.given) == 0.0


@each_compiled
@pytest.mark.parametrize("mass", [0.1, 2.9])
@each_case
def test_blocks(name, case, mass):
    if mass >= len(CASES[case][0]):
        mass = 1.9
    one = Case(name, case, mass)
    theta = one.theta.copy()
    chance = kernel.refresh_rare(*stream(3), theta, one.target.rare, *one.given)
    assert 0.0 < chance <= 1.0
    np.testing.assert_array_equal(theta[~one.target.rare], one.theta[~one.target.rare])


@each_compiled
def test_a_trajectory_is_reversible_leapfrog(name):
    """The same steps in Python, and the same change of energy."""
    one = Case(name, "rare and common")
    metric = weight_moves._Metric(one.target)
    for seed in range(6):
        theta, (key, place) = one.theta.copy(), stream(seed)
        chance = kernel.trajectory(key, place, theta, *one.metric(), *one.given)
        again, momentum = np.zeros(3, np.int64), np.empty(theta.size)
        step = kernel.STEP_SIZE * (0.7 + 0.6 * kernel.next_uniform(key, again))
        kernel.draw_momentum(key, again, *one.metric(), momentum)

        def energy(at, momentum):
            return one.target.log_density(at) - 0.5 * momentum @ metric.velocity(momentum)

        here, before = one.theta, energy(one.theta, momentum)
        for _ in range(kernel.STEPS):
            momentum = momentum + 0.5 * step * one.target.gradient(here)
            here = here + step * metric.velocity(momentum)
            momentum = momentum + 0.5 * step * one.target.gradient(here)
        expected = math.exp(min(0.0, energy(here, momentum) - before))
        assert chance == pytest.approx(expected, rel=1e-8)
        accepted = kernel.next_uniform(key, again) < chance
        np.testing.assert_allclose(theta, here if accepted else one.theta, rtol=1e-9)


@each_compiled
@pytest.mark.parametrize("start", [[600.0, 2.0, 100.0, 0.0, 0.0, 0.0], [720.0, 0, 0, 0, 0, 1e300]])
def test_a_trajectory_that_flies_off_is_rejected(name, start):
    one = Case(name, "rare and common")
    for seed in range(3):
        theta = np.array(start)
        with np.errstate(all="ignore"):
            chance = kernel.trajectory(*stream(seed), theta, *one.metric(), *one.given)
        assert np.isfinite(theta).all()
        assert 0.0 <= chance <= 1.0


def test_a_step_to_infinity_is_rejected():
    one = Case("gamma-odds", "rare and common")
    root, v, left = one.metric()
    theta = one.theta.copy()
    with np.errstate(all="ignore"):
        assert kernel.trajectory(*stream(), theta, 1e-308 * root, v, left, *one.given) == 0.0
    np.testing.assert_array_equal(theta, one.theta)


@each_compiled
@each_case
def test_an_update_changes_all_features(name, case):
    one = Case(name, case)
    sums, histogram = (np.array(x, float) for x in CASES[case])
    theta = one.theta.copy()
    accepted, rare = kernel.update_weights(np.uint64(5), theta, sums, histogram, *one.law)
    assert (theta != one.theta).all()
    assert np.isfinite(theta).all()
    assert 0.0 <= accepted <= 1.0
    assert 0.0 <= rare <= 1.0
