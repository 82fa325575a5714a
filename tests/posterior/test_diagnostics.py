"""Chains that disagree are flagged; chains of one law are not."""

import math

import numpy as np
import pytest

from ribp.posterior.convergence import ess_bulk, ess_tail, monte_carlo_error, r_hat
from ribp.posterior.diagnostics import Diagnostic, _pairs, converged, diagnose
from tests.helpers.trees import (
    MODELS,
    log_joints,
    made_chains,
    merged,
    shuffled,
    swapped,
    tree_of,
    truth_of,
    two_modes,
)


def test_independent_draws_are_quiet():
    model, chains = made_chains(0, truth_of(0), 4, 250)
    tree = tree_of(shuffled(chains), model, log_joints(chains))
    found = diagnose(tree)
    assert converged(found) == []
    assert set(found) == {
        "active_features", "log_joint", "mass", "feature_scale", "log_noise_scale", "mean_count",
        "shared_features",
    }  # fmt: skip


def test_numbers_are_those_of_the_draws():
    model, chains = made_chains(1, truth_of(1), 3, 40)
    values = log_joints(chains)
    tree = tree_of(chains, model, values, thin=4)
    found = diagnose(tree)
    counts = np.array([[s.rows.sum(axis=1).mean() for s in chain] for chain in chains])
    noise = np.array([[np.log(s.parameters.noise_scale).mean() for s in c] for c in chains])
    for name, draws in [("log_joint", values), ("mean_count", counts), ("log_noise_scale", noise)]:
        expected = Diagnostic(
            draws.mean(), draws.std(ddof=1), monte_carlo_error(draws), r_hat(draws),
            ess_bulk(draws), ess_tail(draws), 3,
        )  # fmt: skip
        np.testing.assert_allclose(found[name], expected)


def test_shared_features_are_counted():
    model, chains = made_chains(1, truth_of(1), 2, 40)
    found = diagnose(tree_of(shuffled(chains), model, log_joints(chains), thin=2))
    each = []
    for one, other in _pairs(30):
        z = np.array([[s.rows[one] @ s.rows[other] for s in chain[::2]] for chain in chains])
        each.append([z.mean(), r_hat(z), ess_bulk(z)])
    mean, rhat, bulk = np.array(each).T
    assert found["shared_features"].mean == pytest.approx(mean.mean())
    assert found["shared_features"].r_hat == pytest.approx(rhat.max())
    assert found["shared_features"].ess_bulk == pytest.approx(bulk.min())


def test_what_does_not_vary_or_exist_is_left_out():
    model, chains = made_chains(0, truth_of(0)[:1], flips=0.0)
    found = diagnose(tree_of(chains, model, log_joints(chains)))
    assert not {"mean_count", "shared_features", "concentration"} & set(found)
    model, chains = made_chains(0, truth_of(0), model=MODELS["counts"])
    assert "log_noise_scale" not in diagnose(tree_of(chains, model, log_joints(chains)))


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3, 7, 8, 1000, 10**6])
def test_pairs_are_different(n_rows):
    pairs = _pairs(n_rows)
    assert len(pairs) == min(20, n_rows * (n_rows - 1) // 2)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    assert ((pairs[:, 0] >= 0) & (pairs[:, 0] < pairs[:, 1]) & (pairs[:, 1] < n_rows)).all()


@pytest.mark.parametrize("change", [swapped, merged])
def test_stuck_chains_are_flagged(change):
    found = diagnose(two_modes(change))
    assert found["log_joint"].r_hat > 1.05
    assert found["shared_features"].r_hat > 1.05
    (complaint,) = [one.text for one in converged(found) if one.code == "r-hat-high"]
    assert f"{found['log_joint'].r_hat:.2f} for log_joint" in complaint
    assert f"{found['shared_features'].r_hat:.2f} for shared_features" in complaint


def test_learned_laws():
    model, chains = made_chains(2, truth_of(2), 2, 30, model=MODELS["learned"])
    found = diagnose(tree_of(chains, model, log_joints(chains)))
    probs = np.exp([[s.count_log_probs for s in chain] for chain in chains])
    names = {name for name in found if name.startswith("count_probs")}
    expected = {f"count_probs[0, {k}]" for k in range(6) if probs[:, :, 0, k].mean() > 0.01}
    assert names == expected  # the second law is known
    assert found["count_probs[0, 2]"].mean == pytest.approx(probs[:, :, 0, 2].mean())


def fine(**changes):
    return Diagnostic(0.0, 1.0, 0.1, 1.0, 1000.0, 1000.0, 4)._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, None),
        ({"r_hat": 1.02}, "Chains differ a little: R-hat is 1.020 for mass."),
        ({"r_hat": 1.2}, "Chains disagree or are far too short: R-hat is 1.20 for mass."),
        ({"r_hat": math.inf}, "R-hat is inf for mass."),
        ({"r_hat": math.nan}, "Too few draws to compare chains, or not finite: mass."),
        ({"ess_bulk": 99.0}, "100 independent draws: 99 for mass."),
        ({"ess_tail": 12.3}, "100 independent draws: 12 for mass."),
        ({"ess_tail": 12.3, "sd": 0.0}, None),
    ],
)
def test_complaints(changes, text):
    found = converged({"mass": fine(**changes), "log_joint": fine()})
    if text is None:
        assert found == []
    else:
        assert len(found) == 1
        assert text in found[0].text


def test_mild_complaints_can_be_left_out():
    found = {"mass": fine(r_hat=1.02), "log_joint": fine(ess_bulk=9.0)}
    assert len(converged(found)) == 2
    assert converged(found, mild=False) == []
    assert len(converged(found | {"noise": fine(r_hat=2.0)}, mild=False)) == 1


def test_complaints_of_one_kind_are_one():
    several = {f"name{at}": fine(r_hat=1.5) for at in range(6)}
    ((_, complaint),) = converged(several)
    assert "1.50 for name0, 1.50 for name1" in complaint
    assert "name3, and 2 more." in complaint


def test_the_worst_of_many_pairs_is_judged_less_harshly():
    assert converged({"shared_features": fine(r_hat=1.04, ess_bulk=100.0)}) == []
    assert converged({"shared_features": fine(r_hat=1.06)}) != []
