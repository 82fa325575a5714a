"""Features of all draws in one order, whatever order they came in."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ribp.posterior.align import align, match
from ribp.posterior.modes import SAME_MODE, agreement, modes
from ribp.posterior.stored_draws import stored_draws
from ribp.recording import pack_rows, unpack_rows
from tests.helpers.trees import (
    FEATURES,
    ROWS,
    buffet_chains,
    log_joints,
    made_chains,
    merged,
    shuffled,
    swapped,
    tree_of,
    truth_of,
    two_modes,
)


def by_popularity(chains):
    """Return where each feature of unshuffled chains should end up."""
    rows = np.array([[state.rows for state in chain] for chain in chains])
    log_odds = np.array([[state.log_odds for state in chain] for chain in chains])
    return np.lexsort([-log_odds.mean(axis=(0, 1)), -rows.sum(axis=(0, 1, 2))])


def aligned(chains, model, values=None, **options):
    values = log_joints(chains) if values is None else values
    return align(stored_draws(tree_of(chains, model, values)), **options)


@given(rows=st.integers(1, 9), features=st.integers(1, 20), seed=st.integers(0, 99))
def test_packing_is_undone(rows, features, seed):
    z = np.random.default_rng(seed).integers(0, 2, (rows, features)).astype(np.int8)
    np.testing.assert_array_equal(unpack_rows(pack_rows(z), features), z)


def test_match_against_all_permutations():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 2, (8, 4)).astype(np.int8)
        p, a, r = rng.random((8, 4)), rng.standard_normal((4, 2)), rng.standard_normal((4, 2))
        each = np.array(
            [[np.minimum(x, y).sum() / max(np.maximum(x, y).sum(), 1e-9) for x in z.T] for y in p.T]
        )
        totals = [each[range(4), order].sum() for order in itertools.permutations(range(4))]
        found = each[range(4), match(z, a, p, r)].sum()
        assert found == pytest.approx(max(totals), rel=1e-12)


def test_ties_go_by_components_and_unused_features_take_what_is_left():
    z = np.array([[1, 1, 0, 0], [1, 1, 0, 0]], np.int8)
    components = np.array([[0.0, 1.0], [5.0, 0.0], [1.0, 1.0], [-3.0, 0.0]])
    order = [3, 1, 0, 2]
    found = match(z, components, z[:, order].astype(float), components[order] + 0.1)
    np.testing.assert_array_equal(found, [2, 1, 0, 3])


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_draws_are_put_in_order(seed):
    model, chains = made_chains(seed, truth_of(seed))
    places = by_popularity(chains)
    mixed = shuffled(chains, seed)
    found = aligned(mixed, model)
    for at, chain in enumerate(mixed):
        rows = np.array([s.rows[:, found.order[at, d]] for d, s in enumerate(chain)])
        expected = np.array([s.rows[:, places] for s in chains[at]])
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_allclose(found.activity[at], expected.mean(axis=0))
    assert (found.stability[:, :-1] == 1.0).all()
    assert (found.stability[:, -1] == 0.0).all()
    np.testing.assert_array_equal(found.in_use, [[1.0] * (FEATURES - 1) + [0.0]] * 2)


def test_unmatched_draws_would_be_blurred():
    """The broken twin: the order of the draws as it is."""
    model, chains = made_chains(0, truth_of(0))
    mixed = shuffled(chains)
    mean = np.mean([s.rows for chain in mixed for s in chain], axis=0)
    sharp = aligned(mixed, model).activity.mean(axis=0)
    assert agreement(sharp, aligned(chains, model).activity.mean(axis=0)) == 1.0
    assert agreement(mean, sharp) < 0.6


@pytest.mark.parametrize("seed", range(5))
def test_a_feature_that_the_best_draw_lacks_finds_a_place(seed):
    model, chains = buffet_chains(seed, truth_of(seed, unused=0))
    values = log_joints(chains)
    sizes = np.array([[s.log_odds.size for s in chain] for chain in chains])
    assert set(sizes.ravel()) == {FEATURES - 1, FEATURES}
    values[0, sizes[0].argmin()] = 1e3  # the best one has a feature less
    found = aligned(shuffled(chains, seed), model, values)
    assert (found.in_use > 0.8).all()
    np.testing.assert_allclose(found.stability, found.in_use)


def test_stability_is_the_share_of_draws_with_the_feature():
    truth = truth_of(1, unused=0)
    less = truth.copy()
    less[:, 0] = 0
    model, with_it = made_chains(1, truth, 1, 8, flips=0.0)
    _, without = made_chains(1, less, 1, 12, flips=0.0)
    found = aligned(shuffled([with_it[0] + without[0]]), model)
    np.testing.assert_array_equal(found.stability, [[1.0, 1.0, 1.0, 1.0, 0.4]])
    assert found.activity[0, :, -1].max() == pytest.approx(0.4)


def test_no_features_at_all():
    model, chains = made_chains(0, np.zeros((ROWS, FEATURES), np.int8))
    found = aligned(chains, model)
    assert not found.activity.any()
    assert not found.stability.any()
    assert agreement(*found.activity) == 1.0
    model, chains = buffet_chains(0, np.zeros((ROWS, 0), np.int8))
    assert aligned(chains, model).order.shape == (2, 20, 0)


# Modes


@pytest.mark.parametrize("change", [swapped, merged])
def test_another_mode_is_told_apart(change):
    first, second = modes(two_modes(change))
    assert first.chains == (2, 0)
    assert second.chains == (1,)
    assert first.agreement == 1.0
    assert second.agreement < SAME_MODE
    assert first.log_joint == pytest.approx(11.0, abs=0.5)
    assert second.log_joint == pytest.approx(3.0, abs=0.8)


@pytest.mark.parametrize("flips", [0.0, 0.05, 0.2, 0.5])
def test_chains_of_one_law_are_one_mode_however_diffuse(flips):
    model, chains = made_chains(3, truth_of(3), 4, 60, flips=flips)
    found = modes(tree_of(shuffled(chains), model, log_joints(chains)))
    assert len(found) == 1
    assert sorted(found[0].chains) == [0, 1, 2, 3]


def test_errors_of_rounding_do_not_say_which_chain_is_first():
    model, chains = made_chains(3, truth_of(3), 3, 20)
    level = np.full((3, 20), -2610.6270117)
    for error in (1e-9 * np.arange(3), -1e-9 * np.arange(3), 1e-3 * np.arange(3)):
        (found,) = modes(tree_of(chains, model, level + error[:, None]))
        assert found.chains == ((2, 1, 0) if error.max() > 1e-6 else (0, 1, 2))


def test_agreement_against_all_permutations():
    for seed in range(10):
        p, q = np.random.default_rng(seed).random((2, 6, 4))
        best = max(
            np.minimum(p, q[:, order]).sum() / np.maximum(p, q[:, order]).sum()
            for order in itertools.permutations(range(4))
        )
        assert agreement(p, q) == pytest.approx(best, rel=1e-12)


def test_one_draw_is_enough():
    model, chains = made_chains(0, truth_of(0), 2, 1, flips=0.0)
    assert len(modes(tree_of(chains, model, log_joints(chains)))) == 1
