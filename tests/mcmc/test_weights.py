"""The weight update leaves the posterior of the log-odds unchanged, and mixes."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

import ribp
from ribp.mcmc import weights
from ribp.mcmc.weight_priors import GammaOddsPrior, WeakLimitPrior
from ribp.testing.goodness import agrees, mean_p_value, n_seeds

pytestmark = pytest.mark.jit

PRIORS = {"beta": WeakLimitPrior(1.0, 1.5, 2), "gamma": GammaOddsPrior(1.0, 2.0, 2)}
HISTOGRAM = np.array([1, 5, 1])  # rows without, with one and with two of two features
SUMS = {"both used": np.array([4, 3]), "one never used": np.array([5, 0])}


def histogram_of(name):
    return HISTOGRAM if name == "both used" else np.array([1, 5, 0])


def posterior_by_quadrature(sums, histogram, prior):
    """Return a grid of pairs of log-odds and their probabilities under the posterior."""
    grid = np.linspace(-70, 45, 2301)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    log_e1, log_e2 = np.logaddexp(x, y), x + y
    log_p = sums[0] * x + sums[1] * y - histogram[1] * log_e1 - histogram[2] * log_e2
    one = np.array([prior.log_density(np.array([t])) for t in grid])
    log_p += one[:, None] + one
    return x, y, np.exp(log_p - logsumexp(log_p))


def statistics(x, y):
    return [expit(x), expit(y), np.tanh((x - y) / 3), (x < -4) * 1.0, (y < -4) * 1.0, x * y < 0]


def chain(step, sums, histogram, prior, n, seed):
    rng = np.random.default_rng(seed)
    theta, found = np.zeros(2), []
    for _ in range(n):
        theta = step(rng, theta, sums, histogram, prior)[0]
        found.append(statistics(*theta))
    return np.array(found[20:], dtype=float)


def compatible(found, truth):
    """Return whether all chain averages agree with the truth, by means of batches."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(found, 40)])
    return all(agrees(mean_p_value(batches[:, j], truth[j])) for j in range(len(truth)))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("sums", SUMS)
def test_posterior_is_quadrature(sums, prior):
    x, y, p = posterior_by_quadrature(SUMS[sums], histogram_of(sums), PRIORS[prior])
    truth = [(s * p).sum() for s in statistics(x, y)]
    for seed in range(n_seeds(1)):
        found = chain(weights.update, SUMS[sums], histogram_of(sums), PRIORS[prior], 6000, seed)
        assert compatible(found, truth)


def test_the_paper_s_joint_step_balances():
    """The ratio is posterior times proposal backwards, over posterior times proposal forwards."""
    rng = np.random.default_rng(0)
    sums, histogram = np.array([9, 0, 4, 2]), np.array([2, 3, 6, 0, 0])
    prior = WeakLimitPrior(1.0, 1.5, 4)
    a, n = prior.shape, histogram.sum()
    target = weights._Target(sums, histogram, prior)

    def log_proposal(theta):
        # the density of log-odds is that of the weights times pi (1 - pi)
        law = stats.beta(a + sums, prior.concentration - a + n - sums)
        return (law.logpdf(expit(theta)) + np.log(expit(theta) * expit(-theta))).sum()

    for _ in range(20):
        here, there = rng.normal(0, 2, (2, 4))
        expected = target.log_density(there) + log_proposal(here)
        expected -= target.log_density(here) + log_proposal(there)
        found = weights.independence_log_ratio(here, there, histogram)
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
            theta, chance = weights.independence_step(rng, theta, sums, histogram, prior)
            found.append(chance)
        chances.append(np.mean(found))
    assert chances[0] > 0.01 > chances[1]


def without_normaliser(rng, theta, sums, histogram, prior):
    """Treat rows as independent coins: the paper's proposal, always accepted."""
    a, n = prior.shape, histogram.sum()
    pi = rng.beta(a + sums, prior.concentration - a + n - sums)
    return np.log(pi) - np.log1p(-pi), None


def wrong_prior(rng, theta, sums, histogram, prior):
    return weights.update(rng, theta, sums, histogram, WeakLimitPrior(1.3, 1.5, 2))


