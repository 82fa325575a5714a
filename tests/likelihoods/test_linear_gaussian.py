"""Linear-Gaussian data: marginal likelihood and conditionals against dense formulas."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete, in_use, with_missing
from ribp.likelihoods.linear_gaussian import GaussianParameters
from ribp.likelihoods.row_sweeps import gaussian_sums
from ribp.testing.goodness import holds, is_caught, replicates
from tests.helpers.normal_law import normal_p_values, whitened

RNG = np.random.default_rng(3)
N, FEATURES, D = 7, 3, 4
ROWS = RNG.integers(0, 2, (N, FEATURES)).astype(np.int8)
ROWS[:, 2] = 0  # a feature that nobody has
ROWS[0, 0] = ROWS[1, 1] = 1
NOISE = np.array([0.5, 1.0, 2.0, 0.8])
X = RNG.normal(0, 2, (N, D))
HOLES = X.copy()
HOLES[RNG.random((N, D)) < 0.3] = np.nan
HOLES[:6, 3] = np.nan
HOLES[2] = np.nan
HOLES[:, 1] = np.nan  # a column and a row without anything


def parameters(likelihood, feature_scale=1.3):
    noise = np.full(D, 0.7) if likelihood.shared else NOISE
    return GaussianParameters(np.zeros((FEATURES, D)), np.zeros(D), noise, feature_scale)


def dense_log_marginal(likelihood, values, given):
    """Return the sum of the log densities of each column's observed entries."""
    rows = likelihood.with_background(ROWS).astype(float)
    total = 0.0
    for d in range(D):
        seen = ~np.isnan(values[:, d])
        if seen.any():
            spread = given.feature_scale * (1.0 if likelihood.shared else given.noise_scale[d])
            covariance = given.noise_scale[d] ** 2 * np.eye(seen.sum())
            wide = rows[seen] * likelihood.widths(rows.shape[1])
            covariance += spread**2 * wide @ wide.T
            total += stats.multivariate_normal(np.zeros(seen.sum()), covariance).logpdf(
                values[seen, d]
            )
    return total


@pytest.mark.parametrize("values", [X, HOLES])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_marginal_likelihood_is_the_dense_one(shared, background, values):
    likelihood = LinearGaussian(shared=shared, background=background)
    given = parameters(likelihood)
    found = likelihood.log_marginal(with_missing(values), ROWS, given)
    assert found == pytest.approx(dense_log_marginal(likelihood, values, given), abs=1e-9)


@pytest.mark.parametrize("values", [X, HOLES])
@pytest.mark.parametrize("background", [False, True])
def test_known_features_are_subtracted(background, values):
    known = np.random.default_rng(4).normal(size=(2, D))
    likelihood = LinearGaussian(background=background, known=tuple(map(tuple, known.tolist())))
    given, free = parameters(likelihood), ROWS.copy()
    free[:, :2] = 0
    plain = LinearGaussian(background=background)
    less = with_missing(values - ROWS[:, :2] @ known)
    assert likelihood.log_marginal(with_missing(values), ROWS, given) == pytest.approx(
        plain.log_marginal(less, free, given), abs=1e-9
    )
    drawn = likelihood.update(np.random.default_rng(0), with_missing(values), ROWS, given)
    np.testing.assert_array_equal(drawn.features[:2], known)
    same = plain.update(np.random.default_rng(0), less, free, given)
    np.testing.assert_allclose(drawn.noise_scale, same.noise_scale)
    np.testing.assert_allclose(drawn.features[2:], same.features[2:])


