"""A result at a glance."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from ribp import counts
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.model import Model
from ribp.posterior import summary as module
from ribp.posterior.align import align
from ribp.posterior.feature_spread import values_of
from ribp.posterior.modes import modes
from ribp.posterior.stored_draws import stored_draws
from ribp.posterior.summary import coactivation, summary
from tests.helpers.trees import (
    DIMS,
    FEATURES,
    ROWS,
    buffet_chains,
    log_joints,
    made_chains,
    merged,
    shuffled,
    tree_of,
    truth_of,
    two_modes,
)


def test_features_are_described():
    model, chains = made_chains(0, truth_of(0, unused=2))
    found = summary(tree_of(shuffled(chains), model, log_joints(chains)))
    states = [state for chain in chains for state in chain]
    rows = np.mean([s.rows for s in states], axis=(0, 1))
    order = np.argsort(-rows)[: FEATURES - 2]
    expected = np.array(
        [
            rows,
            np.mean([expit(s.log_odds) for s in states], axis=0),
            np.linalg.norm(np.mean([s.parameters.features for s in states], axis=0), axis=1),
            np.ones(FEATURES),
            np.full(FEATURES, 2),
        ]
    ).T[order]
    np.testing.assert_allclose(found.to_frame().to_numpy(), expected)
    assert [one.name for one in found.features] == [f"feature{i}" for i in range(FEATURES - 2)]
    assert found.active_features == {FEATURES - 2: 1.0}


def test_means_are_over_the_draws_that_use_a_feature():
    model, chains = buffet_chains(0, truth_of(0, unused=0))
    found = summary(tree_of(shuffled(chains), model, log_joints(chains)))
    assert len(found.features) == FEATURES
    states = [state for chain in chains for state in chain]
    assert sum(found.active_features.values()) == pytest.approx(1.0)
    sizes = [s.log_odds.size for s in states]
    assert found.active_features[FEATURES] == pytest.approx(np.mean(np.equal(sizes, FEATURES)))
    weights = [expit(s.log_odds).mean() for s in states]
    assert min(weights) - 0.05 < np.mean([f.weight for f in found.features]) < max(weights) + 0.05


def text_of(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def test_a_good_result_has_no_warnings():
    model, chains = made_chains(0, truth_of(0), 2, 300)
    found = summary(tree_of(chains, model, log_joints(chains)))
    assert found.warnings == []
    text = text_of(found)
    assert "Features in use: 4 in 100% of draws" in text
    assert "log_joint" in text
    assert "!" not in text


def test_warnings_in_plain_words():
    tree = two_modes(merged)
    tree.attrs["interrupted"] = 1
    tree.attrs["warnings"] = '[{"code": "odd", "text": "Something was odd."}]'
    text = text_of(summary(tree))
    assert "Something was odd." in text
    assert "The run was interrupted: 20 of 20 draws" in text
    assert "Chains found 2 different sets of features" in text
    assert "2 of 3 chains" in text
    assert "Chains disagree" in text


def test_how_many_starts_were_as_good():
    model, chains = made_chains(0, truth_of(0), 2, 300)
    tree = tree_of(chains, model, log_joints(chains))
    assert "Search: none: chains begin at draws of the prior" in text_of(summary(tree))
    for n_best, lonely in ((4, False), (1, True)):
        known = json.loads(tree.attrs["settings"]) | {"n_starts": 6, "n_best": n_best}
        tree.attrs["settings"] = json.dumps(known)
        found = summary(tree)
        assert f"Search: {n_best} of 6 starts reached the best log joint" in text_of(found)
        assert ("one-best-start" in {one.code for one in found.notes}) == lonely
        assert (found.verdict.agree.level == "careful") == lonely


def test_no_room_to_spare():
    model, chains = made_chains(0, truth_of(0, unused=0))
    text = text_of(summary(tree_of(chains, model, log_joints(chains))))
    assert "Up to 5 of 5 features were in use: raise max_features" in text
    model, chains = buffet_chains(0, truth_of(0, unused=0))
    text = text_of(summary(tree_of(chains, model, log_joints(chains))))
    assert "max_features" not in text


def test_the_likeliest_numbers_come_first_and_long_names_are_cut():
    model, chains = made_chains(0, truth_of(0, unused=2))
    found = summary(tree_of(chains, model, log_joints(chains)))
    named = [one._replace(name="abc" * 20) for one in found.features]
    shares = {3: 0.1, 4: 0.6, 5: 0.1, 6: 0.2}
    text = str(replace(found, features=named, active_features=shares))
    assert "4 in 60% of draws, 6 in 20% of draws, 3 in 10% of draws\n" in text
    assert f"\n{'abc' * 9}ab…  " in text


def test_a_feature_that_no_draw_uses_has_the_values_of_all():
    model, chains = made_chains(0, truth_of(0, unused=2))
    tree = tree_of(chains, model, log_joints(chains))
    given = align(stored_draws(tree), modes(tree)[0].chains)
    assert not given.in_use[:, -1].any()
    values = values_of(tree, given, "components", FEATURES - 1)
    assert values.shape == (given.order.shape[0] * given.order.shape[1], DIMS)


def test_many_features_are_cut_short():
    truth = np.random.default_rng(0).integers(0, 2, (ROWS, 50)).astype(np.int8)
    laws = counts.as_row_counts(counts.uniform(0, 60), ROWS)
    model = Model(laws, 60, LinearGaussian())
    padded = np.pad(truth, ((0, 0), (0, 10)))
    model, chains = made_chains(0, padded, 1, 4, flips=0.01, model=model)
    found = summary(tree_of(chains, model, log_joints(chains)))
    assert len(found.features) == 50
    assert "and 10 more, less popular" in text_of(found)


def test_coactivation():
    model, chains = made_chains(0, truth_of(0))
    tree = tree_of(shuffled(chains), model, log_joints(chains), thin=2)
    z = np.array([s.rows.astype(float) for chain in chains for s in chain[::2]])
    expected = np.mean(z @ z.transpose(0, 2, 1), axis=0)
    np.testing.assert_allclose(coactivation(tree), expected)
    np.testing.assert_allclose(coactivation(tree, [3, 1]), expected[np.ix_([3, 1], [3, 1])])


def test_coactivation_of_too_many_rows(monkeypatch):
    model, chains = made_chains(0, truth_of(0))
    monkeypatch.setattr(module, "_MOST_ROWS", 10)
    with pytest.raises(InputError, match="rows must be at most 10"):
        coactivation(tree_of(chains, model, log_joints(chains)))
