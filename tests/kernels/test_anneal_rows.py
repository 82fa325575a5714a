"""Annealed importance sampling of a row: invariance by enumeration, unbiasedness over seeds."""

from functools import partial

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp.kernels import anneal_rows as kernel
from ribp.kernels import sweep_gaussian, sweep_poisson, whole_rows
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.row_cases import (
    BITS,
    DIMS,
    EXACT,
    FEATURES,
    ONES,
    ROWS,
    TABLE,
    THETA,
    after_flip,
    after_proposal,
    after_relocations,
    gaussian_log_likelihood,
    poisson_log_likelihood,
    posterior,
    proposal_law,
)

RNG = np.random.default_rng(11)
A = RNG.gamma(1.0, 1.0, (FEATURES, DIMS))
LOADINGS = np.ascontiguousarray(A.T)
GRAM = A @ A.T
SQUARES = np.diag(GRAM).copy()
COMMON = GRAM - np.diag(SQUARES)
OFFSET = np.full(DIMS, 0.2)
X = np.array([2.0, 0.0, 1.0, 3.0, 1.0])
SEEN = np.array([1, 1, 1, 0, 1], bool)
ALL = np.ones(DIMS, bool)
SHIFT = np.array([0.7, -1.0, 0.2, 0.5])
BETA = 0.37
EXPOSURE = 1.3


def at_beta(log_likelihood, table):
    """Return the law r_beta of ROWS."""
    return posterior((1 - BETA) * ROWS @ SHIFT + BETA * log_likelihood, table)


def gram_of(matrix):
    return sweep_gaussian.Gram(matrix, np.empty(0, bool), False, LOADINGS, matrix)


# Moves


@pytest.mark.parametrize("name", TABLE)
def test_gaussian_moves_leave_their_beta_unchanged(name):
    law = kernel.law_of(THETA, TABLE[name])
    pi = at_beta(gaussian_log_likelihood(X, A, ALL), TABLE[name])
    tilted, warm = THETA + (1 - BETA) * SHIFT, BETA * (LOADINGS.T @ X - 0.5 * SQUARES)
    hot = gram_of(BETA * COMMON)

    def gains(z):
        gain = np.empty(FEATURES)
        sweep_gaussian.fill_gain(z, tilted, warm, hot, gain)
        return gain

    def log_weights(z, i):
        out = np.empty(FEATURES)
        sweep_gaussian.relocation_log_weights(i, z, gains(z), hot, out)
        return out

    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)
    for i in range(FEATURES):
        flipped = after_flip(pi, i, lambda z, i: gains(z)[i] + law.steps[z.sum() - z[i]])
        np.testing.assert_allclose(flipped, pi, **EXACT)


@pytest.mark.parametrize("name", TABLE)
def test_poisson_moves_leave_their_beta_unchanged(name):
    law = kernel.law_of(THETA, TABLE[name])
    pi = at_beta(poisson_log_likelihood(X, A, ALL, OFFSET), TABLE[name])
    tilted, at = THETA + (1 - BETA) * SHIFT, np.flatnonzero(X)
    hot = sweep_poisson.PositiveCounts(at, BETA * X[at], OFFSET, LOADINGS, BETA * A.sum(axis=1))
    rates, gains = np.empty(at.size), np.empty(FEATURES)

    def log_weights(z, i):
        out = np.empty(FEATURES)
        sweep_poisson.relocation_log_weights(i, z, tilted, hot, rates, out)
        return out

    def log_odds(z, i):
        sweep_poisson.fill_rates(z, i, hot, rates)
        zero = sweep_poisson.fill_gains(i, i + 1, rates, hot, gains)
        prior = tilted[i] + law.steps[z.sum() - z[i]]
        return sweep_poisson.flip_log_odds(i, prior, zero, gains)

    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, log_odds), pi, **EXACT)


@pytest.mark.parametrize("name", TABLE)
def test_whole_rows_leave_their_beta_unchanged(name):
    log_likelihood = gaussian_log_likelihood(X, A, ALL)
    pi, q = at_beta(log_likelihood, TABLE[name]), proposal_law(TABLE[name], THETA + SHIFT)
    excess = log_likelihood - ROWS @ SHIFT
    np.testing.assert_allclose(after_proposal(pi, q, BETA * excess), pi, **EXACT)
    # The broken twin forgets that the target is at beta.
    assert np.abs(after_proposal(pi, q, excess) - pi).sum() > 1e-3


@pytest.mark.parametrize(
    ("name", "flips", "gaps"),
    [("interval", 1, 0), ("one count", 0, 0), ("a hole", 0, 1), ("no top", 1, 0)],
)
def test_laws_have_the_moves_that_they_need(name, flips, gaps):
    law = kernel.law_of(THETA, TABLE[name])
    assert (law.flips, law.gaps) == (flips, gaps)


# The guide


