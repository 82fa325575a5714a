"""Mean field for the finite buffet: its bound against enumeration; no step lowers it."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, digamma, entr, expit, logsumexp

from ribp.baselines import ibp_variational as buffet
from ribp.baselines.ibp_variational import FiniteBuffetModel
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.model import State
from ribp.running.memory_samplers import BuffetVariational, OnThreads
from ribp.search import pool
from ribp.testing.exact import all_rows
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational.mean_field import all_sums, data_bound
from tests.helpers.small_posteriors import feature_divergence

pytestmark = pytest.mark.jit

FEATURES, DIMS, ROWS = 3, 2, 2
ALL = all_rows(FEATURES)
FIXED = LinearGaussian(noise_scale=0.7, feature_scale=1.3)
CASES = {
    "complete": FIXED,
    "missing": FIXED,
    "background, missing": replace(FIXED, background=True),
    "shared": replace(FIXED, shared=True),
}
KINDS = ["beta", "sample"]


def bound(state, model, data):
    """Return the bound from its definition, for any state."""
    nu, sizes = state.nu, state.nu.sum(axis=0)
    value = float(entr(nu).sum() + entr(1.0 - nu).sum())
    value += float(sizes @ state.log_odds) + len(nu) * buffet._log_none(state)
    value += model.log_mass_prior(state.mass)
    prior = model.weight_prior(state.mass)
    if state.shapes.size:
        shapes = np.array([[prior.shape], [prior.concentration - prior.shape]])
        value -= beta_divergence(state.shapes, shapes)
    else:
        value += prior.log_density(state.log_odds)
    sums = all_sums(model.likelihood, data, nu)
    return value + data_bound(model.likelihood, sums, state.features, state.parameters)


def build(rng, likelihood, kind, missing=False, n_rows=ROWS, dims=DIMS, mass=1.2):
    model = FiniteBuffetModel(n_rows, FEATURES, likelihood, mass, 1.5)
    rows = (rng.random((n_rows, FEATURES)) < 0.5).astype(np.int8)
    parameters = likelihood.draw_prior(rng, FEATURES, dims)
    values = likelihood.draw_data(rng, rows, parameters)
    if missing:
        values[0, 0] = np.nan
        values[rng.random(values.shape) < 0.1] = np.nan
    data = with_missing(values)
    first = State(rows, np.zeros(FEATURES), mass or 1.0, 1.5, np.zeros((0, 4)), parameters)
    return model, data, buffet.from_rows(model, data, rows, first, kind)


def scrambled(rng, state):
    """Return a state with random factors."""
    nu = rng.random(state.nu.shape)
    mean = state.features.mean + 0.3 * rng.normal(size=state.features.mean.shape)
    state = state._replace(nu=nu, features=state.features._replace(mean=mean))
    if state.shapes.size:
        shapes = rng.uniform(0.3, 3.0, state.shapes.shape)
        return state._replace(shapes=shapes, log_odds=digamma(shapes[0]) - digamma(shapes[1]))
    return state._replace(log_odds=rng.normal(0, 2, FEATURES))


# Enumeration


def beta_divergence(shapes, others):
    on, off = digamma(shapes) - digamma(shapes.sum(axis=0))
    each = (
        betaln(*others) - betaln(*shapes) + (shapes - others)[0] * on + (shapes - others)[1] * off
    )
    return each.sum()


def enumerated(state, model, data):
    """Return the log evidence of the finite buffet, weights integrated or given, and KL."""
    a = model.concentration * state.mass / FEATURES
    b = model.concentration - a
    q_z = np.where(ALL[:, None], state.nu, 1 - state.nu).prod(axis=2)
    log_p, q, extra = [], [], []
    for at in product(range(len(ALL)), repeat=ROWS):
        z = ALL[list(at)]
        sizes = z.sum(axis=0)
        given = np.array([a + sizes, b + ROWS - sizes])
        chance = np.prod([q_z[k, n] for n, k in enumerate(at)])
        away = feature_divergence(model, data, state.parameters, z, state.features)
        if state.shapes.size:
            prior = (betaln(*given) - betaln(a, b)).sum()
            away += beta_divergence(state.shapes, given)
        else:
            prior = np.log(np.where(z, expit(state.log_odds), expit(-state.log_odds))).sum()
        log_p.append(prior + model.likelihood.log_marginal(data, z, state.parameters))
        q.append(chance)
        extra.append(chance * away)
    log_p, q = np.array(log_p), np.array(q)
    on, evidence = q > 0, logsumexp(log_p)
    return evidence, float((q[on] * (np.log(q[on]) - log_p[on] + evidence)).sum() + sum(extra))


def fixed_part(state, model):
    """Return what weights that are given add to the bound."""
    if state.shapes.size:
        return 0.0
    a, c = model.concentration * state.mass / FEATURES, model.concentration
    theta = state.log_odds
    return float((a * theta - c * np.logaddexp(0, theta) - betaln(a, c - a)).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_bound_is_evidence_less_divergence(case, kind):
    rng = np.random.default_rng([len(case), len(kind)])
    model, data, state = build(rng, CASES[case], kind, "missing" in case)
    evidence, away = enumerated(state, model, data)
    assert state.bound - fixed_part(state, model) == pytest.approx(evidence - away, abs=1e-10)
    assert away > 0
    other = scrambled(rng, state)
    there, away = enumerated(other, model, data)
    found = bound(other, model, data) - fixed_part(other, model)
    assert found == pytest.approx(there - away, abs=1e-10)
    for _ in range(20):
        state, _ = buffet.update(rng, np.uint64(0), state, model, data)
    assert state.bound - fixed_part(state, model) <= evidence
    assert bound(state, model, data) == pytest.approx(state.bound, abs=1e-10)


def test_weights_of_another_limit_are_caught():
    """The broken twin: the paper's Beta(alpha/I + m, 1 + N - m) lowers the bound."""
    rng = np.random.default_rng(0)
    model, data, state = build(rng, FIXED, "beta", n_rows=8)
    sizes, a = state.nu.sum(axis=0), state.mass / FEATURES
    shapes = np.array([a + sizes, 1.0 + len(state.nu) - sizes])
    wrong = state._replace(shapes=shapes, log_odds=digamma(shapes[0]) - digamma(shapes[1]))
    right = buffet._with_best_weights(state, model, sizes)
    assert bound(right, model, data) == pytest.approx(state.bound, abs=1e-10)
    assert bound(wrong, model, data) < state.bound - 1e-3


