"""Gamma laws that stand for the conditional of a strength: modes, curvatures, and integrals."""

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import strength_fits as kernel
from ribp.kernels.sweep_poisson import PositiveCounts

FEATURES, DIMS, SHAPE, EXPOSURE = 3, 3, 2.0, 1.4
A = np.random.default_rng(0).gamma(1.0, 2.0, (FEATURES, DIMS))
A[1] = 1.2 * A[0] + 0.2
OFFSETS = {
    "offset": np.array([0.3, 0.2, 0.4]),
    "hardly any": np.array([0.3, 1e-250, 0.4]),
    "none": np.zeros(DIMS),
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def at_hand(offset, x, features=A):
    """Return the counts of a row without features, and its rates."""
    at = np.flatnonzero(x > 0)
    loadings, totals = np.ascontiguousarray(features.T), EXPOSURE * features.sum(axis=1)
    return PositiveCounts(at, x[at], offset, loadings, totals), offset[at]


def fits_of(data, rates, first=0, last=None):
    last = data.loadings.shape[1] if last is None else last
    fits = np.full((6, data.loadings.shape[1]), np.nan)
    kernel.fill_fits(first, last, rates, data, SHAPE, fits)
    return fits


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("x", [[4.0, 0.0, 3.0], [1.0, 900.0, 0.0], [0.0, 0.0, 0.0]])
def test_fits_are_modes_with_their_curvature(offset, x):
    data, rates = at_hand(OFFSETS[offset], np.array(x))
    fits = fits_of(data, rates)
    for j in range(FEATURES):
        shape, rate = fits[kernel.SHAPE, j], fits[kernel.RATE, j]
        s = (shape - 1) / rate
        assert s == pytest.approx(fits[kernel.MODE, j])
        h, bend = 1e-4 * s, (shape - 1) / s**2
        below, top, above = (
            kernel.log_conditional(s + by, j, rates, data, SHAPE) for by in (-h, 0, h)
        )
        assert abs(above - below) / (2 * h) < 2e-4 * bend * s
        assert (2 * top - above - below) / h**2 == pytest.approx(bend, rel=1e-2)
        nodes = stats.gamma.ppf((NODES + 1) / 2, shape, scale=1 / rate)
        w = [kernel.log_excess(v, j, rates, data, SHAPE, fits) for v in nodes]
        assert np.exp(w) @ WEIGHTS / 2 == pytest.approx(1.0, abs=0.2)  # nearly the conditional
        if offset == "none":  # it is a gamma law: exactly
            np.testing.assert_allclose(w, 0.0, atol=1e-9)


def test_a_fit_does_not_depend_on_others_that_are_fit_beside_it():
    """Features that need from no step to many, in all ranges."""
    rng = np.random.default_rng(1)
    features = rng.gamma(0.3, 3.0, (19, 12)) * np.exp(rng.normal(0, 2, (19, 1)))
    data, rates = at_hand(np.full(12, 0.1), rng.poisson(30.0, 12).astype(float), features)
    together = fits_of(data, rates)
    for first, last in [(0, 1), (3, 4), (0, 5), (2, 13), (18, 19)]:
        found = fits_of(data, rates, first, last)
        np.testing.assert_array_equal(found[:2, first:last], together[:2, first:last])
        np.testing.assert_allclose(found[2, first:last], together[2, first:last], rtol=1e-14)
        assert np.isnan(np.delete(found, np.s_[first:last], axis=1)).all()


def test_features_that_could_not_make_a_count():
    features = A.copy()
    features[1, 0] = 0.0
    data, rates = at_hand(np.zeros(DIMS), np.array([4.0, 0.0, 3.0]), features)
    log_z = fits_of(data, rates)[kernel.LOG_Z]
    np.testing.assert_array_equal(np.isfinite(log_z), [True, False, True])
    assert log_z[1] == -np.inf
    assert kernel.log_conditional(1.0, 1, rates, data, SHAPE) == -np.inf
