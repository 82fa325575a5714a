"""Real chains: converged ones are quiet and one mode; stuck ones are not."""

from functools import cache

import numpy as np
import pytest

from ribp import counts
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import Data, complete
from ribp.model import Model
from ribp.posterior.diagnostics import converged, diagnose
from ribp.posterior.modes import modes
from ribp.posterior.predict import decode, held_out_entries, impute
from ribp.posterior.summary import summary
from ribp.search.following import best_start
from ribp.search.pool import from_rows
from tests.helpers.trees import draws, run, shuffled, tree_of

pytestmark = pytest.mark.jit

ROWS, USED, FEATURES, DIMS = 40, 4, 7, 8


@cache
def easy(likelihood=LinearGaussian()):  # noqa: B008
    """Return a model, its true rows and components, and data in which both are plain to see."""
    rng = np.random.default_rng(4)
    rows = np.zeros((ROWS, USED), np.int8)
    for row, count in zip(rows, rng.integers(1, 3, ROWS), strict=True):
        row[rng.permutation(USED)[:count]] = 1
    laws = counts.as_row_counts(rows.sum(axis=1), ROWS)
    model = Model(laws, FEATURES, likelihood, mass=1.0)
    components = 10.0 * rng.gamma(0.5, size=(USED, DIMS))
    if isinstance(likelihood, LinearGaussian):
        data = rows @ components + rng.standard_normal((ROWS, DIMS))
    else:
        data = rng.poisson(rows @ components).astype(float)
    return model, rows, components, data


def random_starts(model, data, n=2):
    return [best_start(np.random.default_rng(seed), model, data, 3) for seed in range(n)]


@cache
def easy_tree():
    model, *_, values = easy()
    data = complete(values)
    chains, log_joints = run(model, data, random_starts(model, data), 800)
    return tree_of(shuffled(chains), model, log_joints, thin=2)


def test_converged_chains_are_quiet_and_one_mode():
    tree = easy_tree()
    assert converged(diagnose(tree)) == []
    assert len(modes(tree)) == 1
    assert summary(tree).warnings == []


def test_the_truth_is_found_and_decoded():
    model, rows, components, _ = easy()
    found = draws(easy_tree(), model.likelihood, model.counts)
    probs = found.row_probs()
    order = [int(np.argmin(np.abs(rows.T - column).sum(axis=1))) for column in probs.T[:USED]]
    assert sorted(order) == list(range(USED))
    decoded = decode(probs, found.count_log_probs[0], model.counts.law_of_row)
    np.testing.assert_array_equal(decoded[:, :USED], rows[:, order])
    assert not decoded[:, USED:].any()
    mean = np.mean([p.features for p in found.parameters], axis=0)
    np.testing.assert_allclose(mean[:USED], components[order], atol=1.5)


def test_a_stuck_chain_is_another_mode():
    """Two features that have exchanged half of their rows, and a chain that stays there."""
    model, rows, _, values = easy()
    data = complete(values)
    wrong = np.pad(rows, ((0, 0), (0, FEATURES - USED)))
    wrong[: ROWS // 2, :2] = wrong[: ROWS // 2, 1::-1]
    stuck = from_rows(np.random.default_rng(0), model, data, wrong)
    chains, log_joints = run(model, data, random_starts(model, data, 1), 100)
    chains.append([stuck] * 100)
    log_joints.append([model.log_joint(stuck, data)] * 100)
    tree = tree_of(chains, model, log_joints)
    assert [mode.chains for mode in modes(tree)] == [(0,), (1,)]
    assert any(one.code == "r-hat-high" for one in converged(diagnose(tree)))
    assert any("2 different sets of features" in one.text for one in summary(tree).warnings)
    assert set(draws(tree, model.likelihood, model.counts).chain.tolist()) == {0}


@pytest.mark.parametrize("likelihood", [LinearGaussian(), PoissonCounts()])
def test_entries_held_out_are_predicted(likelihood):
    model, _, _, values = easy(likelihood)
    held = np.random.default_rng(1).random(values.shape) < 0.1
    data = Data(np.where(held, 0.0, values), ~held)
    chains, log_joints = run(model, data, random_starts(model, data), 60)
    found = draws(tree_of(chains, model, log_joints), likelihood, model.counts)
    mean, sd = impute(found, likelihood, data)
    z = (values - mean)[held] / sd[held]
    assert np.abs(z).max() < 5.0
    assert 0.5 < np.sqrt((z**2).mean()) < 1.5
    score = held_out_entries(found, likelihood, values, held).mean()
    # The broken twin: the values of other entries.
    shifted = np.roll(values, 1, axis=1)
    assert held_out_entries(found, likelihood, shifted, held).mean() < score - 1.0