@pytest.mark.parametrize("name", TABLE)
def test_the_normaliser_of_the_guide_and_the_mean_count(name):
    log_counts = kernel.count_log_weights(THETA + SHIFT, TABLE[name])
    log_q = TABLE[name][ONES] + ROWS @ (THETA + SHIFT)
    np.testing.assert_allclose(kernel.log_sum(log_counts), logsumexp(log_q), **EXACT)
    prior = posterior(np.zeros(len(ROWS)), TABLE[name])
    share = kernel.mean_share(kernel.law_of(THETA, TABLE[name]))
    np.testing.assert_allclose(share, prior @ ONES / FEATURES, **EXACT)


def test_a_positive_definite_matrix_is_inverted():
    matrix = GRAM + 4.0 * np.eye(FEATURES)
    inverse = matrix.copy()
    kernel.invert(inverse)
    np.testing.assert_allclose(inverse @ matrix, np.eye(FEATURES), rtol=0, atol=1e-13)


def test_the_shift_is_exact_for_orthogonal_features_and_bounded():
    squares, shift = np.array([1.0, 4.0, 9.0, 1e6]), np.empty(FEATURES)
    b = np.array([1.2, 0.5, 8.0, 1e6])
    kernel.fill_shift(b, squares, np.zeros((FEATURES, FEATURES)), 0.3, shift)
    np.testing.assert_allclose(shift, [*(b - 0.5 * squares)[:3], 20.0], rtol=0, atol=1e-9)
    kernel.fill_shift(np.full(FEATURES, np.nan), squares, COMMON, 0.3, shift)
    np.testing.assert_array_equal(shift, 0.0)


def test_steps_are_even_where_excess_is_flat_and_small_at_first_where_it_is_steep():
    grid = np.empty(5)
    for flat in (np.ones(3), np.full(3, -np.inf)):
        kernel.fill_grid(flat, grid)
        np.testing.assert_array_equal(grid, np.linspace(0, 1, 5))
    kernel.fill_grid(np.array([-1000.0, 1000.0, -np.inf]), grid)
    assert grid[0] == 0.0
    assert grid[-1] == 1.0
    np.testing.assert_allclose(1.0 + 1000.0 * grid, 1001.0 ** np.linspace(0, 1, 5))


@pytest.mark.parametrize(("steep", "n_steps"), [(0.0, 16), (1.0, 16), (5.0, 26), (1000.0, 64)])
def test_there_are_as_many_steps_as_help(steep, n_steps):
    betas = kernel.fill_grid(np.array([-steep, steep]), np.empty(65))
    assert betas.size == n_steps + 1
    assert (np.diff(betas) > 0).all()
    assert betas[0] == 0.0
    assert betas[-1] == 1.0


# Whole runs


def blank(rows):
    """Return space for log sums, errors, probabilities and draws."""
    probs = np.empty((rows, FEATURES))
    return np.empty(rows), np.empty(rows), probs, np.empty((rows, FEATURES), np.int8)


def run_gaussian(seeds, table, seen=SEEN, n_particles=3, n_steps=3):
    rows, out = len(seeds), blank(len(seeds))
    kernel.gaussian(
        seeds, n_particles, n_steps, np.tile(np.where(seen, X, 0.0), (rows, 1)),
        np.tile(seen, (rows, 1)), LOADINGS, COMMON, SQUARES, THETA, table, *out,
    )  # fmt: skip
    return out, gaussian_log_likelihood(X, A, seen)


def run_poisson(seeds, table, seen=SEEN, n_particles=3, n_steps=3, offset=OFFSET):
    rows, out = len(seeds), blank(len(seeds))
    kernel.poisson(
        seeds, n_particles, n_steps, np.tile(X, (rows, 1)), np.tile(seen, (rows, 1)),
        np.full(rows, EXPOSURE), LOADINGS, offset, THETA, table, *out,
    )  # fmt: skip
    return out, poisson_log_likelihood(X, A, seen, offset, EXPOSURE)


RUNS = {"gaussian": run_gaussian, "poisson": run_poisson}


def exact(log_likelihood, table):
    """Return log p(x) and P(z | x) of ROWS."""
    log_p = table[ONES] + ROWS @ THETA + log_likelihood
    return logsumexp(log_p), np.exp(log_p - logsumexp(log_p))


@pytest.mark.parametrize("likelihood", RUNS)
@pytest.mark.parametrize("name", TABLE)
def test_rows_that_are_drawn_can_be_and_are_the_same_in_any_company(name, likelihood):
    seeds = np.array([3, 4, 5], np.uint64)
    out, log_likelihood = RUNS[likelihood](seeds, TABLE[name], n_particles=30, n_steps=4)
    _, law = exact(log_likelihood, TABLE[name])
    assert np.all(law[out[3] @ BITS] > 0)
    for n in range(3):
        alone, _ = RUNS[likelihood](seeds[[n]], TABLE[name], n_particles=30, n_steps=4)
        for whole, part in zip(out, alone, strict=True):
            np.testing.assert_array_equal(whole[n], part[0])