# Every step

LEARNING = {
    "per dimension": LinearGaussian(),
    "shared, background": LinearGaussian(shared=True, background=True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNING)
def test_iterations_never_lower_the_bound_between_draws_of_the_weights(name, kind):
    rng, redrawn = np.random.default_rng(1), []
    model, data, state = build(rng, LEARNING[name], kind, True, n_rows=30, dims=5, mass=None)
    for number in range(31):
        if number == 5:
            state = scrambled(rng, state)
            state = state._replace(bound=bound(state, model, data))
        fresh, was_redrawn = buffet.update(rng, np.uint64(1), state, model, data, every=10)
        redrawn.append(was_redrawn)
        assert was_redrawn or fresh.bound >= state.bound - 1e-11 * abs(state.bound)
        assert fresh.bound == pytest.approx(bound(fresh, model, data), rel=1e-12)
        state = fresh
    assert np.flatnonzero(redrawn).tolist() == ([10, 20, 30] if kind == "sample" else [])


def test_best_weights_and_mass_are_at_the_top():
    rng = np.random.default_rng(4)
    model, data, state = build(rng, FIXED, "beta", n_rows=20, mass=None)
    best = bound(buffet._with_best_weights(state, model, state.nu.sum(axis=0)), model, data)
    top = buffet._with_best_weights(state, model, state.nu.sum(axis=0))
    for factor in (0.9, 1.1):
        for changed in (top._replace(mass=factor * top.mass), spoiled(top, factor)):
            assert bound(changed, model, data) < best - 1e-6


def spoiled(state, factor):
    shapes = state.shapes * np.array([[factor], [1.0]])
    return state._replace(shapes=shapes, log_odds=digamma(shapes[0]) - digamma(shapes[1]))


def test_a_mass_that_cannot_be_better_stays():
    model = FiniteBuffetModel(5, FEATURES, FIXED)
    sizes = np.array([5.0, 5.0, 5.0])
    best = buffet._best_mass(model, sizes, 1.0)
    assert buffet._best_mass(model, sizes, best) == pytest.approx(best, rel=1e-6)
    assert 0 < best < FEATURES


def test_drawn_weights_have_their_law_given_the_rows():
    rng = np.random.default_rng(2)
    model, _, state = build(rng, FIXED, "sample", n_rows=12)
    rows = (state.nu > 0.5) * 1.0
    state = state._replace(nu=rows)
    a = model.concentration * state.mass / FEATURES
    sizes = rows.sum(axis=0)

    def p_values(n, seed, more=0):
        rng = np.random.default_rng(seed)
        drawn = np.array([
            expit(buffet._redraw(rng, np.uint64(0), state, model).log_odds) for _ in range(n)
        ])  # fmt: skip
        means = (a + sizes + more) / (model.concentration + 12 + more)
        return [mean_p_value(*pair) for pair in zip(drawn.T, means, strict=True)]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, more=3), 400)


