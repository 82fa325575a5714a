"""The weight update leaves the posterior of the log-odds unchanged, and mixes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, expit, gammaln, logsumexp

import ribp
from ribp.mcmc import weight_moves
from ribp.testing.geweke import one_step_p_values
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.weights import WEIGHT_PRIORS, WeakLimitPrior
from tests.helpers.marks import compiled_prior, every_prior

pytestmark = pytest.mark.jit

MASS, C = 1.0, 1.5
# Column sums of two features, and how many rows have none, one or both of them.
ROWS = {
    "none at all": ([0, 0], [0, 0, 0]),
    "both used": ([4, 3], [1, 5, 1]),
    "one never used": ([5, 0], [1, 5, 0]),
    "one rare": ([30, 1], [1, 31, 0]),
    "every row has both": ([3, 3], [0, 0, 3]),
}
GRID = np.linspace(-60.0, 40.0, 801)


def log_prior_of_pairs(name):
    """Return log p(x, y) on the grid from the definition of each prior, not from its code."""
    a = MASS * C / 2
    if name == "weak-limit":
        one = a * GRID - C * np.logaddexp(0, GRID) - betaln(a, C - a)
    elif name == "gamma-odds":
        one = a * GRID - C * np.exp(GRID) - gammaln(a) + a * np.log(C)
    else:
        one = np.log(MASS * C) - C * np.logaddexp(0, GRID)
        above = np.cumsum(np.exp(one[::-1]))[::-1] * (GRID[1] - GRID[0])
        return one[:, None] + one - np.maximum(above[:, None], above)
    return one[:, None] + one


def posterior_by_quadrature(name, rows):
    """Return a sampler of pairs of log-odds from the posterior, tabulated on a grid."""
    sums, histogram = ROWS[rows]
    x, y = GRID[:, None], GRID
    log_p = sums[0] * x + sums[1] * y - histogram[1] * np.logaddexp(x, y) - histogram[2] * (x + y)
    log_p = log_p + log_prior_of_pairs(name)
    p = np.exp(log_p - logsumexp(log_p)).ravel()
    cumulative = np.cumsum(p)

    def draw(rng):
        at = np.searchsorted(cumulative, rng.random() * cumulative[-1])
        jitter = (GRID[1] - GRID[0]) * (rng.random(2) - 0.5)
        return GRID[list(divmod(at, GRID.size))] + jitter, None

    return draw


def statistics(theta, _):
    x, y = theta
    return [expit(x), expit(y), np.tanh((x - y) / 3), x < -4, y < -4, x * y < 0, np.tanh(x + y)]


def updated(name, rows, step=weight_moves.update):
    """Return a check that draws of the posterior are still such after a few updates."""
    prior = WEIGHT_PRIORS[name](MASS, C, 2)
    sums, histogram = map(np.array, ROWS[rows])

    def update(rng, theta, _):
        return step(rng, theta, sums, histogram, prior)[0]

    draw = posterior_by_quadrature(name, rows)
    return lambda n, seed: one_step_p_values(
        draw, update, statistics, n_replicates=n, n_updates=2, seed=seed
    )


@every_prior
@pytest.mark.parametrize("rows", ROWS)
def test_posterior_is_quadrature(name, rows):
    assert holds(updated(name, rows), replicates(600, 5000))


@compiled_prior
@pytest.mark.parametrize("rows", ROWS)
def test_the_way_in_python_is_right_for_priors_that_kernels_know(name, rows):
    assert holds(updated(name, rows, weight_moves.update_in_python), replicates(600, 5000))


@every_prior
def test_rare_features_are_drawn_apart(name):
    """So that the cases above see all parts of the update."""
    prior = WEIGHT_PRIORS[name](MASS, C, 2)
    rare = {
        rows: weight_moves._Target(*map(np.array, case), prior).rare for rows, case in ROWS.items()
    }
    assert {rows: at.tolist() for rows, at in rare.items()} == {
        "none at all": [True, True],
        "both used": [False, False],
        "one never used": [False, True],
        "one rare": [False, True],
        "every row has both": [False, False],
    }


def without_normaliser(rng, theta, sums, histogram, prior):
    """Treat rows as independent coins: the paper's proposal, always accepted."""
    a, n = C * MASS / 2, histogram.sum()
    pi = rng.beta(a + sums, C - a + n - sums)
    return np.log(pi) - np.log1p(-pi), None


