"""Gaussian posteriors of features in kernels are those of the array formulas."""

import math

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import gaussian_posterior as kernel

FEATURES, DIMS = 4, 3
each_layout = pytest.mark.parametrize("groups", [1, DIMS])


class Case:
    def __init__(self, groups):
        rng = np.random.default_rng(0)
        z = (rng.random((groups, 9, FEATURES)) < 0.5).astype(float)
        self.pairs = z.transpose(0, 2, 1) @ z
        self.products = rng.normal(size=(FEATURES, DIMS))
        self.squares = 30.0 + rng.random(DIMS)
        self.number = np.array([9.0, 8.0, 7.0])
        self.deviations, self.noise = 0.5 + rng.random(FEATURES), 0.5 + rng.random(DIMS)
        self.normals = rng.normal(size=(FEATURES, DIMS))
        self.of_column = [self.pairs[d if groups > 1 else 0] for d in range(DIMS)]
        self.roots = [
            np.linalg.cholesky(one + np.diag(self.deviations**-2)) for one in self.of_column
        ]
        self.scaled = (self.products / self.noise).T

    @property
    def posterior(self):
        return self.pairs, self.products, self.deviations, self.noise


@each_layout
def test_roots_and_halves(groups):
    case = Case(groups)
    root, half, log_det = kernel.posterior(*case.posterior)
    np.testing.assert_allclose(root, case.roots[: len(root)], rtol=1e-12)
    expected = [np.linalg.solve(r, x) for r, x in zip(case.roots, case.scaled, strict=True)]
    np.testing.assert_allclose(half, np.transpose(expected), rtol=1e-10)
    assert log_det == pytest.approx(sum(np.log(np.diag(r)).sum() for r in case.roots))


@each_layout
def test_draws(groups):
    case = Case(groups)
    found, log_det = kernel.draw_features(*case.posterior, case.normals)
    assert log_det == kernel.posterior(*case.posterior)[2]
    expected = [
        s * np.linalg.solve(r.T, np.linalg.solve(r, x) + xi)
        for s, r, x, xi in zip(case.noise, case.roots, case.scaled, case.normals.T, strict=True)
    ]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-10)


@each_layout
def test_marginal(groups):
    case = Case(groups)
    expected = 0.0
    for d, (root, x) in enumerate(zip(case.roots, case.scaled, strict=True)):
        half = np.linalg.solve(root, x)
        left = case.squares[d] / case.noise[d] ** 2 - half @ half
        expected -= 0.5 * left + np.log(np.diag(root) * case.deviations).sum()
        expected -= case.number[d] * (math.log(case.noise[d]) + 0.5 * math.log(2 * math.pi))
    given = case.pairs, case.products, case.squares, case.number, case.deviations, case.noise
    assert kernel.log_marginal(*given)[0] == pytest.approx(expected, rel=1e-12)


@each_layout
def test_sums_for_scales(groups):
    case = Case(groups)
    widths = np.array([1.0, 1.0, 1.0, 10.0])
    features = case.normals
    left, sizes = kernel.scale_sums(case.pairs, case.products, case.squares, features, widths)
    expected = case.squares.copy()
    for d, a in enumerate(features.T):
        expected[d] += a @ case.of_column[d] @ a - 2 * a @ case.products[:, d]
    np.testing.assert_allclose(left, np.maximum(expected, 0.0), rtol=1e-10)
    np.testing.assert_allclose(sizes, ((features / widths[:, None]) ** 2).sum(axis=0), rtol=1e-12)
    none, _ = kernel.scale_sums(
        case.pairs, 1e3 + case.products, 0 * sizes, 0 * features + 1, widths
    )
    np.testing.assert_array_equal(none, 0.0)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("learned", [(False, False), (True, False), (False, True), (True, True)])