@pytest.mark.parametrize("broken", [without_normaliser, wrong_prior])
def test_broken_twins_are_caught(broken):
    sums, histogram, prior = SUMS["one never used"], histogram_of("one never used"), PRIORS["beta"]
    x, y, p = posterior_by_quadrature(sums, histogram, prior)
    truth = [(s * p).sum() for s in statistics(x, y)]
    assert not compatible(chain(broken, sums, histogram, prior, 6000, 0), truth)


@pytest.mark.parametrize("law", ["exactly(2)", "uniform(0, 3)"])
def test_joint_distribution(law):
    """Geweke: weights and rows in turn have the prior as the law of the weights."""
    prior, features, rng = WeakLimitPrior(2.0, 1.5, 5), 5, np.random.default_rng(0)
    theta, found = prior.sample(rng, features), []
    for _ in range(3000 * n_seeds(1)):
        rows = ribp.RestrictedBernoulli(theta, law).sample(rng, 4)
        histogram = np.bincount(rows.sum(axis=1), minlength=features + 1)
        theta, _ = weights.update(rng, theta, rows.sum(axis=0), histogram, prior)
        found.append([expit(theta).mean(), (theta < -3).mean(), expit(theta).max()])
    fresh = np.array([prior.sample(rng, features) for _ in range(20_000)])
    truth = [prior.mass / features, (fresh < -3).mean(), expit(fresh).max(axis=1).mean()]
    assert compatible(np.array(found), truth)


def test_gradient_is_that_of_the_density():
    rng = np.random.default_rng(0)
    sums, histogram = np.array([9, 0, 4, 2, 0, 1]), np.array([1, 3, 5, 1, 0, 0, 0])
    for prior in (WeakLimitPrior(2.0, 1.5, 6), GammaOddsPrior(2.0, 0.7, 6)):
        target = weights._Target(sums, histogram, prior)
        theta = rng.normal(0, 2, 6)
        step = 1e-5 * np.eye(6)
        slopes = [
            (target.log_density(theta + d) - target.log_density(theta - d)) / 2e-5 for d in step
        ]
        np.testing.assert_allclose(target.gradient(theta), slopes, atol=1e-6)


def test_metric_draws_momenta_of_its_own_covariance():
    target = weights._Target(np.array([9, 0, 4, 2]), np.array([0, 9, 3, 0]), PRIORS["beta"])
    metric = weights._Metric(target)
    u = target.sums * (1 - target.sums / 12)
    dense = np.diag(u + PRIORS["beta"].shape) - np.outer(u, u) / u.sum()
    np.testing.assert_allclose([metric.velocity(column) for column in dense], np.eye(4), atol=1e-12)
    rng = np.random.default_rng(0)
    drawn = np.array([metric.momentum(rng) for _ in range(40_000)])
    np.testing.assert_allclose(np.cov(drawn.T), dense, atol=0.1)


def bulk_ess_per_draw(x):
    """Return effective draws per draw, by the initial positive sequence of autocorrelations."""
    n = x.size
    f = np.fft.rfft(x - x.mean(), 2 * n)
    rho = np.fft.irfft(f * np.conj(f))[:n] / np.arange(n, 0, -1)
    pairs = (rho[1:-1:2] + rho[2::2]) / rho[0]
    until = np.argmax(pairs < 0) if (pairs < 0).any() else pairs.size
    return 1 / (1 + 2 * pairs[:until].sum())


@pytest.mark.parametrize("law", ["exactly(3)", "poisson(4)"])
def test_fifty_features_and_five_thousand_rows_mix(law):
    rng = np.random.default_rng(1)
    prior = WeakLimitPrior(10.0, 1.0, 50)
    rows = ribp.RestrictedBernoulli(prior.sample(rng, 50), law).sample(rng, 5000)
    sums, histogram = rows.sum(axis=0), np.bincount(rows.sum(axis=1), minlength=51)
    theta = np.log((sums + 0.5) / (5000 - sums + 0.5))
    draws = []
    for _ in range(1200):
        theta, info = weights.update(rng, theta, sums, histogram, prior)
        draws.append(theta)
        assert info.n_gradients <= 40
    draws = np.array(draws)[100:]
    used = np.flatnonzero(sums)
    reference = draws[:, sums.argmax()]
    slowest = min(bulk_ess_per_draw(draws[:, i] - reference) for i in used if i != sums.argmax())
    assert slowest >= 0.2
    unused = np.flatnonzero(sums == 0)
    assert min(bulk_ess_per_draw(draws[:, i]) for i in unused) >= 0.2
