"""Sums over missing columns against the NumPy line they equal."""

import numpy as np

from ribp.kernels.missing_columns import add_to_missing, subtract_missing


def case():
    rng = np.random.default_rng(0)
    observed = rng.random((6, 4)) < 0.6
    observed[2] = True
    return rng, observed


def test_what_is_left_of_a_row():
    rng, observed = case()
    each, out = rng.normal(size=(4, 5)), np.empty((6, 5))
    whole = each.sum(axis=0)
    subtract_missing(whole, each, observed, out)
    np.testing.assert_allclose(out, observed @ each, atol=1e-14)
    np.testing.assert_array_equal(out[2], whole)


def test_what_is_missing_of_a_column():
    rng, observed = case()
    own, weights, out = rng.normal(size=(6, 5)), rng.random(6), np.ones((4, 5))
    add_to_missing(own, weights, observed, out)
    expected = 1.0 + (~observed * weights[:, None]).T @ own
    np.testing.assert_allclose(out, expected, atol=1e-14)
