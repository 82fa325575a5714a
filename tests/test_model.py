"""Prior and likelihood together: the log joint term by term, and what is simulated from it."""

import itertools
import math
from functools import cache, partial

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import digamma, expit, gammaln

from ribp import counts
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import complete, with_missing
from ribp.model import Model
from ribp.rows.local import in_memory
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)

FEATURES, DIMS = 3, 2
LAWS = counts.by_group(
    {"a": counts.learned([1.0, 2.0, 1.0]), "b": counts.uniform(0, 2)}, list("abba")
)
HIDDEN = np.array([[0, 0], [1, 0], [0, 1], [0, 0]], bool)


def esp(log_odds, k):
    """Return e_k by summing over all sets."""
    return sum(math.prod(chosen) for chosen in itertools.combinations(np.exp(log_odds), k))


def log_weights(name, theta, mass, c):
    """Return the log density of the log-odds by the definition of each prior."""
    a, pi = c * mass / FEATURES, expit(theta)
    if name == "weak-limit":
        return (stats.beta(a, c - a).logpdf(pi) + np.log(pi * (1 - pi))).sum()
    if name == "gamma-odds":
        return (stats.gamma(a, scale=1 / c).logpdf(np.exp(theta)) + theta).sum()
    levy = np.log(c * mass) - c * np.logaddexp(0, theta)
    above = integrate.quad(lambda x: c * mass / x * (1 - x) ** (c - 1), pi.min(), 1)[0]
    return levy.sum() - above - gammaln(FEATURES + 1)


def log_gaussian(values, rows, given):
    """Return log p(X, scales | Z), scales as logarithms, column by column."""
    total = 0.0
    for x, s in zip(values.T, given.noise_scale, strict=True):
        seen = ~np.isnan(x)
        z = rows[seen].astype(float)
        covariance = s**2 * (np.eye(len(z)) + given.feature_scale**2 * z @ z.T)
        total += stats.multivariate_normal(np.zeros(len(z)), covariance).logpdf(x[seen])
    for scale in (*given.noise_scale, given.feature_scale):
        total += stats.invgamma(2, scale=0.5).logpdf(scale**2) + math.log(2 * scale**2)
    return total


def log_poisson(values, rows, given):
    """Return log p(X, A, m | Z), m as its logarithm; features of nobody say nothing."""
    rates, seen = rows @ given.features + given.background, ~np.isnan(values)
    m, known = given.feature_scale, [*given.features[rows.any(axis=0)], given.background]
    total = stats.poisson(rates[seen]).logpmf(values[seen]).sum()
    total += stats.gamma(0.5, scale=m / 0.5).logpdf(known).sum()
    return total + stats.invgamma(2).logpdf(m) + math.log(m)


def log_rows(rows, log_odds):
    """Return log p(Z | weights), row by row; rows of the learned law see those before them."""
    value, base = 0.0, np.array([1.0, 2.0, 1.0])
    for z, law in zip(rows, LAWS.law_of_row, strict=True):
        k = int(z.sum())
        if isinstance(LAWS.laws[law], counts.Learned):
            value += math.log(base[k] / base.sum())
            base[k] += 1.0
        else:
            value += math.log(1 / 3)
        value += z @ log_odds - math.log(esp(log_odds, k))
    return value


@pytest.mark.parametrize("hidden", [np.zeros_like(HIDDEN), HIDDEN])
@pytest.mark.parametrize("weights", ["weak-limit", "size-ordered", "gamma-odds"])
@pytest.mark.parametrize(
    ("likelihood", "log_likelihood"),
    [(LinearGaussian(), log_gaussian), (PoissonCounts(background=True), log_poisson)],
)
def test_log_joint_term_by_term(likelihood, log_likelihood, weights, hidden):
    model = Model(LAWS, FEATURES, likelihood, None, None, weights)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        state, values = model.simulate(rng, DIMS)
        theta, mass, c = rng.normal(-1, 1.5, FEATURES), 0.3 + seed / 3, 0.6 + seed / 2
        state = state._replace(log_odds=theta, mass=mass, concentration=c)
        values[hidden] = np.nan
        expected = log_likelihood(values, state.rows, state.parameters)
        expected += log_rows(state.rows, theta)
        expected += log_weights(weights, theta, mass, c)
        expected += stats.expon.logpdf(mass) + math.log(mass)  # that of mass < I, but a constant
        expected += stats.gamma(2, scale=0.5).logpdf(c) + math.log(c)
        assert model.log_joint(state, with_missing(values)) == pytest.approx(expected, abs=1e-8)


def test_what_is_fixed_has_no_density():
    free = Model(LAWS, FEATURES, LinearGaussian(), None, None)
    state, values = free.simulate(np.random.default_rng(0), DIMS)
    fixed = Model(LAWS, FEATURES, LinearGaussian(), state.mass, state.concentration)
    density = stats.gamma(2, scale=0.5).logpdf(state.concentration) + math.log(state.concentration)
    density += math.log(state.mass) - state.mass
    data = complete(values)
    assert free.log_joint(state, data) - fixed.log_joint(state, data) == pytest.approx(density)
    again = fixed.draw_prior(np.random.default_rng(1), DIMS)
    assert (again.mass, again.concentration) == (state.mass, state.concentration)


