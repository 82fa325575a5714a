"""How well features fit places: against sums of minima and maxima, and distances written out."""

import numpy as np

from ribp.kernels.overlap import add_closeness, fill_overlaps


def test_overlaps():
    rng = np.random.default_rng(0)
    rows = (rng.random((7, 4)) < 0.4).astype(np.int8)
    activity = rng.random((7, 3)) * (rng.random((7, 3)) < 0.6)
    rows[:, 1], activity[:, 2] = 0, 0.0  # nothing fits nothing by 0
    out = np.full((4, 3), np.nan)
    sizes = fill_overlaps(rows, activity, out)
    for i, z in enumerate(rows.T):
        for p, of_place in enumerate(activity.T):
            either = np.maximum(z, of_place).sum()
            expected = np.minimum(z, of_place).sum() / either if either else 0.0
            np.testing.assert_allclose(out[i, p], expected, rtol=1e-12)
    np.testing.assert_array_equal(sizes, rows.sum(axis=0))


def test_closeness():
    rng = np.random.default_rng(1)
    components, reference = rng.standard_normal((4, 5)), rng.standard_normal((3, 5))
    components[2] = np.nan  # features that do not exist are close to nothing
    reference[1] = np.nan
    before = rng.random((4, 3))
    out = before.copy()
    add_closeness(components, reference, 0.25, out)
    size = (reference[[0, 2]] ** 2).sum() / 3
    squares = ((components[:, None] - reference) ** 2).sum(axis=2)
    np.testing.assert_allclose(out - before, np.nan_to_num(0.25 / (1 + squares / size)), atol=1e-12)


def test_a_reference_without_components_has_a_unit():
    out = np.zeros((1, 1))
    add_closeness(np.array([[2.0]]), np.array([[0.0]]), 1.0, out)
    np.testing.assert_allclose(out, 0.2)