def test_a_learned_mass_is_drawn_too():
    rng = np.random.default_rng(2)
    model, _, state = build(rng, FIXED, "sample", n_rows=12, mass=None)
    masses = [buffet._redraw(rng, np.uint64(0), state, model).mass for _ in range(50)]
    assert len(set(masses)) > 40
    assert max(masses) < FEATURES


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_those_of_q(kind):
    rng = np.random.default_rng(3)
    model, _, state = build(rng, FIXED, kind, True, n_rows=6)
    n, i = np.argwhere((state.nu > 0.05) & (state.nu < 0.95))[0]

    def p_values(size, seed, wrong=1.0):
        rng = np.random.default_rng(seed)
        draws = [buffet.draw(rng, np.uint64(1), state, model) for _ in range(size)]
        assert draws[0].count_log_probs.shape == (0, FEATURES + 1)
        pi = [expit(drawn.log_odds[0]) for drawn in draws]
        if kind == "beta":
            mean = state.shapes[0, 0] / state.shapes[:, 0].sum()
        else:
            mean = expit(state.log_odds[0])
            assert set(pi) == {mean}
        features = [drawn.parameters.features[1, 0] for drawn in draws]
        return [
            mean_p_value([drawn.rows[n, i] for drawn in draws], wrong * state.nu[n, i]),
            mean_p_value(features, state.features.mean[1, 0]),
            *([mean_p_value(pi, mean)] if kind == "beta" else []),
        ]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, wrong=0.5), 400)


def test_a_mass_too_large_is_refused():
    with pytest.raises(InputError, match="max_features=3"):
        FiniteBuffetModel(5, 3, FIXED, mass=3.0)


# Starts


def barred(rng, n_rows, missing=0.0, offset=0.0):
    """Return rows with one or two of three features, or any with an offset, and clear data.

    With an offset one or two of three could be told in several ways: as pairs, for example.
    """
    rows = ALL[rng.integers(0, 8, n_rows) if offset else rng.integers(1, 7, n_rows)]
    components = 3.0 * np.repeat(np.eye(3), 4, axis=1)
    values = offset + rows @ components + 0.3 * rng.normal(size=(n_rows, 12))
    values[rng.random(values.shape) < missing] = np.nan
    return rows, with_missing(values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("background", [False, True])
def test_start_finds_features_that_are_there(kind, background, monkeypatch):
    monkeypatch.setattr(pool, "SEARCH_ROWS", 60)
    rng = np.random.default_rng(1)
    rows, data = barred(rng, 90, 0.02, 5.0 * background)
    model = FiniteBuffetModel(90, 4, LinearGaussian(background=background))
    here = OnThreads(data, 1)
    begun = BuffetVariational(model, kind).begin(rng, here, pool.best(rng, model, data, 2))
    state = begun.q
    for _ in range(20):
        state, _ = buffet.update(rng, np.uint64(0), state, model, data)
    found = {tuple(column) for column in (state.nu > 0.5).T}
    for column in (rows > 0).T:  # a background may stand for what rows without a feature show
        assert tuple(column) in found or (background and tuple(~column) in found)
    assert (state.shapes.size == 0) == (kind == "sample")


def test_scales_that_are_fixed_stay_fixed():
    rng = np.random.default_rng(1)
    _, data = barred(rng, 30)
    model = FiniteBuffetModel(30, 3, LinearGaussian(noise_scale=0.3, feature_scale=9.0), 1.0)
    begin = pool.best(rng, model, complete(data.values), 2)
    state = BuffetVariational(model, "beta").begin(rng, OnThreads(data, 1), begin).q
    np.testing.assert_array_equal(state.parameters.noise_scale, 0.3)
    assert state.parameters.feature_scale == 9.0
    assert state.mass == 1.0
