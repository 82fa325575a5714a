"""Decoded rows, replicates, new rows and missing entries against enumeration and closed forms."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from ribp import RestrictedBernoulli, counts
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete
from ribp.posterior.predict import (
    decode,
    decode_counts,
    held_out_entries,
    impute,
    new_rows,
    posterior_predictive,
)
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.trees import DIMS, FEATURES, MODELS, ROWS, buffet_chains, pool, pool_of, truth_of

EVERY = np.array(list(itertools.product([0, 1], repeat=4)), np.int8)
GAUSSIAN, POISSON = MODELS["shared noise, background"], MODELS["counts"]


# Decoding


@given(seed=st.integers(0, 10**6))
def test_decoded_rows_against_all_rows(seed):
    rng = np.random.default_rng(seed)
    probs = rng.random((6, 4))
    allowed = rng.random((2, 5)) < 0.5
    allowed[range(2), rng.integers(5, size=2)] = True
    tables = np.where(allowed, np.log(rng.random((2, 5))), -np.inf)
    which = rng.integers(2, size=6)
    found = decode(probs, tables, which)
    assert found.dtype == np.int8
    for row, p, law in zip(found, probs, which, strict=True):
        possible = EVERY[allowed[law][EVERY.sum(axis=1)]]
        best = possible[np.argmax(possible @ (2 * p - 1))]
        np.testing.assert_array_equal(row, best)


@pytest.mark.parametrize("by_sum", [False, True])
def test_decoded_counts_against_all_rows(by_sum):
    """The least sum of (y - m)^2 among rows whose sum, or number of non-zeros, is allowed."""
    rng = np.random.default_rng(0)
    every = np.array(list(itertools.product(range(6), repeat=3)))
    totals = every.sum(axis=1) if by_sum else (every > 0).sum(axis=1)
    means, which = 5.4 * rng.beta(0.7, 2.0, (60, 3)), rng.integers(2, size=60)
    allowed = np.array([[True, False, True, True], [False, True, False, True]])
    tables = np.where(allowed, 0.0, -np.inf)
    found = decode_counts(means, tables, which, by_sum=by_sum)
    for row, m, law in zip(found, means, which, strict=True):
        possible = every[(totals < 4) & allowed[law][np.minimum(totals, 3)]]
        np.testing.assert_array_equal(row, possible[((possible - m) ** 2).sum(axis=1).argmin()])


def test_ties_go_to_the_first_features():
    two = np.where(np.arange(5) == 2, 0.0, -np.inf)[None]
    some = np.zeros((1, 5))
    which = np.zeros(1, np.int64)
    np.testing.assert_array_equal(decode([[0.3, 0.7, 0.3, 0.3]], two, which), [[1, 1, 0, 0]])
    np.testing.assert_array_equal(decode([[0.5, 0.7, 0.5, 0.5]], some, which), [[0, 1, 0, 0]])
    np.testing.assert_array_equal(decode(np.ones((1, 4)), some, which), [[1, 1, 1, 1]])


# Replicates and new rows


def test_replicates_have_the_law_of_the_draws():
    found = pool(GAUSSIAN, n_draws=2)

    def p_values(n, seed, scale=1.0):
        rng, size = np.random.default_rng(seed), n // len(found.parameters)
        data = posterior_predictive(rng, found, GAUSSIAN.likelihood, n)
        assert data.shape == (n, ROWS, DIMS)
        residuals = []
        for s, parameters in enumerate(found.parameters):
            mean = found.unpacked(s) @ parameters.features + parameters.background
            residuals.append((data[s * size : (s + 1) * size] - mean) / parameters.noise_scale)
        return [stats.kstest(scale * np.ravel(residuals), "norm").pvalue]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, scale=1.1), 400)


def test_fewer_and_no_replicates():
    found = pool(POISSON)
    rng = np.random.default_rng(0)
    assert posterior_predictive(rng, found, POISSON.likelihood, 3).shape == (3, ROWS, DIMS)
    assert posterior_predictive(rng, found, POISSON.likelihood, 0).shape == (0, ROWS, DIMS)


def law_of_new_rows(found, law):
    """Return all rows and their probabilities, averaged over draws."""
    rows = np.array(list(itertools.product([0, 1], repeat=FEATURES)), np.int8)
    each = [
        np.exp(RestrictedBernoulli(theta, counts.table(np.exp(tables[law]))).log_prob(rows))
        for theta, tables in zip(found.log_odds, found.count_log_probs, strict=True)
    ]
    return np.mean(each, axis=0)


def test_new_rows_have_their_law():
    model = MODELS["learned"]
    found = pool(model, n_draws=3)
    laws = [law_of_new_rows(found, law) for law in (0, 1)]

    def p_values(n, seed, laws=laws):
        rng, p = np.random.default_rng(seed), []
        for law, probs in enumerate(laws):
            rows, data = new_rows(rng, found, model.likelihood, np.full(n, law))
            assert data.shape == (n, DIMS)
            code = rows @ 2 ** np.arange(FEATURES)[::-1]
            p.append(frequencies_p_value(np.bincount(code, minlength=2**FEATURES), probs))
        return p

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, laws=laws[::-1]), 4000)


def test_data_of_new_rows_are_those_of_their_draw():
    model = MODELS["noise per column"]
    found = pool(model, n_draws=1)
    found = found._replace(parameters=found.parameters[:1], rows=found.rows[:1])
    parameters = found.parameters[0]

    def p_values(n, seed, scale=1.0):
        rng = np.random.default_rng(seed)
        rows, data = new_rows(rng, found, model.likelihood, np.zeros(n, np.int64))
        residuals = (data - rows @ parameters.features) / parameters.noise_scale
        return [stats.kstest(scale * residuals.ravel(), "norm").pvalue]

    assert holds(p_values, replicates(3000))
    assert is_caught(partial(p_values, scale=1.1), 3000)


def test_new_rows_of_a_buffet_are_coins():
    model, chains = buffet_chains(0, truth_of(0, unused=0))
    found = pool_of(chains, model)
    expected = np.mean(1.0 / (1.0 + np.exp(-found.log_odds)), axis=0)

    def p_values(n, seed, probs=expected):
        rng = np.random.default_rng(seed)
        rows, _ = new_rows(rng, found, model.likelihood, np.zeros(n, int))
        return [mean_p_value(*pair) for pair in zip(rows.T, probs, strict=True)]

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, probs=0.8 * expected), 4000)


def test_a_law_that_does_not_exist():
    with pytest.raises(InputError, match="law_of_row must be below 1"):
        new_rows(np.random.default_rng(0), pool(GAUSSIAN), GAUSSIAN.likelihood, [0, 1])


# Missing entries


def mixture_of(found, likelihood):
    """Return means and variances of all entries given each draw."""
    means, variances = [], []
    for s, p in enumerate(found.parameters):
        means.append(found.unpacked(s) @ p.features + p.background)
        gaussian = isinstance(likelihood, LinearGaussian)
        variances.append(np.broadcast_to(p.noise_scale**2, (ROWS, DIMS)) if gaussian else means[-1])
    return np.array(means), np.array(variances)


@pytest.mark.parametrize("name", MODELS)
def test_imputed_entries(name):
    likelihood = MODELS[name].likelihood
    found = pool(MODELS[name])
    rng = np.random.default_rng(0)
    observed = rng.random((ROWS, DIMS)) < 0.5
    values = np.where(observed, rng.poisson(2.0, (ROWS, DIMS)), 0.0)
    mean, sd = impute(found, likelihood, Data(values, observed))
    np.testing.assert_array_equal(mean[observed], values[observed])
    assert not sd[observed].any()
    means, variances = mixture_of(found, likelihood)
    second = (variances + means**2).mean(axis=0)  # E[x^2]
    np.testing.assert_allclose(mean[~observed], means.mean(axis=0)[~observed])
    expected = np.sqrt(second - means.mean(axis=0) ** 2)
    np.testing.assert_allclose(sd[~observed], expected[~observed], rtol=1e-8)


def test_nothing_to_impute():
    values = np.random.default_rng(0).random((ROWS, DIMS))
    mean, sd = impute(pool(GAUSSIAN), GAUSSIAN.likelihood, complete(values))
    np.testing.assert_array_equal(mean, values)
    assert not sd.any()


@pytest.mark.parametrize("name", MODELS)
def test_held_out_entries(name):
    likelihood = MODELS[name].likelihood
    found = pool(MODELS[name])
    rng = np.random.default_rng(1)
    mask = rng.random((ROWS, DIMS)) < 0.3
    values = np.where(mask, rng.poisson(2.0, (ROWS, DIMS)), np.nan)
    means, variances = mixture_of(found, likelihood)
    with np.errstate(invalid="ignore"):
        if isinstance(likelihood, LinearGaussian):
            each = stats.norm.logpdf(values, means, np.sqrt(variances))
        else:
            each = stats.poisson.logpmf(values, means)
    expected = logsumexp(each[:, mask], axis=0) - np.log(len(means))
    np.testing.assert_allclose(held_out_entries(found, likelihood, values, mask), expected)


def test_densities_add_up():
    """Over all counts the probabilities sum to one."""
    found = pool(POISSON)
    mask = np.zeros((ROWS, DIMS), bool)
    mask[3, 1] = True
    total = sum(
        np.exp(held_out_entries(found, POISSON.likelihood, np.full((ROWS, DIMS), float(x)), mask))
        for x in range(200)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
