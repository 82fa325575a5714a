"""Sums over missing entries are those of the array formula."""

import numpy as np
import pytest

from ribp.kernels.missing import (
    add_missing_pairs,
    add_to_missing,
    fill_missing,
    subtract_missing,
    sum_observed,
)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("factor", [-1.0, 0.5])
def test_missing_pairs_are_added(share, factor):
    rng = np.random.default_rng(0)
    rows = (rng.random((6, 4)) < 0.5).astype(np.int8)
    rows[2] = 0
    observed = rng.random((6, 3)) >= share
    start = rng.normal(size=(3, 4, 4))
    found = start.copy()
    add_missing_pairs(observed, rows, factor, found)
    change = factor * np.einsum("nd,ni,nj->dij", ~observed, rows, rows)
    np.testing.assert_allclose(found, start + change, atol=1e-12)
    assert np.any(found != start) == (share > 0)


def case():
    rng = np.random.default_rng(0)
    observed = rng.random((6, 4)) < 0.6
    observed[2] = True
    return rng, observed


def test_sums_of_what_is_observed():
    rng, observed = case()
    terms, out = rng.normal(size=(6, 4)), np.empty(6)
    terms[1] = [1.0, 1e-16, 1e-16, 1e-16]
    terms[2, 1] = -np.inf
    observed[1] = True
    sum_observed(terms, observed, out)
    assert out[1] == 1.0 + np.spacing(1.0)  # of numbers that are lost one by one
    assert out[2] == -np.inf
    rest = [0, 3, 4, 5]
    np.testing.assert_allclose(out[rest], np.where(observed, terms, 0)[rest].sum(axis=1))


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


def test_missing_entries_are_filled():
    rng, observed = case()
    values, rows = rng.normal(size=(6, 4)), (rng.random((6, 3)) < 0.5).astype(np.int8)
    features, background, noise = rng.normal(size=(3, 4)), rng.normal(size=4), 1 + rng.random(4)
    normals, out = rng.normal(size=(~observed).sum()), np.empty((6, 4))
    fill_missing(values, observed, rows, features, background, noise, normals, out)
    expected = np.where(observed, values, rows @ features + background) / noise
    expected[~observed] += normals
    np.testing.assert_allclose(out, expected, rtol=1e-12)
