"""The steps for finite weights as the paper prints them differ from the right law."""

import numpy as np
import pytest

import ribp
from ribp import counts
from ribp.paper import rows as printed
from ribp.testing import exact
from ribp.testing.goodness import agrees, frequencies_p_value
from tests.helpers.printed_cases import CODE, LAW, THETA


def p_value(rows, law=LAW, kind="mixture"):
    seen = np.bincount(rows @ CODE, minlength=32)
    return frequencies_p_value(seen, exact.row_probs(THETA, law, kind))


def test_thinning_is_the_tilted_law_and_right_only_for_a_point_mass():
    rng = np.random.default_rng(0)
    rows = printed.thinned_coins(rng, THETA, LAW, 20_000)
    assert agrees(p_value(rows, kind="tilted"))
    assert not agrees(p_value(rows))
    two = counts.exactly(2)
    assert agrees(p_value(printed.thinned_coins(rng, THETA, two, 20_000), two))


def test_marginal_draws_miss_the_count():
    rows = printed.marginal_draws(np.random.default_rng(0), THETA, 2, 20_000)
    assert (rows.sum(axis=1) == 2).mean() < 0.5
    assert not agrees(p_value(rows, counts.exactly(2)))


@pytest.mark.parametrize("feature", [0, 3])
def test_printed_flip_does_not_keep_the_law(feature):
    law = exact.row_probs(THETA, LAW)
    matrix = printed.flip_matrix(THETA, LAW, feature)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    assert np.abs(law @ matrix - law).sum() > 0.02


def test_printed_flip_where_neither_count_is_allowed():
    matrix = printed.flip_matrix(THETA, counts.exactly(5), 0)
    assert matrix[0, 0] == 1.0


def test_the_right_law_for_comparison():
    rows = ribp.RestrictedBernoulli(THETA, LAW).sample(np.random.default_rng(0), 20_000)
    assert agrees(p_value(rows))