@pytest.mark.parametrize("values", [X, HOLES])
@pytest.mark.parametrize("background", [False, True])
def test_features_have_their_posterior(background, values):
    """Means and variances of drawn features are those of ridge regression, column by column."""
    likelihood = LinearGaussian(background=background, noise_scale=0.9, feature_scale=1.3)
    given = parameters(likelihood)._replace(noise_scale=np.full(D, 0.9))
    data, rows = with_missing(values), likelihood.with_background(ROWS).astype(float)
    laws = []
    for d in range(D):
        seen = ~np.isnan(values[:, d])
        prior = (1.3 * 0.9 * likelihood.widths(rows.shape[1])) ** -2
        precision = rows[seen].T @ rows[seen] / 0.9**2 + np.diag(prior)
        mean = np.linalg.solve(precision, rows[seen].T @ values[seen, d]) / 0.9**2
        laws.append((mean, np.linalg.inv(precision)))

    def p_values(n, seed, shift=0.0, scale=1.0):
        rng = np.random.default_rng(seed)
        found = [likelihood.update(rng, data, ROWS, given) for _ in range(n)]
        draws = np.array([np.vstack([one.features, one.background]) for one in found])
        z = [whitened(draws[:, : rows.shape[1], d], *law) for d, law in enumerate(laws)]
        return normal_p_values(scale * np.hstack(z) + shift)

    assert holds(p_values, replicates(4000))
    assert is_caught(partial(p_values, shift=0.2), 400)
    assert is_caught(partial(p_values, scale=1.1), 400)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("values", [X, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("shared", [False, True])
def test_sums_from_a_sweep_change_nothing(shared, values, background):
    likelihood = LinearGaussian(shared=shared, background=background)
    given = likelihood.draw_prior(np.random.default_rng(1), FEATURES, D)
    data = with_missing(values)
    swept = gaussian_sums(*data[:2], ROWS, background)
    sums = likelihood.swept_sums(swept, in_use(ROWS), None)
    first = likelihood.update(np.random.default_rng(2), data, ROWS, given)
    second = likelihood.draw(np.random.default_rng(2), given, sums)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    weight = likelihood.log_joint(data, ROWS, first)
    assert likelihood.log_weight(first, sums) == pytest.approx(weight, rel=1e-12)


def test_fixed_scales_stay():
    likelihood = LinearGaussian(shared=True, noise_scale=0.5, feature_scale=2.0)
    rng = np.random.default_rng(0)
    given = likelihood.draw_prior(rng, FEATURES, D)
    fresh = likelihood.update(rng, with_missing(HOLES), ROWS, given)
    guess = likelihood.first_guess(complete(X), FEATURES)
    for found in (given, fresh, guess):
        assert (found.noise_scale == 0.5).all()
        assert found.feature_scale == 2.0
    assert likelihood.relative_scale(given) == 4.0


@pytest.mark.parametrize("shared", [False, True])
def test_log_joint_is_a_density_of_the_scales(shared):
    """p(X, scales | Z) integrates to p(X | Z): here with no rows at all, so to one."""
    likelihood = LinearGaussian(shared=shared, noise_variance=0.7, feature_variance=1.9)
    none = complete(np.zeros((0, 1)))
    grid = np.linspace(-4, 4, 160)
    values = [
        [
            likelihood.log_joint(
                none,
                np.zeros((0, 2), np.int8),
                GaussianParameters(
                    np.zeros((2, 1)), np.zeros(1), np.array([math.exp(a)]), math.exp(b)
                ),
            )
            for a in grid
        ]
        for b in grid[::4]
    ]
    steps = (grid[1] - grid[0]) ** 2 * 4
    assert np.exp(values).sum() * steps == pytest.approx(1.0, abs=1e-3)


def test_the_spread_of_what_does_not_vary():
    flat = complete(np.full((5, 2), 700.0))
    assert LinearGaussian(background=True).spread(flat) == 1.0
    assert LinearGaussian(background=False).spread(flat) == 700.0
    far = complete(700.0 + np.arange(10.0).reshape(5, 2) / 10)
    assert LinearGaussian(background=False).spread(far) == pytest.approx(7.0, rel=1e-2)
    assert LinearGaussian(background=True).spread(complete(np.full((5, 2), 1e-16))) == 1.0


def test_a_precision_that_is_not_positive_definite_is_an_error():
    likelihood = LinearGaussian()
    given = likelihood.draw_prior(np.random.default_rng(0), FEATURES, D)
    sums = likelihood.data_sums(with_missing(X), ROWS)
    wrong = sums._replace(pairs=-sums.pairs)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        likelihood.draw(np.random.default_rng(0), given, wrong)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        likelihood.log_weight(given, wrong)


def test_the_first_guess_has_the_size_of_the_data():
    values = 10.0 * np.random.default_rng(0).normal(size=(30, 2))
    guess = LinearGaussian().first_guess(complete(values), 3)
    np.testing.assert_allclose(guess.noise_scale, 0.2 * values.std())


def test_enormous_entries_of_rows_that_are_not_seen_take_nothing_from_the_others():
    """As multiplicities without a mean may be: sums of all less those of the unseen would be 0."""
    rows = np.array([[1e12, 5e11], [3.0, 2.0], [0.0, 4.0]])
    observed = np.array([[False, False], [True, True], [True, False]])
    data = Data(np.where(observed, 1.5, 0.0), observed)
    likelihood = LinearGaussian()
    swept = gaussian_sums(*data[:2], rows)
    both = likelihood.data_sums(data, rows), likelihood.swept_sums(swept, np.ones(2, bool), None)
    for sums in both:
        for d, seen in enumerate(observed.T):
            np.testing.assert_allclose(sums.pairs[d], rows[seen].T @ rows[seen])
