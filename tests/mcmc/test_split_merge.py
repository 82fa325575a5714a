"""Splits and merges keep the joint law of rows and weights, and the counts of rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from ribp import counts
from ribp.likelihoods import LinearGaussian
from ribp.mcmc import split_merge
from ribp.mcmc.split_merge import log_marginal, split_or_merge
from ribp.model import Model
from ribp.testing.geweke import one_step_p_values
from ribp.testing.goodness import agrees, n_seeds

DIMS, NOISE, MOVES = 2, 0.8, 4
LAWS = counts.by_row([counts.uniform(0, 2), counts.exactly(2), *[counts.exactly(1)] * 3])


class Trial:
    """Rows, weights and data of a small model; only the first two are ever changed."""

    def __init__(self, background=False, weights="weak-limit", n_features=3):
        likelihood = LinearGaussian(background=background, noise_scale=NOISE, feature_scale=1.2)
        self.model = Model(LAWS, n_features, likelihood, 1.2, 1.0, weights)
        self.accepted = self.changed = self.updates = 0

    def simulate(self, rng):
        state, values = self.model.simulate(rng, DIMS)
        return (state, values), values

    def update(self, rng, seen, values):
        before = seen[0]
        after, accepted = split_or_merge(rng, before, self.model, values / NOISE, MOVES)
        np.testing.assert_array_equal(after.rows.sum(axis=1), before.rows.sum(axis=1))
        self.updates += 1
        self.accepted += accepted
        self.changed += (after.rows != before.rows).any()
        return after, values

    def statistics(self, seen):
        state, values = seen
        sizes, theta = state.rows.sum(axis=0), state.log_odds
        rows = self.model.likelihood.with_background(state.rows).astype(float)
        return [
            (sizes > 0).sum(),
            sizes.max(),
            sizes[0] * sizes[1],
            float((state.rows[2] == state.rows[3]).all()),
            expit(theta).sum(),
            np.tanh(theta.max() / 3),
            np.tanh(theta.min() / 9),
            expit(theta[0]) ** 2,
            sizes @ np.tanh(theta / 3),
            np.tanh(log_marginal(values / NOISE, rows, 1.2) / 5),
        ]

    def unchanged(self, n, seed=0):
        found = one_step_p_values(
            self.simulate, self.update, self.statistics, n_replicates=n_seeds(n), seed=seed
        )
        return all(map(agrees, found))


class Told:
    """A generator that is told what to draw: no shuffles, one seed, one logit of the shares."""

    def __init__(self, seed, logit):
        self.seed, self.gammas = seed, [np.exp(logit), 1.0]

    def integers(self, *_, **__):
        return self.seed

    def permutation(self, order):
        return order

    def standard_gamma(self, _):
        return self.gammas.pop(0)


@pytest.mark.parametrize("background", [False, True])
def test_the_way_back_has_the_opposite_ratio(background):
    """There and back again by the same draws; a split may leave all rows with one feature."""
    trial, rng = Trial(background, n_features=3), np.random.default_rng(0)
    kinds = set()
    for seed in range(60):
        (state, values), _ = trial.simulate(rng)
        i, j = 0, 1
        state.rows[:, i] |= state.rows[:, j] & (rng.random(len(LAWS)) < 0.7)
        moving = state.rows[:, i] != state.rows[:, j]
        state.rows[moving, i], state.rows[moving, j] = 1, 0
        if not moving.any():
            continue

        def move(state, i, j, logit, seed=seed, values=values, moving=moving):
            return split_merge._split_or_merge_pair(
                Told(seed, logit), state, trial.model, values / NOISE, i, j, moving
            )

        there, ratio = move(state, i, j, 0.3)
        first = there.rows[moving, i].mean()
        kinds.add("first" if first == 1.0 else "second" if first == 0.0 else "both")
        logit = state.log_odds[i] - state.log_odds[j]
        back, other = move(there, j, i, -logit) if first == 0.0 else move(there, i, j, logit)
        assert ratio + other == pytest.approx(0.0, abs=1e-8)
        np.testing.assert_array_equal(back.rows, state.rows)
        np.testing.assert_allclose(back.log_odds, state.log_odds, atol=1e-8)
    assert kinds == {"first", "second", "both"}


@pytest.mark.jit
@pytest.mark.parametrize(
    ("background", "weights", "n_features"),
    [(False, "weak-limit", 3), (True, "gamma-odds", 3), (False, "size-ordered", 2)],
)
def test_rows_and_weights_keep_their_law(background, weights, n_features):
    trial = Trial(background, weights, n_features)
    assert trial.unchanged(600)
    assert trial.accepted > 0.05 * MOVES * trial.updates
    assert trial.changed > 0.05 * trial.updates


def without_probability(*arguments):
    """Share rows out, and forget how probable that was."""
    return 0.0 * SHARE_OUT(*arguments)


SHARE_OUT = split_merge.share_out
BROKEN = {
    "share_out": without_probability,
    "_log_logit_beta": lambda *arguments: 0.0,
    "log_marginal": lambda *arguments: 0.0,
}


@pytest.mark.jit
@pytest.mark.parametrize("part", BROKEN)
def test_broken_twins_are_caught(part, monkeypatch):
    monkeypatch.setattr(split_merge, part, BROKEN[part])
    assert not Trial(n_features=2).unchanged(600)


def test_marginal_is_the_dense_one_up_to_a_constant():
    rng = np.random.default_rng(0)
    scaled, rows = rng.normal(size=(5, 2)), rng.integers(0, 2, (3, 5, 4)).astype(float)
    found = [log_marginal(scaled, z, 1.2) for z in rows]
    exact = [
        stats.multivariate_normal(np.zeros(5), np.eye(5) + 1.44 * z @ z.T).logpdf(scaled.T).sum()
        for z in rows
    ]
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-10)


@pytest.mark.parametrize("a", [1.0, 4.0])
def test_density_of_the_shares(a):
    logits = np.array([-3.0, 0.2, 5.0])
    phi = expit(logits)
    exact = stats.beta(a, 2.0).logpdf(phi) + np.log(phi * (1 - phi))
    found = [split_merge._log_logit_beta(x, a, 2.0) for x in logits]
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_nothing_to_share_out():
    """Rows that all have the second feature, or none of the two, are left alone."""
    trial = Trial(n_features=2)
    (state, values), _ = trial.simulate(np.random.default_rng(0))
    state = state._replace(rows=np.zeros_like(state.rows))
    after, accepted = split_or_merge(np.random.default_rng(0), state, trial.model, values, 5)
    assert accepted == 0
    assert after is state
