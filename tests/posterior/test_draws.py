"""Draws as arrays: everything a draw had, with its features in the common order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ribp.errors import InputError
from ribp.likelihoods.data import Data
from ribp.posterior.diagnostics import diagnose
from ribp.posterior.modes import modes
from ribp.posterior.predict import impute
from ribp.posterior.summary import coactivation, summary
from tests.helpers.trees import (
    DIMS,
    FEATURES,
    MODELS,
    ROWS,
    buffet_chains,
    draws,
    log_joints,
    made_chains,
    pool_of,
    shuffled,
    tree_of,
    truth_of,
)


def assert_same_draw(found, at, state):
    """Assert that a draw is a state, whatever the order of its features."""
    order = np.argsort(found.log_odds[at])
    other = np.argsort(state.log_odds)
    np.testing.assert_array_equal(found.log_odds[at, order], state.log_odds[other])
    np.testing.assert_array_equal(found.unpacked(at)[:, order], state.rows[:, other])
    parameters = found.parameters[at]
    assert type(parameters) is type(state.parameters)
    np.testing.assert_array_equal(parameters.features[order], state.parameters.features[other])
    for one, two in zip(parameters[1:], state.parameters[1:], strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(found.count_log_probs[at], state.count_log_probs)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("thin", [1, 3])
def test_every_draw_comes_back(name, thin):
    model, chains = made_chains(0, truth_of(0), model=MODELS[name])
    tree = tree_of(shuffled(chains), model, log_joints(chains), thin)
    found = draws(tree, model.likelihood, model.counts)
    kept = range(0, 20, thin)
    assert len(found.parameters) == len(found.rows) == 2 * len(kept)
    pairs = list(zip(found.chain.tolist(), found.draw.tolist(), strict=True))
    assert sorted(pairs) == [(chain, draw) for chain in range(2) for draw in kept]
    for at, (chain, draw) in enumerate(pairs):
        assert_same_draw(found, at, chains[chain][draw])
    rows = np.mean([found.unpacked(at) for at in range(len(pairs))], axis=0)
    np.testing.assert_allclose(found.row_probs(), rows)


def test_a_buffet_has_features_that_do_not_exist():
    model, chains = buffet_chains(0, truth_of(0, unused=0))
    found = pool_of(chains, model)
    assert found.count_log_probs.shape == (40, 0, FEATURES + 1)
    absent = found.log_odds == -np.inf
    assert absent.any()
    for at, parameters in enumerate(found.parameters):
        assert np.isfinite(parameters.features).all()
        assert not parameters.features[absent[at]].any()
        assert not found.unpacked(at)[:, absent[at]].any()


def test_fewer_draws_are_evenly_spaced():
    model, chains = made_chains(0, truth_of(0))
    tree = tree_of(chains, model, log_joints(chains))
    found = draws(tree, model.likelihood, model.counts, max_draws=4)
    assert [int(n) for n in found.draw] == [5, 15, 5, 15]
    assert len(set(found.chain.tolist())) == 2
    assert len(draws(tree, model.likelihood, model.counts, max_draws=99).draw) == 40


def test_only_one_mode_is_pooled():
    truth = truth_of(0)
    model, good = made_chains(0, truth)
    _, other = made_chains(1, truth_of(7), 1)
    chains = [*good, *other]
    tree = tree_of(chains, model, log_joints(chains, 5.0, 4.0, 0.0))
    assert set(draws(tree, model.likelihood, model.counts).chain.tolist()) == {0, 1}
    assert set(draws(tree, model.likelihood, model.counts, mode=1).chain.tolist()) == {2}


def test_no_draw_was_kept():
    model, chains = made_chains(0, truth_of(0))
    tree = tree_of(chains, model, log_joints(chains))
    tree["features"] = tree["features"].isel(draw=slice(0))
    with pytest.raises(InputError, match="at least one stored draw"):
        draws(tree, model.likelihood, model.counts)


def readings(chains, model, values):
    """Return all that is read from a result."""
    tree = tree_of(chains, model, values, thin=2)
    laws = getattr(model, "counts", None)
    found = draws(tree, model.likelihood, laws)
    missing = Data(np.zeros((ROWS, DIMS)), np.zeros((ROWS, DIMS), bool))
    return [
        found.row_probs(),
        found.log_odds,
        np.array([p.features for p in found.parameters]),
        coactivation(tree),
        *impute(found, model.likelihood, missing),
        np.array(list(diagnose(tree).values())),
        np.array([[x for x in one if not isinstance(x, str)] for one in summary(tree).features]),
        np.array([m.agreement for m in modes(tree)]),
        np.array([m.log_joint for m in modes(tree)]),
    ]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), flips=st.sampled_from([0.0, 0.05, 0.3]), buffet=st.booleans())
def test_the_order_of_features_changes_nothing(seed, flips, buffet):
    if buffet:
        model, chains = buffet_chains(seed, truth_of(seed, unused=0), 6)
    else:
        model, chains = made_chains(seed, truth_of(seed), 2, 6, flips)
    values = log_joints(chains, seed=seed)
    one = readings(chains, model, values)
    other = readings(shuffled(chains, seed), model, values)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
