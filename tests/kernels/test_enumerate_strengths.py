"""Rows with strengths, z summed out: against dense Gaussians and orthant probabilities."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr, logsumexp

from ribp.kernels import enumerate_strengths as kernel
from ribp.likelihoods.strength_sweeps import anneal_strengths
from tests.helpers.row_cases import DIMS, FEATURES, ONES, ROWS, SEEN, TABLE, THETA

RNG = np.random.default_rng(12)
A = RNG.normal(0, 1, (FEATURES, DIMS))
X = 0.7 * ROWS[[5, 10, 3]] @ A + 0.8 * RNG.normal(size=(3, DIMS))
LAWS = {"around one": (1.0, 0.4, False), "signed": (0.0, 1.0, False), "positive": (1.0, 0.8, True)}
GRAM = A @ A.T
GIVEN = np.ascontiguousarray(A.T), GRAM - np.diag(np.diag(GRAM)), np.diag(GRAM).copy()


def exact(x, seen, table, mu, tau, positive):
    """Return log p(x) less that of no features, P(z | x) and E[z s | x] from definitions."""
    log_p, means = [], []
    for z in ROWS:
        a = A[z == 1][:, seen]
        cov = np.eye(int(seen.sum())) + tau**2 * a.T @ a
        law = stats.multivariate_normal(mu * a.sum(axis=0), cov) if seen.any() else None
        log_lik = law.logpdf(x[seen]) if seen.any() else 0.0
        none = -0.5 * (x[seen] ** 2).sum() - 0.5 * seen.sum() * np.log(2 * np.pi)
        inverse = np.linalg.inv(a @ a.T + np.eye(len(a)) / tau**2)
        m, mass = inverse @ (a @ x[seen] + mu / tau**2), 0.0
        if positive and len(a):
            orthant = stats.multivariate_normal(-m, inverse, allow_singular=True)
            mass = np.log(orthant.cdf(np.zeros(len(a)))) - len(a) * log_ndtr(mu / tau)
            m = truncated_mean(m, inverse)
        log_p.append(log_lik - none + mass)
        y = np.zeros(FEATURES)
        y[z == 1] = m
        means.append(y)
    log_w = np.array(log_p) + ROWS @ THETA + table[ONES]
    total = logsumexp(log_w)
    weights = np.exp(log_w - total)
    return total, weights @ ROWS, weights @ np.array(means)


def truncated_mean(m, cov):
    draws = np.random.default_rng(1).multivariate_normal(m, cov, 400_000)
    return draws[(draws > 0).all(axis=1)].mean(axis=0)


def found(seen, table, law, n_seeds=1, anneal=False):
    observed = np.tile(seen, (len(X) * n_seeds, 1))
    data = np.where(observed, np.tile(X, (n_seeds, 1)), 0.0)
    seeds = np.arange(len(data), dtype=np.uint64)
    shape = len(data), FEATURES
    log_p, errors, probs, sizes = np.empty(len(data)), np.empty(len(data)), *np.empty((2, *shape))
    sample = np.empty(shape, np.int8)
    start = (data, observed, *GIVEN, *LAWS[law], THETA, table)
    if anneal:
        anneal_strengths(seeds, 100, 20, *start, log_p, errors, probs, sample, sizes)
    else:
        kernel.strengths(seeds, *start, log_p, probs, sample, errors, sizes)
    return log_p, errors, probs, sizes, sample


@pytest.mark.parametrize("law", ["around one", "signed"])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", TABLE)
def test_z_is_summed_out_exactly(table, seen, law):
    log_p, errors, probs, sizes, sample = found(SEEN[seen], TABLE[table], law)
    for n, x in enumerate(X):
        right = exact(x, SEEN[seen], TABLE[table], *LAWS[law])
        assert log_p[n] == pytest.approx(right[0], abs=1e-10)
        np.testing.assert_allclose(probs[n], right[1], atol=1e-10)
        np.testing.assert_allclose(sizes[n], right[2], atol=1e-10)
        assert np.isfinite(TABLE[table][sample[n].sum()])
    assert not errors.any()


@pytest.mark.parametrize("seen", ["all", "few"])
@pytest.mark.parametrize("table", ["interval", "a hole"])
def test_positive_strengths_have_their_orthants(table, seen):
    n_seeds = 40
    log_p, errors, probs, sizes, _ = found(SEEN[seen], TABLE[table], "positive", n_seeds)
    log_p, errors = log_p.reshape(n_seeds, 3), errors.reshape(n_seeds, 3)
    for n, x in enumerate(X):
        right = exact(x, SEEN[seen], TABLE[table], *LAWS["positive"])
        ratio = np.exp(log_p[:, n] - right[0])
        error = ratio.std() / np.sqrt(n_seeds) + 1e-4  # that of SciPy's integrals
        assert abs(ratio.mean() - 1.0) < 5 * error
        assert 0.4 < ratio.std() / errors[:, n].mean() < 2.5
        np.testing.assert_allclose(
            probs.reshape(n_seeds, 3, -1)[:, n].mean(axis=0), right[1], atol=0.01
        )
        np.testing.assert_allclose(
            sizes.reshape(n_seeds, 3, -1)[:, n].mean(axis=0), right[2], atol=0.02
        )


def test_sets_have_random_numbers_of_their_own():
    """Errors of their masses add up like those of independent draws."""
    sets = [np.flatnonzero(bits) for bits in np.ndindex((2,) * 8)]
    assert len({kernel._key(one) for one in sets}) == len(sets)


def test_the_positive_part_of_one_strength_is_exact():
    out, root = np.empty(1), np.empty((1, 1))
    for m, v in [(0.3, 0.5), (-2.0, 0.4), (9.0, 1.0)]:
        members = np.array([2])
        mass, error = kernel.positive_part(
            np.uint64(0), members, np.array([m]), np.array([[v]]), root, out
        )
        law = stats.truncnorm(-m / np.sqrt(v), np.inf, m, np.sqrt(v))
        assert mass == pytest.approx(log_ndtr(m / np.sqrt(v)), abs=1e-12)
        assert out[0] == pytest.approx(law.mean(), rel=1e-9)
        assert error == 0.0


@pytest.mark.parametrize(
    "law", ["around one", "signed", pytest.param("positive", marks=pytest.mark.jit)]
)
def test_annealing_agrees_with_enumeration(law):
    by_all = found(SEEN["most"], TABLE["interval"], law)
    annealed = found(SEEN["most"], TABLE["interval"], law, anneal=True)
    for n in range(3):
        # Both use the same numbers for the orthants of a set.
        assert abs(annealed[0][n] - by_all[0][n]) < 5 * annealed[1][n] + 0.02
        np.testing.assert_allclose(annealed[2][n], by_all[2][n], atol=0.25)
        np.testing.assert_allclose(annealed[3][n], by_all[3][n], atol=0.35)


def test_a_law_that_allows_nothing_else_is_passed_through():
    table = np.full(FEATURES + 1, -np.inf)
    table[0] = 0.0
    log_p, _, probs, sizes, sample = found(SEEN["all"], table, "signed")
    np.testing.assert_array_equal(log_p, 0.0)
    for one in (probs, sizes, sample):
        assert not one.any()


@pytest.mark.parametrize("law", LAWS)
def test_rows_are_scored_as_they_are(law):
    """With one strength the orthant is exact, with two it is an average of 64 draws."""
    rows = ROWS[[0, 1, 4, 3]]
    mu, tau, positive = LAWS[law]
    scores, means = np.empty(4), np.empty((4, FEATURES))
    seeds, data = np.zeros(4, np.uint64), np.tile(X[0], (4, 1))
    kernel.score_rows(
        seeds, data, np.ones(data.shape, bool), rows, *GIVEN, *LAWS[law], scores, means
    )
    for z, score, mean in zip(rows, scores, means, strict=True):
        a = A[z == 1]
        inverse = np.linalg.inv(a @ a.T + np.eye(len(a)) / tau**2)
        m = inverse @ (a @ X[0] + mu / tau**2)
        cov = np.eye(DIMS) + tau**2 * a.T @ a
        right = stats.multivariate_normal(mu * a.sum(axis=0), cov).logpdf(X[0])
        right -= stats.norm().logpdf(X[0]).sum()
        if positive and len(a):
            orthant = stats.multivariate_normal(-m, inverse).cdf(np.zeros(len(a)))
            right += np.log(orthant) - len(a) * log_ndtr(mu / tau)
        drawn = positive and len(a) > 1
        assert score == pytest.approx(right, abs=0.1 if drawn else 1e-9)
        assert (mean != 0).tolist() == (z == 1).tolist()
        assert not positive or (mean >= 0).all()
        assert positive or np.allclose(mean[z == 1], m)