def test_particles_that_cannot_be_have_no_weight():
    only_none = np.array([0.0, *[-np.inf] * FEATURES])
    (log_sum, error, probs, sample), _ = run_poisson(
        np.zeros(1, np.uint64), only_none, offset=np.zeros(DIMS)
    )
    assert log_sum == -np.inf
    assert error == np.inf
    assert np.isnan(probs).all()
    assert not sample.any()


def test_the_error_is_that_of_the_mean_weight():
    weights, particles = np.array([1.0, 3.0, 2.0, 6.0]), ROWS[[1, 2, 4, 7]]
    probs, z = np.empty(FEATURES), np.empty(FEATURES, np.int8)
    log_mean, error = kernel.summarise(np.uint64(0), np.log(weights) - 900.0, particles, probs, z)
    assert log_mean == pytest.approx(np.log(3.0) - 900.0)
    assert error == pytest.approx(weights.std(ddof=1) / 2.0 / 3.0)
    np.testing.assert_allclose(probs, weights @ particles / 12.0)
    assert z.tolist() in particles.tolist()


def seeds_from(seed, n):
    return np.random.default_rng(seed).integers(2**63, size=n, dtype=np.uint64)


@pytest.mark.jit
@pytest.mark.parametrize("likelihood", RUNS)
@pytest.mark.parametrize("name", TABLE)
def test_densities_probabilities_and_draws_are_unbiased(name, likelihood):
    def p_values(n, seed):
        (log_sums, _, *found), log_likelihood = RUNS[likelihood](seeds_from(seed, n), TABLE[name])
        log_p, law = exact(log_likelihood, TABLE[name])
        ratio, parts = np.exp(log_sums - log_p), np.eye(FEATURES)[:, :3]
        parts[3, 2] = 1.0  # the last feature is rare: its mean alone is far from normal
        weighted = [(ratio[:, None] * (each @ parts)).T for each in found]
        eta = law @ ROWS @ parts
        means = (p for each in weighted for p in map(mean_p_value, each, eta))
        return [mean_p_value(ratio, 1.0), *means]

    assert holds(p_values, replicates(20_000))


@pytest.mark.jit
def test_particles_that_cannot_be_count_in_the_mean():
    table, nothing = TABLE["no top"], np.zeros(DIMS)

    def p_values(n, seed, *, left_out=False):
        (log_sums, *_), log_likelihood = run_poisson(seeds_from(seed, n), table, offset=nothing)
        ratio = np.exp(log_sums - exact(log_likelihood, table)[0])
        return [mean_p_value(ratio[ratio > 0] if left_out else ratio, 1.0)]

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, left_out=True), 4000)


@pytest.mark.jit
@pytest.mark.parametrize("likelihood", RUNS)
def test_standard_errors_are_those_of_the_density(likelihood):
    """Their squares have the mean of the squared errors, both as parts of p(x)."""

    def p_values(n, seed, *, factor=1.0):
        (log_sums, errors, *_), log_likelihood = RUNS[likelihood](
            seeds_from(seed, n), TABLE["interval"], n_particles=100, n_steps=4
        )
        ratio = np.exp(log_sums - exact(log_likelihood, TABLE["interval"])[0])
        return [mean_p_value((ratio - 1.0) ** 2 - factor * (ratio * errors) ** 2, 0.0)]

    assert holds(p_values, replicates(1000))
    assert is_caught(partial(p_values, factor=2.0), 300)


def weigh_by_hand(seed, table, number, *, after_the_move=False, forgotten=0.0):
    """Return p(x) estimates of single particles, perhaps with a mistake in their weights."""
    law, gram = kernel.law_of(THETA, table), gram_of(COMMON)
    linear = LOADINGS.T @ X - 0.5 * SQUARES
    work, active = np.empty((2, FEATURES)), np.empty(FEATURES, np.int64)
    grid, log_weights = np.array([0.0, 0.2, 0.5, 1.0]), np.zeros(number)
    for r in range(number):
        z = np.empty(FEATURES, np.int8)
        whole_rows.draw(seed, 0, r, 0, THETA + SHIFT, table, z)
        for t in range(1, 4):
            beta, before = grid[t], sweep_gaussian.excess(z, linear, SHIFT, gram)
            tilted, hot = THETA + (1 - beta) * SHIFT, gram_of(beta * COMMON)
            kernel.move_gaussian(seed, t, r, z, tilted, beta * linear, hot, law, work, active)
            gained = sweep_gaussian.excess(z, linear, SHIFT, gram) if after_the_move else before
            log_weights[r] += (beta - grid[t - 1] - forgotten * (t == 1)) * gained
    log_q = kernel.log_sum(kernel.count_log_weights(THETA + SHIFT, table))
    return np.exp(log_weights + log_q)


@pytest.mark.jit
def test_wrong_weights_are_caught():
    table = TABLE["interval"]
    p = np.exp(exact(gaussian_log_likelihood(X, A, ALL), table)[0])

    def p_values(n, seed, **mistake):
        return [mean_p_value(weigh_by_hand(np.uint64(seed), table, n, **mistake) / p, 1.0)]

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, after_the_move=True), 4000)
    assert is_caught(partial(p_values, forgotten=0.1), 4000)
