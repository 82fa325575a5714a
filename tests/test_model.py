"""Prior and likelihood together: the log joint term by term, and what is simulated from it."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from ribp import counts
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.base import complete
from ribp.model import Model
from ribp.testing.goodness import agrees, mean_p_value

LAWS = counts.by_group(
    {"a": counts.learned([1.0, 2.0, 1.0]), "b": counts.uniform(0, 2)}, list("abba")
)


def esp(log_odds, k):
    """Return e_k by summing over all sets."""
    sets = itertools.combinations(np.exp(log_odds), k)
    return sum(math.prod(chosen) for chosen in sets)


@pytest.mark.parametrize("weights", ["weak-limit", "size-ordered", "gamma-odds"])
def test_log_joint_term_by_term(weights):
    rng = np.random.default_rng(0)
    model = Model(LAWS, 3, LinearGaussian(), None, None, weights)
    state, values = model.simulate(rng, 2)
    data = complete(values)
    expected = model.likelihood.log_joint(data, state.rows, state.parameters)
    prior = model.weight_prior(state.mass, state.concentration)
    expected += prior.log_density(state.log_odds)
    for n, z in enumerate(state.rows):
        k = int(z.sum())
        expected += state.count_log_probs[LAWS.index[n], k]
        expected += z @ state.log_odds - math.log(esp(state.log_odds, k))
    learned = next(j for j, law in enumerate(LAWS.laws) if isinstance(law, counts.Learned))
    table = np.exp(state.count_log_probs[learned][:3])
    expected += stats.dirichlet([1.0, 2.0, 1.0]).logpdf(table / table.sum())
    expected += stats.expon.logpdf(state.mass) + math.log(state.mass)
    c = state.concentration
    expected += stats.gamma(2, scale=0.5).logpdf(c) + math.log(c) + math.log(1.0)
    assert model.log_joint(state, data) == pytest.approx(expected, abs=1e-9)


@pytest.mark.jit
def test_simulated_states_have_their_marginals():
    model = Model(LAWS, 3, LinearGaussian(), None, None)
    rng = np.random.default_rng(1)
    states = [model.simulate(rng, 2)[0] for _ in range(3000)]
    mass = np.array([state.mass for state in states])
    assert mass.max() < 3
    truncated = stats.truncexpon(3)
    assert agrees(mean_p_value(mass, truncated.mean()))
    assert not agrees(mean_p_value(mass, 1.0))
    assert agrees(mean_p_value([state.concentration for state in states], 1.0))
    first = np.array([state.rows[0].sum() for state in states])
    assert agrees(mean_p_value(first == 1, 0.5))
    second = np.array([state.rows[1].sum() for state in states])
    assert agrees(mean_p_value(second, 1.0))


def test_laws_with_a_gap_ask_for_whole_rows():
    laws = counts.by_row([counts.table([0, 0.5, 0, 0.5]), counts.uniform(0, 2)])
    model = Model(laws, 3, LinearGaussian())
    state, _ = model.simulate(np.random.default_rng(0), 2)
    np.testing.assert_array_equal(model.row_laws(state).whole, [True, False])
    some = model.on_rows(np.array([1]))
    assert len(some.counts) == 1
    assert some.counts[0] == counts.uniform(0, 2)