@pytest.mark.jit
def test_simulated_states_have_their_marginals():
    model = Model(LAWS, FEATURES, LinearGaussian(), None, None)

    expected = stats.truncexpon(FEATURES).mean()

    @cache
    def simulated(n, seed):
        rng = np.random.default_rng(seed)
        return [model.simulate(rng, DIMS)[0] for _ in range(n)]

    def p_values(n, seed, mean_mass=expected, equal=(2 + 6 + 2) / 20):
        states = simulated(n, seed)
        mass = np.array([state.mass for state in states])
        assert mass.max() < FEATURES
        c = np.array([state.concentration for state in states])
        ones = np.array([state.rows.sum(axis=1) for state in states])
        return [
            mean_p_value(mass, mean_mass),
            mean_p_value(c, 1.0),
            mean_p_value(np.log(c), digamma(2) - math.log(2)),
            frequencies_p_value(np.bincount(ones[:, 0], minlength=4), [1, 2, 1, 0]),
            frequencies_p_value(np.bincount(ones[:, 1], minlength=4), [1, 1, 1, 0]),
            # Rows of one learned law share a table: E f_k^2 = b (b + 1)/20; others do not.
            mean_p_value(ones[:, 0] == ones[:, 3], equal),
            mean_p_value(ones[:, 1] == ones[:, 2], 1 / 3),
        ]

    assert holds(p_values, replicates(2000))
    # An exponential law without an end, and independent rows.
    for wrong in ({"mean_mass": 1.0}, {"equal": (1 + 4 + 1) / 16}):
        assert is_caught(partial(p_values, **wrong), 2000)


@pytest.mark.jit
def test_simulated_rows_have_the_law_of_rows():
    """Rows given weights and laws, all of {0,1}^I at once."""
    model, theta = Model(LAWS, FEATURES, LinearGaussian()), np.array([0.5, -1.0, 0.2])
    with np.errstate(divide="ignore"):
        log_probs = np.log([[0.2, 0.5, 0.3, 0.0], [0.1, 0.2, 0.3, 0.4]])
    every = np.array(list(itertools.product([0, 1], repeat=FEATURES)))[:, ::-1]
    probs = np.exp([
        [log_probs[law, z.sum()] + z @ theta - math.log(esp(theta, int(z.sum()))) for z in every]
        for law in LAWS.law_of_row
    ])  # fmt: skip

    def p_values(n, seed, probs=probs):
        rng = np.random.default_rng(seed)
        drawn = np.array([model.draw_rows(rng, theta, log_probs) for _ in range(n)])
        codes = drawn @ (1 << np.arange(FEATURES))
        seen = [np.bincount(column, minlength=8) for column in codes.T]
        return [frequencies_p_value(*pair) for pair in zip(seen, probs, strict=True)]

    assert holds(p_values, replicates(2000))
    assert is_caught(partial(p_values, probs=probs[:, ::-1]), 300)


def test_laws_with_a_gap_ask_for_whole_rows():
    laws = counts.by_row([counts.table([0, 0.5, 0, 0.5]), counts.uniform(0, 2)])
    model = Model(laws, FEATURES, LinearGaussian())
    state, _ = model.simulate(np.random.default_rng(0), DIMS)
    np.testing.assert_array_equal(model.row_prior(state).whole, [True, False])
    some = model.on_rows(np.array([1]))
    assert len(some.counts) == 1
    assert some.counts[0] == counts.uniform(0, 2)


ZEROS = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("laws", "likelihood", "values", "words"),
    [
        (counts.as_row_counts(counts.exactly(1), 2), LinearGaussian(), ZEROS, "3 rows.*2 laws"),
        (
            counts.as_row_counts(counts.exactly(9), 3),
            LinearGaussian(),
            ZEROS,
            "max_features=4.*exactly.9.*9 or more",
        ),
        (counts.as_row_counts(counts.exactly(1), 3), PoissonCounts(), ZEROS - 1, "counts .0, 1"),
        (counts.as_row_counts([1, 0, 1], 3), PoissonCounts(), ZEROS + 1, "row 1.*background"),
    ],
)
def test_what_cannot_be_is_refused(laws, likelihood, values, words):
    with pytest.raises(InputError, match=words):
        Model(laws, 4, likelihood).check(in_memory(complete(values)))


def test_what_can_be_is_not():
    laws = counts.as_row_counts([1, 0, 1], 3)
    Model(laws, 4, PoissonCounts()).check(in_memory(complete(ZEROS)))
    Model(laws, 4, PoissonCounts(background=True)).check(in_memory(complete(ZEROS + 1)))
    Model(laws, 4, LinearGaussian()).check(in_memory(complete(ZEROS + 1)))


def test_states_of_other_models_are_refused():
    rng = np.random.default_rng(0)
    model = Model(LAWS, FEATURES, LinearGaussian())
    state = model.draw_prior(rng, DIMS)
    model.check_state(state)
    for other in (
        state._replace(count_log_probs=state.count_log_probs[:1]),
        state._replace(count_log_probs=state.count_log_probs[:, :-1]),
        state._replace(log_odds=state.log_odds[:-1]),
    ):
        with pytest.raises(InputError, match="2 count laws and 3 features"):
            model.row_prior(other)
    with pytest.raises(InputError, match="one position among the 2 laws"):
        counts.RowCounts(LAWS.laws, np.array([0, 1, 2, 0]))


def test_a_mass_is_below_the_number_of_features():
    with pytest.raises(InputError, match="mass must be below max_features=3, but got 3"):
        Model(LAWS, FEATURES, LinearGaussian(), mass=3.0)
