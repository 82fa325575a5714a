"""Scores of recovery against all ways to match features."""

from itertools import permutations

import numpy as np
import pytest

from ribp.testing.recovery import correlations, f1, feature_f1, n_recovered


def by_all_matchings(found, truth):
    """Return F1 of entries under the matching whose sum of F1 of pairs is largest."""
    if found.shape[1] < truth.shape[1]:
        found = np.pad(found, ((0, 0), (0, truth.shape[1] - found.shape[1])))
    best, scores = -1.0, None
    for order in permutations(range(found.shape[1]), truth.shape[1]):
        z = found[:, order]
        sizes = np.maximum(z.sum(axis=0) + truth.sum(axis=0), 1)
        each = 2 * (z * truth).sum(axis=0) / sizes
        if each.sum() > best + 1e-12:
            best, scores = each.sum(), each
            whole = 2 * (z * truth).sum() / max(found.sum() + truth.sum(), 1)
    return whole, scores


@pytest.mark.parametrize("seed", range(20))
def test_scores_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random((12, 3)) < 0.4).astype(int)
    found = (rng.random((12, int(rng.integers(1, 6)))) < 0.4).astype(int)
    whole, each = by_all_matchings(found, truth)
    assert feature_f1(found, truth).sum() == pytest.approx(each.sum())
    assert f1(found, truth) == pytest.approx(whole)


def test_what_is_found_in_another_order_is_found():
    rng = np.random.default_rng(0)
    truth = np.eye(5, dtype=int)[rng.integers(5, size=40)]
    assert f1(truth[:, ::-1], truth) == 1.0
    assert feature_f1(truth[:, [3, 1]], truth).tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert f1(np.zeros((40, 0)), truth) == 0.0
    assert f1(np.zeros((3, 2)), np.zeros((3, 2))) == 0.0


def test_components_are_alike_up_to_sign_and_scale():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(4, 30))
    found = np.vstack([-2.0 * truth[2] + 5.0, truth[0], np.ones(30)])
    assert n_recovered(found, truth) == 2
    expected = np.corrcoef(np.vstack([found[:2], truth]))[:2, 2:]
    np.testing.assert_allclose(correlations(found[:2], truth), expected)
    assert (correlations(found, truth)[2] == 0.0).all()
    assert n_recovered(np.zeros((0, 30)), truth) == 0
