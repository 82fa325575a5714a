"""Checks have the laws that they claim if the model is right, and fail where it is wrong."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from ribp.likelihoods.data import Data, complete, with_missing
from ribp.posterior.predictive_checks import (
    NOISE,
    _along,
    _check,
    _eigenvalues_of_noise,
    _far,
    _rows,
    _together,
    checks,
)
from ribp.posterior.residuals import CheckedColumns, checked_columns, residuals
from ribp.testing.goodness import holds, is_caught, replicates
from tests.helpers.trees import DIMS, MODELS, ROWS, in_units, pool

GAUSSIAN, POISSON = MODELS["shared noise, background"], MODELS["counts"]


# The law of the largest eigenvalue is fitted: small p-values are up to a quarter too frequent.
ABOVE = {"residuals together": 1.25}


def test_p_values_of_noise_are_not_too_small():
    """The lowest of each check times their number; a single one that is exact is uniform too.

    That of neighbouring rows is not: wide columns are scaled down before, so it is too large.
    """

    def p_values(n, seed, scale=1.0):
        rng = np.random.default_rng(seed)
        observed = rng.random((60, 8)) < 0.9
        at = CheckedColumns(np.zeros((60, 8)), observed, np.ones(8, bool))
        found = {name: [] for name in NOISE}
        for number in range(n):
            if number % 20 == 0:  # it has an error of its own
                noise = _eigenvalues_of_noise(rng, at)
            e = np.where(observed, scale * rng.standard_normal((60, 8)), 0.0)
            z = (rng.random((60, 4)) < 0.4).astype(np.int8)
            for name, one in _check(e, z, rng.normal(size=(4, 8)), at, noise).items():
                p = np.atleast_1d(one.p_value)
                found[name].append(p.size * p.min())
        low = {name: np.array(found[name]) for name in NOISE}
        return {
            f"{name} < {level}": stats.binom.sf(
                (low[name] < level).sum() - 1, n, ABOVE.get(name, 1.0) * level
            )
            for name in NOISE
            for level in (0.02, 0.1)
        } | {"spread by count": stats.kstest(low["spread by count"], "uniform").pvalue}

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, scale=1.2), 100)


def test_gaussian_residuals_are_in_units_of_the_noise():
    found, rng = pool(GAUSSIAN), np.random.default_rng(1)
    given = found.parameters[3]
    noise = rng.standard_normal((ROWS, DIMS))
    mean = found.unpacked(3) @ given.features + given.background
    data = complete(mean + given.noise_scale * noise)
    e = residuals(rng, found, 3, GAUSSIAN.likelihood, checked_columns(data))
    np.testing.assert_allclose(e, noise, atol=1e-9)


def test_residuals_of_counts_are_normal():
    found = pool(POISSON)

    def p_values(n, seed, scale=1.0):
        rng, e = np.random.default_rng(seed), []
        for s in np.arange(n) % len(found.parameters):
            values = POISSON.likelihood.draw_data(rng, found.unpacked(s), found.parameters[s])
            e.append(
                residuals(
                    rng, found, s, POISSON.likelihood, checked_columns(complete(values))
                ).ravel()
            )
        return [stats.kstest(scale * np.concatenate(e), "norm").pvalue]

    assert holds(p_values, replicates(20))
    assert is_caught(partial(p_values, scale=1.3), 20)
    far = complete(np.where(np.arange(DIMS) < 1, 10_000.0, np.ones((ROWS, DIMS))))
    far.values[0] += 1.0
    rng = np.random.default_rng(1)
    assert np.isfinite(residuals(rng, found, 0, POISSON.likelihood, checked_columns(far))).all()


CHANGES = {
    "column mean": lambda e, z, a, n: e + 0.5 * (np.arange(e.shape[1]) == 1),
    "column spread": lambda e, z, a, n: e * (1.0 + (np.arange(e.shape[1]) == 1)),
    "largest entry": lambda e, z, a, n: e + 8.0 * (np.arange(e.size).reshape(e.shape) == 77),
    "entries beyond 3": lambda e, z, a, n: e * (1.0 + 1.5 * (n.random(e.shape) < 0.1)),
    "largest row": lambda e, z, a, n: e * (1.0 + 2.0 * (np.arange(len(e)) == 5))[:, None],
    "residuals together": lambda e, z, a, n: e + np.outer(n.normal(size=len(e)), n.normal(size=8)),
    "neighbouring rows": lambda e, z, a, n: e + np.repeat([-0.5, 0.5], 80)[:, None],
    "mean by count": lambda e, z, a, n: e + 0.6 * (z.sum(axis=1) == 2)[:, None],
    "spread by count": lambda e, z, a, n: e * (0.5 + 0.4 * z.sum(axis=1))[:, None],
    "strength of features": lambda e, z, a, n: e + np.outer(z[:, 2] * n.normal(size=len(e)), a[2]),
    "features left out": lambda e, z, a, n: e + np.outer(z[:, 2] < n.random(160) - 0.6, a[2]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_every_check_catches_its_fault(name):
    rng = np.random.default_rng(2)
    e, z, a = rng.normal(size=(160, 8)), rng.random((160, 4)) < 0.4, rng.normal(size=(4, 8))
    z = z.astype(np.int8)
    at = CheckedColumns(np.zeros(e.shape), np.ones(e.shape, bool), np.ones(8, bool))
    found = _check(CHANGES[name](e, z, a, rng), z, a, at, _eigenvalues_of_noise(rng, at))[name]
    p = np.atleast_1d(found.p_value)
    assert p.size * p.min() < 0.001
    if p.size > 1:
        assert p.argmin() == (1 if name.startswith("column") else 2)


def test_sizes_are_what_they_are_called():
    rng = np.random.default_rng(4)
    e, count = rng.normal(size=(160, 8)), rng.integers(1, 4, 160)
    e[3] *= 2.0
    squares = (e**2).sum(axis=1)
    scores = stats.norm.ppf(stats.chi2.cdf(squares, 8))
    largest, slope = _rows(e, np.ones(e.shape, bool), count)
    assert largest.size == pytest.approx(squares.max() / stats.chi2.isf(1 / 160, 8))
    assert largest.p_value == pytest.approx(160 * stats.chi2.sf(squares.max(), 8))
    correlation = np.corrcoef(count, scores)[0, 1]
    assert slope.size == pytest.approx(correlation)
    around = scores @ (count - count.mean()) / (count.std() * np.sqrt(160))
    assert slope.p_value == pytest.approx(2 * stats.norm.sf(abs(around)))
    assert _far(np.zeros((4, 2)), 8) == ((1.0, 0.0), (1.0, 0.0))
    assert _far(np.array([[3.5, 0.0], [-4.0, 1.0]]), 4)[1].size == 0.5
    nobody = np.zeros((160, 1), np.int8)
    for check in _along(e, nobody, rng.normal(size=(1, 8)), np.ones(e.shape, bool)):
        assert check.p_value == 1.0


@pytest.mark.parametrize("p", [0.3, 0.05])
def test_an_eigenvalue_is_judged_by_a_sample_of_noise(p):
    """A value that a 61st of 60 exceeds so often: by Student's law, nearly, which is not skew."""
    e = np.random.default_rng(4).normal(size=(160, 8))
    value = np.linalg.eigvalsh(e.T @ e)[-1] / 160
    away = stats.t(59).isf(p) * 0.02 * np.sqrt(1 + 1 / 60)
    found = _together(e, value - away, 0.02)
    like = stats.gamma(46.446)  # its skewness; mean and variance are both its shape
    assert found.p_value == pytest.approx(like.sf(46.446 + stats.norm.isf(p) * np.sqrt(46.446)))
    assert found.size == pytest.approx(value / (value - away))