def another_mass(rng, theta, sums, histogram, prior):
    return weight_moves.update(rng, theta, sums, histogram, replace(prior, mass=1.8))


def always_accepted(rng, theta, sums, histogram, prior):
    """Take the proposal for rare features as if it were their law, with three rows left out."""
    target = weight_moves._Target(sums, histogram, prior)
    rare, others = target.rare, theta[~target.rare]
    fewer = np.maximum(target.histogram - [0, 3], 0)
    law = prior.rare_law(target.sums[rare], others, weight_moves._pull(others, fewer))
    return np.append(others, law.sample(rng)), None


@every_prior
@pytest.mark.parametrize("broken", [without_normaliser, another_mass, always_accepted])
def test_broken_twins_are_caught(name, broken):
    assert is_caught(updated(name, "one never used", broken), 400)


# All features at once


def simulate(prior, law, n_rows):
    def draw(rng):
        theta = prior.sample(rng, prior.n_features)
        rows = ribp.RestrictedBernoulli(theta, law).sample(rng, n_rows)
        return theta, (rows.sum(axis=0), np.bincount(rows.sum(axis=1), minlength=theta.size + 1))

    return draw


def whole_state(theta, _):
    ordered = np.sort(theta)
    first = [expit(theta[0]), np.tanh(theta[0] / 5) * np.tanh(theta[1] / 5)]
    return [*first, *np.tanh(ordered / 4), (theta < -3).sum(), np.tanh(np.diff(ordered)).sum()]


def one_update(prior, law, n_rows, used=None):
    """Return a check that an update leaves the joint law of weights and rows as it is."""

    def update(rng, theta, data):
        return weight_moves.update(rng, theta, *data, used or prior)[0]

    draw = simulate(prior, law, n_rows)
    return lambda n, seed: one_step_p_values(draw, update, whole_state, n_replicates=n, seed=seed)


@every_prior
@pytest.mark.parametrize(
    ("law", "n_rows"), [("exactly(2)", 6), ("uniform(0, 3)", 60), ("poisson(2)", 0)]
)
def test_joint_distribution(name, law, n_rows):
    """Weights and rows from the prior, then an update: the weights have the prior's law."""
    prior = WEIGHT_PRIORS[name](3.0, 1.0, 7)
    assert holds(one_update(prior, law, n_rows), replicates(600, 5000))


@every_prior
def test_joint_distribution_notices_another_mass(name):
    prior = WEIGHT_PRIORS[name](3.0, 1.0, 7)
    assert is_caught(one_update(prior, "uniform(0, 3)", 60, used=replace(prior, mass=4.5)), 300)


@every_prior
def test_gradient_is_that_of_the_density(name):
    rng = np.random.default_rng(0)
    sums, histogram = np.array([9, 0, 4, 2, 0, 1]), np.array([1, 3, 5, 1, 0, 0, 0])
    target = weight_moves._Target(sums, histogram, WEIGHT_PRIORS[name](2.0, 1.5, 6))
    theta = rng.normal(0, 2, 6)
    step = 1e-5 * np.eye(6)
    slopes = [(target.log_density(theta + d) - target.log_density(theta - d)) / 2e-5 for d in step]
    np.testing.assert_allclose(target.gradient(theta), slopes, atol=1e-6)


@every_prior
def test_metric_draws_momenta_of_its_own_covariance(name):
    prior = WEIGHT_PRIORS[name](MASS, C, 4)
    target = weight_moves._Target(np.array([9, 0, 4, 2]), np.array([0, 9, 3, 0]), prior)
    metric = weight_moves._Metric(target)
    u = target.sums * (1 - target.sums / 12)
    dense = np.diag(u + prior.precision(target.rare)) - np.outer(u, u) / u.sum()
    np.testing.assert_allclose([metric.velocity(column) for column in dense], np.eye(4), atol=1e-12)
    rng = np.random.default_rng(0)
    drawn = np.array([metric.momentum(rng) for _ in range(40_000)])
    np.testing.assert_allclose(np.cov(drawn.T), dense, atol=0.1)


