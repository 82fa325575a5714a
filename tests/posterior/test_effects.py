"""What a feature changes: probabilities of events with it and without, in the rows that have it."""

import numpy as np

from ribp.likelihoods import NoisyOr, PoissonParameters
from ribp.posterior.draws import Draws
from ribp.posterior.effects import effects
from ribp.recording import pack_rows


def test_a_feature_raises_the_probabilities_of_rows_that_have_it_or_could():
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]], np.int8)
    features = np.array([[0.7, 0.0], [0.2, 1.5], [3.0, 3.0]])
    background = np.array([0.1, 0.3])
    draws = Draws(
        [PoissonParameters(features, background, 1.0)] * 2, np.zeros((2, 3)),
        np.zeros((2, 1, 4)), np.repeat(pack_rows(rows)[None], 2, axis=0),
        np.zeros(2, int), np.arange(2),
    )  # fmt: skip
    np.testing.assert_array_equal(draws.unpacked(0), rows)
    found, unused = effects(draws, NoisyOr(), np.array([0, 2]))
    present = -np.expm1(-(background + rows[:2] @ features)).mean(axis=0)
    without = -np.expm1(-(background + rows[:2, 1:] @ features[1:])).mean(axis=0)
    np.testing.assert_allclose(found.present, [present] * 2)
    np.testing.assert_allclose(found.without, [without] * 2)
    np.testing.assert_allclose(found.change, [present - without] * 2)
    nobody = -np.expm1(-(background + rows @ features)).mean(axis=0)
    everybody = -np.expm1(-(background + rows @ features + features[2])).mean(axis=0)
    np.testing.assert_allclose(unused.change, [everybody - nobody] * 2)