def test_scales(shared, learned):
    rng = np.random.default_rng(2)
    left, sizes, noise = 1.0 + rng.random((3, DIMS))
    gammas = 1.0 + rng.random(1 if shared else DIMS) if learned[0] else np.empty(0)
    size_gamma = 1.7 if learned[1] else 0.0
    found, scale = kernel.draw_scales(
        left, sizes, noise, 0.8, shared, (0.3, 0.4), gammas, size_gamma
    )
    expected, expected_scale = noise, 0.8
    if learned[0]:
        total = 0.3 + (left.sum() if shared else left + sizes / 0.8**2)
        expected = np.full(DIMS, np.sqrt(0.5 * total / gammas))
    if learned[1]:
        size = (sizes if shared else sizes / expected**2).sum()
        expected_scale = math.sqrt(0.5 * (0.4 + size) / 1.7)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert scale == pytest.approx(expected_scale, rel=1e-12)


@each_layout
@pytest.mark.parametrize("shared", [False, True])
def test_all_parameters(groups, shared):
    case, rng = Case(groups), np.random.default_rng(3)
    widths, noise, scale = np.array([1.0, 1.0, 1.0, 10.0]), case.noise, 1.3
    noise = np.full(DIMS, 0.7) if shared else noise
    free = np.array([True, False, True, True, False])  # the fourth that is drawn is a background
    gammas, spare = 5.0 + rng.random(1 if shared else DIMS), rng.standard_normal((2, DIMS))
    features, drawn, fresh, size, log_det = kernel.draw_parameters(
        case.pairs, case.products, case.squares, free, widths, noise, scale, shared, (1.0, 1.0),
        case.normals, gammas, 6.0, spare,
    )  # fmt: skip
    deviations = widths * (scale / 0.7 if shared else scale)
    expected, expected_det = kernel.draw_features(
        case.pairs, case.products, deviations, noise, case.normals
    )
    sums = kernel.scale_sums(case.pairs, case.products, case.squares, expected, widths)
    scales = kernel.draw_scales(*sums, noise, scale, shared, (1.0, 1.0), gammas, 6.0)
    np.testing.assert_allclose(drawn, expected, rtol=1e-12)
    np.testing.assert_allclose(fresh, scales[0], rtol=1e-12)
    assert (size, log_det) == (pytest.approx(scales[1]), pytest.approx(expected_det))
    np.testing.assert_allclose(features[free], expected[:3], rtol=1e-12)
    spread = size if shared else size * fresh
    np.testing.assert_allclose(features[~free], spread * spare, rtol=1e-12)


def test_enormous_entries_leave_the_precision_of_the_prior():
    """Two features alike in all rows, of entries whose squares drown it."""
    z = np.array([[1e9, 1e9, 0.0], [3e9, 3e9, 1.0], [7e8, 7e8, 0.0]])
    root, precision = np.zeros((3, 3)), np.array([0.3, 0.2, 0.1])
    assert kernel.factorise(z.T @ z, precision, root)
    assert root[1, 1] ** 2 == pytest.approx(0.2)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(z.T @ z + np.diag(precision))


@each_layout
def test_what_is_not_positive_definite_is_not_a_number(groups):
    case = Case(groups)
    case.pairs[-1, 2, 2] = -50.0
    assert math.isnan(kernel.posterior(*case.posterior)[2])
    assert math.isnan(kernel.draw_features(*case.posterior, case.normals)[1])
    given = case.squares, case.number, case.deviations, case.noise
    assert math.isnan(kernel.log_marginal(case.pairs, case.products, *given)[1])


@pytest.mark.parametrize("background", [False, True])
def test_sums_over_rows(background):
    rng = np.random.default_rng(1)
    rows = (rng.random((7, 5)) < 0.4).astype(np.int8)
    rows[:, 2] = 0
    values = rng.normal(size=(7, DIMS))
    used, z, pairs, products, squares = kernel.data_sums(values, rows, background)
    np.testing.assert_array_equal(used, rows.any(axis=0))
    expected = np.hstack([rows[:, used], np.ones((7, int(background)), np.int8)])
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_allclose(pairs, [expected.T @ expected])
    np.testing.assert_allclose(products, expected.T @ values, atol=1e-14)
    np.testing.assert_allclose(squares, (values**2).sum(axis=0))


def test_inverse_gamma():
    scales = np.array([0.3, 1.0, 7.0])
    expected = stats.invgamma.logpdf(scales**2, 2, scale=0.8 / 2) + np.log(2 * scales**2)
    assert kernel.log_inverse_gamma(scales, 0.8) == pytest.approx(expected.sum(), rel=1e-12)
