"""The steps for finite weights as the paper prints them differ from the right law."""

import numpy as np
import pytest

import ribp
from experiments.printed import rows as printed
from ribp import counts
from ribp.testing import exact
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.printed_cases import CODE, LAW, THETA


def check(sampler, wanted, law=LAW, kind="mixture"):
    """Return a check that sampler(rng, THETA, wanted, n) draws rows from a law."""

    def p_values(n, seed):
        seen = sampler(np.random.default_rng(seed), THETA, wanted, n) @ CODE
        probs = exact.row_probs(THETA, law, kind)
        return [frequencies_p_value(np.bincount(seen, minlength=32), probs)]

    return p_values


def test_thinning_is_the_tilted_law_and_right_only_for_a_point_mass():
    assert holds(check(printed.thinned_coins, LAW, kind="tilted"), replicates(20_000))
    assert is_caught(check(printed.thinned_coins, LAW), 20_000)
    two = counts.exactly(2)
    assert holds(check(printed.thinned_coins, two, two), replicates(20_000))


def test_marginal_draws_miss_the_count():
    rows = printed.marginal_draws(np.random.default_rng(0), THETA, 2, 2000)
    assert (rows.sum(axis=1) == 2).mean() < 0.5
    assert is_caught(check(printed.marginal_draws, 2, counts.exactly(2)), 2000)


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
    def right(rng, theta, law, n):
        return ribp.RestrictedBernoulli(theta, law).sample(rng, n)

    assert holds(check(right, LAW), replicates(20_000))