@every_prior
def test_a_trajectory_that_flies_off_is_rejected(name):
    prior = WEIGHT_PRIORS[name](MASS, C, 3)
    target = weight_moves._Target(np.array([9, 0, 4]), np.array([0, 9, 2]), prior)
    start = np.array([600.0, 2.0, 100.0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        theta, chance = weight_moves._trajectory(rng, start, target, weight_moves._Metric(target))
        assert np.isfinite(theta).all()
        assert 0 <= chance <= 1


# How well it mixes


def bulk_ess_per_draw(x):
    """Return effective draws per draw, by the initial positive sequence of autocorrelations."""
    n = x.size
    f = np.fft.rfft(x - x.mean(), 2 * n)
    rho = np.fft.irfft(f * np.conj(f))[:n] / np.arange(n, 0, -1)
    pairs = (rho[1:-1:2] + rho[2::2]) / rho[0]
    until = np.argmax(pairs < 0) if (pairs < 0).any() else pairs.size
    return 1 / (1 + 2 * pairs[:until].sum())


@every_prior
@pytest.mark.parametrize(("law", "mass"), [("exactly(3)", 10.0), ("poisson(4)", 2.0)])
def test_fifty_features_and_five_thousand_rows_mix(name, law, mass):
    rng = np.random.default_rng(1)
    prior = WEIGHT_PRIORS[name](mass, 1.0, 50)
    rows = ribp.RestrictedBernoulli(prior.sample(rng, 50), law).sample(rng, 5000)
    sums, histogram = rows.sum(axis=0), np.bincount(rows.sum(axis=1), minlength=51)
    theta = np.log((sums + 0.5) / (5000 - sums + 0.5))
    draws = []
    for _ in range(800):
        theta, info = weight_moves.update(rng, theta, sums, histogram, prior)
        draws.append(theta)
        assert info.n_gradients <= 40
    draws = np.array(draws)[100:]
    active = [i for i in np.flatnonzero(sums) if i != sums.argmax()]
    differences = draws[:, active] - draws[:, [sums.argmax()]]
    unused = draws[:, sums == 0]
    for x in (*differences.T, *unused.T, draws.mean(axis=1), draws.min(axis=1)):
        assert bulk_ess_per_draw(x) >= 0.2


# The paper's joint step


def test_the_paper_s_joint_step_balances():
    """The ratio is posterior times proposal backwards, over posterior times proposal forwards."""
    rng = np.random.default_rng(0)
    sums, histogram = np.array([9, 0, 4, 2]), np.array([2, 3, 6, 0, 0])
    prior = WeakLimitPrior(1.0, 1.5, 4)
    a, n = prior.shape, histogram.sum()
    target = weight_moves._Target(sums, histogram, prior)

    def log_proposal(theta):
        # the density of log-odds is that of the weights times pi (1 - pi)
        law = stats.beta(a + sums, prior.concentration - a + n - sums)
        return (law.logpdf(expit(theta)) + np.log(expit(theta) * expit(-theta))).sum()

    for _ in range(20):
        here, there = rng.normal(0, 2, (2, 4))
        expected = target.log_density(there) + log_proposal(here)
        expected -= target.log_density(here) + log_proposal(there)
        found = weight_moves.independence_log_ratio(here, there, histogram)
        assert found == pytest.approx(expected, abs=1e-9)


def test_the_paper_s_joint_step_moves_in_small_problems_only():
    rng = np.random.default_rng(0)
    prior = WeakLimitPrior(4.0, 1.0, 20)
    chances = []
    for n_rows in (5, 2000):
        theta = prior.sample(rng, 20)
        rows = ribp.RestrictedBernoulli(theta, "exactly(3)").sample(rng, n_rows)
        sums, histogram = rows.sum(axis=0), np.bincount(rows.sum(axis=1), minlength=21)
        found = []
        for _ in range(200):
            theta, chance = weight_moves.independence_step(rng, theta, sums, histogram, prior)
            found.append(chance)
        chances.append(np.mean(found))
    assert chances[0] > 0.01 > chances[1]


class Normal:
    """A target, and the metric that suits it."""

    def log_density(self, theta):
        return -0.5 * float(theta @ theta)

    def gradient(self, theta):
        return -theta

    def momentum(self, rng):
        return rng.standard_normal(1)

    def velocity(self, momentum):
        return momentum


def test_long_steps_of_trajectories_are_rejected_as_often_as_they_must(monkeypatch):
    monkeypatch.setattr(weight_moves, "STEP_SIZE", 1.3)
    law = Normal()

    def p_values(n, seed):
        rng = np.random.default_rng(seed)
        starts = rng.standard_normal((n, 1))
        ends = [weight_moves._trajectory(rng, start, law, law)[0][0] for start in starts]
        return [mean_p_value(np.square(ends), 1.0)]

    assert holds(p_values, replicates(2000))
