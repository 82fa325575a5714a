"""The whole sampler under a joint-distribution test: data and state in turn keep the prior."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from ribp import counts
from ribp.mcmc import gibbs
from ribp.mcmc.gaussian import GaussianPriors
from ribp.mcmc.slice_sampling import slice_step
from ribp.testing.goodness import agrees, mean_p_value, n_seeds

pytestmark = pytest.mark.jit

LAWS = {
    "point masses by group": counts.by_group(
        {"a": counts.exactly(1), "b": counts.exactly(2)}, list("aabb")),
    "intervals": counts.by_row([counts.uniform(0, 2)] * 2 + [counts.table([0, 0.5, 0.3, 0.2])] * 3),
}  # fmt: skip


def statistics(state):
    """Return numbers that see every part of the state, each with finite variance."""
    ones = state.rows.sum(axis=0)
    return [
        (ones > 0).sum(),
        float((state.rows[0] == state.rows[1]).all()),
        state.mass,
        expit(state.log_odds).mean(),
        np.log(state.noise_scale).mean(),
        np.log(state.noise_scale[0]) ** 2,
        np.log(state.feature_scale),
        ones.max() * np.log(state.feature_scale),
    ]


def successive(model, dims, n, seed, change=lambda state: state):
    """Return statistics of a chain that draws data given the state, then the state given data."""
    rng = np.random.default_rng(seed)
    state, found = gibbs.draw_prior(rng, model, dims), []
    for _ in range(n):
        data = gibbs.draw_data(rng, state)
        state, _ = gibbs.update(rng, state, model, data, np.uint64(seed))
        state = change(state)
        found.append(statistics(state))
    return np.array(found, dtype=float)


def independent(model, dims, n):
    rng = np.random.default_rng(99)
    return np.array([statistics(gibbs.draw_prior(rng, model, dims)) for _ in range(n)], dtype=float)


def all_agree(chain, fresh):
    """Return whether the chain's averages are those of the prior, by means of batches."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(chain, 50)])
    mean, error = fresh.mean(axis=0), fresh.std(axis=0) / np.sqrt(len(fresh))
    return all(
        agrees(mean_p_value(batches[:, j], mean[j], error[j])) for j in range(fresh.shape[1])
    )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("law", LAWS)
def test_joint_distribution(law, shared):
    model = gibbs.GibbsModel(LAWS[law], 4, 1.5, GaussianPriors(1.0, 2.0, shared))
    fresh = independent(model, 3, 10_000)
    for seed in range(n_seeds(1)):
        assert all_agree(successive(model, 3, 3000, seed), fresh)


def inflated(state):
    return state._replace(noise_scale=1.1 * state.noise_scale)


def heavier(state):
    return state._replace(mass=min(1.3 * state.mass, 3.9))


@pytest.mark.parametrize("broken", [inflated, heavier])
def test_broken_twins_are_caught(broken):
    model = gibbs.GibbsModel(LAWS["intervals"], 4, 1.5, GaussianPriors(1.0, 2.0, False))
    fresh = independent(model, 3, 10_000)
    assert not all_agree(successive(model, 3, 3000, 0, broken), fresh)


@pytest.mark.parametrize("law", [stats.norm(1, 2), stats.gamma(0.7), stats.expon()])
def test_slice_steps_keep_a_law(law):
    rng = np.random.default_rng(0)
    low = law.support()[0]
    x, found = float(law.mean()), []
    for _ in range(6000):
        x = slice_step(rng, x, law.logpdf, low=low, width=2.0)
        found.append([law.cdf(x), law.cdf(x) ** 2])
    batches = np.array([part.mean(axis=0) for part in np.array_split(np.array(found), 40)])
    assert agrees(mean_p_value(batches[:, 0], 1 / 2))
    assert agrees(mean_p_value(batches[:, 1], 1 / 3))


def test_same_seed_same_chain():
    model = gibbs.GibbsModel(LAWS["intervals"], 4, 1.5, GaussianPriors(1.0, 2.0, False))
    np.testing.assert_array_equal(successive(model, 3, 20, 7), successive(model, 3, 20, 7))