def test_data_of_the_model_pass_and_others_fail():
    found, rng = pool(GAUSSIAN, n_draws=40), np.random.default_rng(0)
    given = found.parameters[0]
    same = found._replace(parameters=[given] * 80, rows=np.repeat(found.rows[:1], 80, axis=0))
    values = GAUSSIAN.likelihood.draw_data(rng, same.unpacked(0), given)
    values[2, 1] = np.nan
    right = checks(rng, same, GAUSSIAN.likelihood, with_missing(values))
    assert min(one.p_value for one in right.worst.values()) > 0.05
    wrong = checks(rng, same, GAUSSIAN.likelihood, with_missing(values + 9.0))
    assert wrong.worst["column mean"].p_value < 1e-6
    text = str(wrong)
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) == 2 + len(NOISE)


@pytest.mark.parametrize("model", [GAUSSIAN, POISSON], ids=["gaussian", "poisson"])
def test_little_to_look_at(model):
    """Nothing observed, constant columns, hardly a row: no check complains or breaks."""
    found, rng = pool(model, n_draws=3), np.random.default_rng(0)
    observed = np.ones((ROWS, DIMS), bool)
    observed[:, 0] = observed[4] = False
    empty = Data(np.zeros((ROWS, DIMS)), np.zeros((ROWS, DIMS), bool))
    for data in (Data(np.ones((ROWS, DIMS)) * observed, observed), empty):
        worst = checks(rng, found, model.likelihood, data).worst
        assert all(one.p_value == 1.0 for one in worst.values())
    few = found._replace(rows=found.rows[:, :1])
    one_row = checks(rng, few, model.likelihood, complete(np.ones((1, DIMS)))).worst
    assert all(one.p_value == 1.0 for one in one_row.values())


def test_units_do_not_matter():
    found, rng = pool(MODELS["noise per column"]), np.random.default_rng(3)
    likelihood = MODELS["noise per column"].likelihood
    values = likelihood.draw_data(rng, found.unpacked(0), found.parameters[0])
    plain = checks(np.random.default_rng(0), found, likelihood, complete(values))
    units = 2.0 ** np.array([-90, 3, 60])[:DIMS]
    scaled = in_units(found, units)
    other = checks(np.random.default_rng(0), scaled, likelihood, complete(values * units))
    for name, p in plain.p_values.items():
        np.testing.assert_array_equal(other.p_values[name], p)
        np.testing.assert_array_equal(other.sizes[name], plain.sizes[name])
    shifted = found._replace(
        parameters=[p._replace(background=p.background + 300.0) for p in found.parameters]
    )
    other = checks(np.random.default_rng(0), shifted, likelihood, complete(values + 300.0))
    for name, p in plain.p_values.items():
        np.testing.assert_allclose(other.p_values[name], p, rtol=1e-6, atol=1e-12)


def test_rows_of_which_nothing_is_left_have_finite_checks():
    e = np.random.default_rng(0).normal(size=(8, 3))
    e[2] = 0.0
    for check in _rows(e, np.ones(e.shape, bool), np.arange(8) % 3):
        assert np.isfinite(check).all()
