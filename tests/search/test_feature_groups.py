"""Which features go together."""

import numpy as np

from ribp.search import feature_groups as groups
from tests.helpers.search_cases import some_of

RNG = np.random.default_rng(8)
ROWS = some_of(RNG, 300, 6, 1, 4)


def test_features_are_the_same_in_any_order():
    assert groups.are_same(ROWS[:, [1, 0]], ROWS[:, :2])
    assert not groups.are_same(ROWS[:, [0, 0]], ROWS[:, :2])
    assert not groups.are_same(ROWS[:, :1], ROWS[:, :2])
    assert not groups.are_same(ROWS[:, :0], ROWS[:, :0])


def test_scores_of_pairs_are_those_of_definitions():
    f1, size = groups.pairwise_f1(ROWS, ROWS[:, :2]), groups.correlations(ROWS, ROWS[:, :2])
    assert f1.shape == size.shape == (6, 2)
    both = (ROWS[:, 3] & ROWS[:, 1]).sum()
    assert f1[3, 1] == 2 * both / (ROWS[:, 3].sum() + ROWS[:, 1].sum())
    np.testing.assert_allclose(size, np.abs(np.corrcoef(ROWS.T))[:, :2], rtol=1e-12)
    unused = np.zeros((300, 1), np.int8)
    assert groups.pairwise_f1(unused, unused) == groups.correlations(unused, unused) == 0


def test_what_is_lent_is_new_and_replaces_what_goes_with_it():
    mine, other = ROWS.copy(), ROWS.copy()
    mine[:, 0] |= mine[:, 1]  # stands for the first of the other
    mine[:, 5] = 0
    for seed in range(30):
        fresh, gone = groups.lent(np.random.default_rng(seed), mine, other)
        assert set(fresh) <= {0, 5}
        assert fresh.size > 0
        assert set(gone) <= {0}
    fresh, gone = groups.lent(RNG, ROWS, ROWS)
    assert fresh.size == gone.size == 0


def test_complements_sum_to_a_common_feature():
    means = RNG.normal(0, 3, (6, 40))
    means[5] = -means[0] - means[3]
    used = np.array([0, 1, 3, 4, 5])
    found = [groups.complements(RNG, means, 5, used) for _ in range(20)]
    assert sum(set(one) == {0, 3} for one in found) > 10
    assert groups.complements(RNG, np.eye(3), 0, np.arange(3)) == []


def test_a_feature_comes_with_those_it_is_a_combination_of():
    means = RNG.normal(0, 1, (8, 30))
    means[7] = means[0] - means[1]
    found = [set(groups.resembling(RNG, means, 3)) for _ in range(60)]
    assert {len(one) for one in found} == {3}
    assert sum(one == {0, 1, 7} for one in found) > 10
    assert len(groups.resembling(RNG, means[:2], 4)) == 2
