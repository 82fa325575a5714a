"""The law of a row in NumPyro: equal to ours, second derivatives, draws, shapes and errors."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from jax import random

import ribp
from ribp import counts
from ribp.numpyro import RestrictedBernoulli
from ribp.numpyro.ratios import chain
from ribp.testing.exact import all_rows
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.harsh_cases import CASES
from tests.helpers.messages import message_of

INF = np.inf
ODDS = {
    "ordinary": [0.4, -0.8, 1.1, -0.2, 2.0],
    "ties": [0.5, 0.5, -1.0, 0.5, -1.0],
    "all tied": [0.0] * 5,
    "never": [0.4, -INF, 1.1, -INF, 2.0],
    "always": [0.4, INF, 1.1, -0.3, INF],
    "both": [INF, -INF, 0.3, 0.3, -1.0],
    "far apart": [40.0, -35.0, 0.0, 41.0, -70.0],
}
LAWS = {
    "one count": counts.exactly(2),
    "interval": counts.uniform(1, 4),
    "a hole": counts.table([0.0, 0.0, 0.4, 0.0, 0.6]),
    "all counts": counts.poisson(2.5),
}
ROWS = all_rows(5)


@pytest.fixture
def doubles():
    with jax.enable_x64(True):
        yield


@jax.jit  # compiled once for all cases: their laws have tables of one length
def log_prob_and_mean(theta, log_f, rows):
    law = RestrictedBernoulli(theta, log_f)
    return law.log_prob(rows), law.mean


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("law", LAWS)
def test_every_row_has_our_log_prob_in_doubles(odds, law):
    ours = ribp.RestrictedBernoulli(ODDS[odds], LAWS[law])
    log_prob, mean = log_prob_and_mean(np.array(ODDS[odds]), LAWS[law].log_probs(5), ROWS)
    np.testing.assert_allclose(log_prob, ours.log_prob(ROWS), rtol=0, atol=1e-10)
    np.testing.assert_allclose(mean, ours.inclusion_probs(), rtol=0, atol=1e-12)
    assert log_prob.dtype == jnp.float64


@pytest.mark.parametrize("features", [5, 50, 400])
def test_single_precision_is_within_a_hundred_thousandth(features):
    rng = np.random.default_rng(features)
    theta = rng.normal(0, 3, features).astype(np.float32)
    law = counts.uniform(1, min(20, features))
    ours = ribp.RestrictedBernoulli(theta, law)
    rows = ours.sample(rng, 200)
    found, _ = log_prob_and_mean(theta, law.log_probs(20), rows)
    truth = ours.log_prob(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, truth, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("name", CASES)
def test_ratios_bear_harsh_log_odds(name):
    theta = CASES[name]
    with np.errstate(invalid="ignore"):
        truth = ribp.log_esp(theta) - np.append(0.0, np.cumsum(theta))
    found = jax.jit(chain, static_argnums=1)(theta[::-1], theta.size).log_scaled
    np.testing.assert_allclose(found, truth, rtol=1e-11, atol=1e-9)  # truth cancels here


@jax.jit
def derivatives(theta, z):
    def log_prob(theta):
        return RestrictedBernoulli(theta, jnp.zeros(6)).log_prob(z)

    return jax.grad(log_prob)(theta), jax.hessian(log_prob)(theta)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("k", range(6))
def test_derivatives_of_second_order(odds, k):
    """The gradient is z - E z, the Hessian minus the covariance of a row with that count."""
    theta = np.array(ODDS[odds])
    if not np.isposinf(theta).sum() <= k <= 5 - np.isneginf(theta).sum():
        return
    law = ribp.RestrictedBernoulli(theta, counts.exactly(k))
    z = law.sample(np.random.default_rng(0))
    free = np.isfinite(theta)
    eta = law.inclusion_probs()
    cov = law.pair_probs() - np.outer(eta, eta)
    gradient, hessian = derivatives(theta, z)
    np.testing.assert_allclose(gradient, np.where(free, z - eta, 0.0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(hessian, -cov, rtol=0, atol=1e-10)


@partial(jax.jit, static_argnums=3)
def draws(theta, log_f, key, n):
    return RestrictedBernoulli(theta, log_f).sample(key, (n,))


def in_law(odds, law, spoil, n, seed):
    """Return the p-value of draws of all rows."""
    theta, log_f = spoil * np.array(ODDS[odds]), LAWS[law].log_probs(5)
    drawn = draws(theta, log_f, random.key(seed), 40 * n)
    found = np.bincount(np.asarray(drawn) @ (1 << np.arange(5)), minlength=32)
    probs = np.exp(ribp.RestrictedBernoulli(ODDS[odds], LAWS[law]).log_prob(ROWS))
    return [frequencies_p_value(found, probs)]


@pytest.mark.parametrize(
    ("odds", "law"),
    [("ordinary", "a hole"), ("ties", "interval"), ("never", "one count"), ("both", "all counts")],
)
def test_draws_are_in_law(odds, law):
    assert holds(partial(in_law, odds, law, 1.0), replicates(500))


def test_draws_of_flattened_odds_are_caught():
    assert is_caught(partial(in_law, "ordinary", "a hole", 0.9), 500)


# Shapes and transformations


def test_batches_of_odds_and_of_laws():
    laws = counts.by_row([counts.exactly(1), counts.uniform(0, 2), counts.exactly(1)])
    theta = np.random.default_rng(0).normal(size=(2, 1, 6))
    law = RestrictedBernoulli(theta, laws)
    assert (law.batch_shape, law.event_shape, law.k_max) == ((2, 3), (6,), 2)

    @jax.jit
    def all_of(law):
        rows = law.sample(random.key(1), (7, 2))
        return rows, law.log_prob(rows), law.mean, law.variance

    rows, log_prob, mean, variance = map(np.asarray, all_of(law))
    assert (rows.shape, log_prob.shape) == ((7, 2, 2, 3, 6), (7, 2, 2, 3))
    assert set(rows.sum(axis=-1)[..., [0, 2]].ravel().tolist()) == {1}
    for at in np.ndindex(2, 3):
        ours = ribp.RestrictedBernoulli(theta[at[0], 0], laws[at[1]])
        truth = ours.log_prob(rows[(..., *at, slice(None))])
        np.testing.assert_allclose(log_prob[(..., *at)], truth, atol=1e-5)
        np.testing.assert_allclose(mean[at], ours.inclusion_probs(), atol=1e-6)
    np.testing.assert_allclose(variance, mean * (1 - mean), atol=1e-6)


def test_exact_counts_and_log_probabilities_are_laws():
    theta = jnp.array([0.3, -0.4, 1.0])
    z = jnp.array([[1, 0, 0], [1, 0, 1]])
    exact = RestrictedBernoulli(theta, np.array([1, 2]))
    assert (exact.batch_shape, exact.k_max, exact.fixed_counts) == ((2,), 2, True)

    @jax.jit
    def value_and_slope(f):  # of more counts than there are features
        free = RestrictedBernoulli(theta, f)
        assert (free.k_max, free.fixed_counts) == (3, False)
        slope = jax.grad(lambda f: RestrictedBernoulli(theta, f).log_prob(z[0]))(f)
        return free.log_prob(z) - exact.log_prob(z), slope

    f = np.array([0.2, 0.4, 0.3, 0.1, 0.7])
    value, slope = value_and_slope(jnp.log(f))
    np.testing.assert_allclose(value, np.log([0.4, 0.3]), atol=1e-6)
    np.testing.assert_allclose(slope, [-0.2, 0.6, -0.3, -0.1, 0.0], atol=1e-6)


def test_jit_vmap_and_trees_change_nothing():
    rng = np.random.default_rng(3)
    theta = jnp.asarray(rng.normal(size=(5, 4)))
    law = RestrictedBernoulli(theta, "uniform(1, 3)")
    z = ribp.RestrictedBernoulli(theta, "uniform(1, 3)").sample(rng)
    plain = law.log_prob(z)

    def of_row(theta, z):
        return RestrictedBernoulli(theta, "uniform(1, 3)").log_prob(z)

    np.testing.assert_allclose(jax.jit(jax.vmap(of_row))(theta, z), plain, atol=1e-6)
    leaves, tree = jax.tree.flatten(law)
    again = jax.tree.unflatten(tree, leaves)
    assert again.fixed_counts is False
    np.testing.assert_allclose(jax.jit(lambda law: law.log_prob(z))(again), plain, atol=1e-6)
    counted = jax.jit(lambda k: RestrictedBernoulli(theta, k).log_prob(z))(z.sum(axis=-1))
    np.testing.assert_allclose(counted, plain + np.log(3.0), atol=1e-6)


def test_in_a_plate_one_pass_serves_all_rows():
    def model():
        with numpyro.plate("rows", 6):
            numpyro.sample("z", RestrictedBernoulli(jnp.zeros(4), "exactly(2)"))

    site = numpyro.handlers.trace(numpyro.handlers.seed(model, random.key(0))).get_trace()["z"]
    assert site["value"].shape == (6, 4)
    assert set(site["value"].sum(axis=-1).tolist()) == {2}
    np.testing.assert_allclose(site["fn"].log_prob(site["value"]), -np.log(6) * np.ones(6), 1e-6)


def test_whole_numbers_are_log_odds_too():
    assert RestrictedBernoulli([0, 1, 2], "exactly(1)").log_odds.dtype == jnp.float32


@pytest.mark.parametrize(
    ("log_odds", "law", "words"),
    [
        ([0.0, np.nan], "exactly(1)", ["log_odds must not contain NaN"]),
        ([0.0, 1.0], "exactly(3)", ["counts", "must have mass on 0..2", "exactly(3)"]),
        ([INF, INF, 0.0], "exactly(1)", ["must have mass on 2..3", "2 features are always on"]),
        ([-INF, 0.0], np.array([1, 2]), ["must have mass on 0..1", "1 are never on"]),
        ([0.0, 1.0], np.array([-1]), ["counts must be at least 0"]),
        ([0.0, 1.0], counts.learned([1.0, 1.0]), ["must be known here", "Dirichlet"]),
        ([0.0, 1.0], 1, ["counts must be a count law", "exactly(3)"]),
        ([0.0, 1.0], np.array(["a"]), ["counts must be a count law"]),
    ],
)
def test_bad_input(log_odds, law, words):
    message_of(lambda: RestrictedBernoulli(jnp.asarray(log_odds), law), *words)


def test_what_is_traced_is_not_validated():
    found = jax.jit(lambda theta: RestrictedBernoulli(theta, "exactly(3)").log_prob([0, 1]))
    assert not np.isfinite(found(jnp.zeros(2)))
    quiet = RestrictedBernoulli(jnp.zeros(2), "exactly(3)", validate_args=False)
    assert quiet.k_max == 2
