"""The hybrid's bound against enumeration of its surrogate model; no step lowers it."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp

import ribp
from ribp.counts import RowCounts, learned
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import complete, with_missing
from ribp.mcmc import weight_moves
from ribp.model import Model, State
from ribp.search.pool import best
from ribp.testing.exact import all_rows
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from ribp.variational import hybrid, mean_field
from ribp.variational.features import update_features, update_scales
from ribp.variational.point_weights import expected_log_probs
from tests.helpers.hybrid_cases import (
    Whole,
    bound,
    draw,
    from_rows,
    law_counts,
    loaded,
    rows_of,
    update,
    whole,
)
from tests.helpers.small_posteriors import feature_divergence

pytestmark = pytest.mark.jit

FEATURES, DIMS, ROWS = 3, 2, 2
ALL = all_rows(FEATURES)
FIXED = LinearGaussian(noise_scale=0.7, feature_scale=1.3)
LAWS = {
    "all counts": ribp.counts.table([0.2, 0.3, 0.4, 0.1]),
    "one count": ribp.counts.exactly(2),
    "none or all": ribp.counts.table([0.5, 0.0, 0.0, 0.5]),
    "learned": learned([0.5, 1.0, 2.0, 0.3]),
    "learned, not all": learned([0.5, 0.0, 2.0]),
}
CASES = {
    "complete": {},
    "missing": {"missing": True},
    "background": {"likelihood": replace(FIXED, background=True), "missing": True},
    "shared": {"likelihood": replace(FIXED, shared=True)},
}


def build(rng, law, likelihood=FIXED, missing=False, n_rows=ROWS, dims=DIMS):
    """Return a model, data drawn from it, and a state at random rows."""
    laws = (LAWS[law], ribp.counts.uniform(0, FEATURES))
    index = np.minimum(np.arange(n_rows), 1) if n_rows == 1 else (np.arange(n_rows) == n_rows - 1)
    model = Model(RowCounts(laws, index * 1), FEATURES, likelihood, 1.0, 1.0)
    truth, values = model.simulate(rng, dims)
    if missing:
        values[0, 0] = np.nan
        values[rng.random(values.shape) < 0.1] = np.nan
    data = with_missing(values)
    rows = model.draw_rows(rng, truth.log_odds, truth.count_log_probs)
    return model, data, from_rows(model, data, rows, truth)


def scrambled(rng, state, model):
    """Return a state with random factors, far from any optimum."""
    log_f = expected_log_probs(model.counts, state.q.law_counts)[model.counts.law_of_row]
    gamma = np.where(np.isfinite(log_f), rng.random(log_f.shape), 0.0)
    nu = rng.random(state.nu.shape)
    for n in range(len(nu)):
        if gamma[n, 1:-1].any():
            gamma[n, [0, -1]] = 0.0
        else:
            end = int(rng.integers(0, 2)) if gamma[n, [0, -1]].all() else int(gamma[n, 0] == 0)
            nu[n], gamma[n] = float(end), np.eye(FEATURES + 1)[-end]
    gamma /= gamma.sum(axis=1, keepdims=True)
    mean = state.q.features.mean + 0.3 * rng.normal(size=state.q.features.mean.shape)
    seen = rng.random(state.q.law_counts.shape) * np.isfinite(
        expected_log_probs(model.counts, state.q.law_counts)
    )
    features = state.q.features._replace(mean=mean)
    return Whole(state.q._replace(features=features, law_counts=seen), nu, gamma)


# Enumeration


def dirichlet_divergence(shape, other):
    on = other > 0
    a, b = shape[on], other[on]
    mean_log = digamma(a) - digamma(a.sum())
    value = gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
    return value + (a - b) @ mean_log


def bases(model):
    """Return the learned laws with their base."""
    for at, law in enumerate(model.counts.laws):
        if isinstance(law, ribp.counts.Learned):
            yield at, np.pad(law.base, (0, FEATURES + 1 - len(law.base)))


def log_counts_prior(model, counts):
    """Return log p(J_1 .. J_N), learned laws integrated out."""
    which, value, known = model.counts.law_of_row, 0.0, dict(bases(model))
    for at, law in enumerate(model.counts.laws):
        seen = np.bincount(counts[which == at], minlength=FEATURES + 1)
        if at in known:
            base = known[at]
            if seen[base == 0].any():
                return -np.inf
            on = base > 0
            value += gammaln(base.sum()) - gammaln(base.sum() + seen.sum())
            value += (gammaln(base + seen)[on] - gammaln(base[on])).sum()
        else:
            value += law.log_probs(FEATURES)[seen > 0] @ seen[seen > 0]
    return value


def enumerated(state, model, data):
    """Return the log evidence of the surrogate model, and KL(q | posterior)."""
    eta = np.array([ribp.inclusion_probs(state.q.log_odds, k) for k in range(FEATURES + 1)])
    with np.errstate(divide="ignore"):
        log_z = np.log(np.where(ALL[:, None], eta, 1 - eta)).sum(axis=2)  # of rows given counts
    q_z = np.where(ALL[:, None], state.nu, 1 - state.nu).prod(axis=2)  # (2^I, rows)
    log_p, q, extra = [], [], []
    for at in product(range(len(ALL)), repeat=ROWS):
        z = ALL[list(at)]
        marginal = model.likelihood.log_marginal(data, z, state.q.parameters)
        chance = np.prod([q_z[a, n] for n, a in enumerate(at)])
        away = (
            chance * feature_divergence(model, data, state.q.parameters, z, state.q.features)
            if chance
            else 0.0
        )
        for counts in product(range(FEATURES + 1), repeat=ROWS):
            prior = log_counts_prior(model, np.array(counts))
            prior += sum(log_z[a, k] for a, k in zip(at, counts, strict=True))
            both = np.prod([state.gamma[n, k] for n, k in enumerate(counts)])
            log_p.append(marginal + prior)
            q.append(chance * both)
            extra.append(both * away)
            for g, base in bases(model):
                own = np.bincount(
                    np.array(counts)[model.counts.law_of_row == g], minlength=FEATURES + 1
                )
                if q[-1]:
                    now = base + state.q.law_counts[g]
                    extra[-1] += q[-1] * dirichlet_divergence(now, base + own)
    log_p, q = np.array(log_p), np.array(q)
    evidence = logsumexp(log_p)
    on = q > 0
    return evidence, float((q[on] * (np.log(q[on]) - log_p[on] + evidence)).sum() + sum(extra))


def fixed_part(state, model):
    """Return what weights that are fixed add to the bound."""
    prior = model.weight_prior(state.q.mass, state.q.concentration)
    return prior.log_density(state.q.log_odds)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES)
def test_bound_is_evidence_less_divergence(case, law):
    rng = np.random.default_rng([len(case), len(law)])
    model, data, state = build(rng, law, **CASES[case])
    evidence, away = enumerated(state, model, data)
    assert state.q.bound - fixed_part(state, model) == pytest.approx(evidence - away, abs=1e-10)
    assert away > 0
    other = scrambled(rng, state, model)
    _, away = enumerated(other, model, data)
    found = bound(other, model, data) - fixed_part(state, model)
    assert found == pytest.approx(evidence - away, abs=1e-10)
    for _ in range(20):
        state, _ = update(rng, 0, state, model, data)
    assert state.q.bound - fixed_part(state, model) <= evidence
    assert bound(state, model, data) == pytest.approx(state.q.bound, abs=1e-10)


def test_bound_notices_rows_that_are_taken_for_the_restricted_buffet():
    """The broken twin: the evidence of the model itself, not that of the surrogate."""
    rng = np.random.default_rng(0)
    model, data, state = build(rng, "all counts")
    evidence, _ = enumerated(state, model, data)
    log_e, log_p = ribp.log_esp(state.q.log_odds), []
    log_f = expected_log_probs(model.counts, state.q.law_counts)[model.counts.law_of_row]
    for at in product(range(len(ALL)), repeat=ROWS):
        z = ALL[list(at)]
        ones = z.sum(axis=1)
        prior = (z @ state.q.log_odds - log_e[ones] + log_f[np.arange(ROWS), ones]).sum()
        log_p.append(prior + model.likelihood.log_marginal(data, z, state.q.parameters))
    assert abs(logsumexp(log_p) - evidence) > 1e-3


# Every step

LEARNING = {
    "per dimension": LinearGaussian(),
    "shared, background": LinearGaussian(shared=True, background=True),
    "background": LinearGaussian(background=True, feature_scale=2.0),
}


def steps(state, model, data, spoil=None):
    """Yield the state after every single step of an iteration."""
    likelihood, counts, (q, nu, gamma) = model.likelihood, model.counts, state
    log_f = expected_log_probs(counts, q.law_counts)
    if spoil == "another law":
        log_f = expected_log_probs(counts, 1e3 * q.law_counts[:, ::-1])
    prior = mean_field.count_prior(q.log_odds, log_f)
    nu, gamma, _, _ = mean_field.sweep_rows(
        likelihood, data, prior, counts.law_of_row, q.features, q.parameters, nu, gamma
    )
    yield Whole(q, nu, gamma)
    seen = law_counts(counts, gamma)
    q = q._replace(law_counts=3.0 * seen if spoil == "laws seen thrice" else seen)
    yield Whole(q, nu, gamma)
    sums, scales = mean_field.all_sums(likelihood, data, nu), q.parameters
    t = likelihood.deviations(len(sums.products), scales)
    features = update_features(sums, q.features, t, full=False)
    if spoil == "pairs forgotten":
        apart = sums._replace(pairs=sums.pairs * np.eye(sums.pairs.shape[-1]))
        features = update_features(apart, q.features, t, full=False)
    q = q._replace(features=features)
    yield Whole(q, nu, gamma)
    q = q._replace(parameters=update_scales(likelihood, sums, features, scales))
    yield Whole(q, nu, gamma)


def largest_fall(spoil=None):
    falls = []
    for seed, (name, law) in enumerate(product(LEARNING, LAWS)):
        rng = np.random.default_rng(seed)
        model, data, state = build(rng, law, LEARNING[name], seed % 2 == 0, n_rows=12, dims=4)
        for number in range(3):
            state = scrambled(rng, state, model) if number else state
            before = bound(state, model, data)
            for state in steps(state, model, data, spoil):  # noqa: B020
                after = bound(state, model, data)
                falls.append((before - after) / max(1.0, abs(after)))
                before = after
    return max(falls)


def test_no_step_lowers_the_bound():
    assert largest_fall() < 1e-11


@pytest.mark.parametrize("spoil", ["another law", "laws seen thrice", "pairs forgotten"])
def test_broken_steps_are_caught(spoil):
    assert largest_fall(spoil) > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_iterations_never_lower_the_bound_between_draws_of_the_weights(law):
    rng = np.random.default_rng(1)
    model, data, state = build(rng, law, LEARNING["per dimension"], True, n_rows=30, dims=5)
    model, redrawn = replace(model, mass=None, concentration=None), []
    state, _ = update(rng, 1, state, model, data)
    for _ in range(25):
        fresh, was_redrawn = update(rng, 1, state, model, data, every=10)
        redrawn.append(was_redrawn)
        assert was_redrawn or fresh.q.bound >= state.q.bound - 1e-11 * abs(state.q.bound)
        assert was_redrawn == (fresh.q.log_odds is not state.q.log_odds)
        assert fresh.q.bound == pytest.approx(bound(fresh, model, data))
        state = fresh
    assert np.flatnonzero(redrawn).tolist() == [9, 19]


# Rows and weights


def test_rows_that_may_be_empty_or_full_find_it():
    rng = np.random.default_rng(3)
    likelihood = LinearGaussian(noise_scale=0.1, feature_scale=5.0)
    law = ribp.counts.table([0.2, 0.2, 0.2, 0.2, 0.2])
    model = Model(ribp.counts.as_row_counts(law, 60), 4, likelihood, 1.0)
    truth, values = model.simulate(rng, 8)
    assert set(truth.rows.sum(axis=1)) == set(range(5))
    data = complete(values)
    state = from_rows(model, data, truth.rows, truth)
    wrong = state._replace(nu=np.full_like(state.nu, 0.5), gamma=np.full_like(state.gamma, 0.2))
    for _ in range(5):
        wrong, _ = update(rng, 0, wrong, model, data)
    np.testing.assert_array_equal(wrong.nu > 0.5, truth.rows)
    np.testing.assert_array_equal(wrong.gamma[:, 0] > 0.5, truth.rows.sum(axis=1) == 0)


@pytest.mark.parametrize("law", ["exactly(1)", "exactly(0)", "uniform(0, 1)"])
def test_a_single_feature(law):
    rng = np.random.default_rng(0)
    model = Model(ribp.counts.as_row_counts(law, 6), 1, LinearGaussian(), 0.5)
    truth, values = model.simulate(rng, 3)
    state = from_rows(model, complete(values), truth.rows, truth)
    assert state.q.bound == pytest.approx(bound(state, model, complete(values)))


def large(rng, n_rows=1100):
    law = ribp.counts.uniform(1, 3)
    model = Model(ribp.counts.as_row_counts(law, n_rows), 6, LinearGaussian(noise_scale=0.5))
    truth, values = model.simulate(rng, 10)
    values[rng.random(values.shape) < 0.01] = np.nan
    return model, with_missing(values), truth


def test_threads_change_nothing():
    rng = np.random.default_rng(5)
    model, data, truth = large(rng)
    ends = []
    for n_threads in (1, 3):
        state = from_rows(model, data, truth.rows, truth)
        rng = np.random.default_rng(7)
        for _ in range(4):
            state, _ = update(rng, 2, state, model, data, n_threads, every=2)
        ends.append(state)
    np.testing.assert_array_equal(ends[0].nu, ends[1].nu)
    np.testing.assert_array_equal(ends[0].gamma, ends[1].gamma)
    assert ends[0].q.bound == ends[1].q.bound


def test_weights_are_drawn_given_rows_drawn_from_q():
    rng = np.random.default_rng(2)
    model, data, state = build(rng, "all counts", n_rows=12)
    q, nu = state.q._replace(number=25), (state.nu > 0.5) * 1.0
    state = Whole(q, nu, state.gamma)
    fresh, _ = update(np.random.default_rng(1), 4, state, model, data)
    rng = np.random.default_rng(1)
    rows = mean_field.draw_rows(rng, np.uint64(4), nu)
    np.testing.assert_array_equal(rows, nu)
    histogram = np.bincount(rows.sum(axis=1), minlength=FEATURES + 1)
    prior = model.weight_prior(q.mass, q.concentration)
    expected, _ = weight_moves.update(
        rng, q.log_odds, rows.sum(axis=0, dtype=np.int64), histogram, prior
    )
    np.testing.assert_array_equal(fresh.q.log_odds, expected)


def test_draws_are_those_of_q():
    rng = np.random.default_rng(3)
    model, data, state = build(rng, "learned", CASES["background"]["likelihood"], True, n_rows=6)
    uncertain = np.argwhere((state.nu > 0.05) & (state.nu < 0.95))
    assert len(uncertain)
    rows = loaded(state, model, data)
    base = np.array(LAWS["learned"].base) + state.q.law_counts[0]
    mean, noise = state.q.features.mean, state.q.parameters.noise_scale
    own = np.diagonal(state.q.features.covariance, axis1=1, axis2=2)[
        1 % len(state.q.features.covariance)
    ]

    def p_values(size, seed, wrong=0.0):
        rng = np.random.default_rng(seed)
        draws = [draw(rng, state.q, model, rows) for _ in range(size)]
        assert all(isinstance(drawn, State) for drawn in draws)
        tables = [np.exp(drawn.count_log_probs[0, 1]) for drawn in draws]
        found = [mean_p_value(tables, base[1] / base.sum())]
        for n, i in uncertain[:3]:
            found.append(mean_p_value([one.rows[n, i] for one in draws], state.nu[n, i] + wrong))
        given = [drawn.parameters for drawn in draws]
        for at, values in ((0, [p.features[0, 1] for p in given]),
                           (FEATURES, [p.background[1] for p in given])):  # fmt: skip
            away = np.array(values) - mean[at, 1]
            found += [mean_p_value(away, 0.0), mean_p_value(away**2, own[at] * noise[1] ** 2)]
        return found

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, wrong=0.2), 400)


def test_a_bound_that_is_not_a_number_names_its_row():
    rng = np.random.default_rng(0)
    model, data, state = build(rng, "all counts", n_rows=9)
    data.values[5, 1] = np.nan
    with pytest.raises(InputError, match="row 5"):
        update(rng, 0, state, model, data)


def test_start_finds_features_that_are_there():
    rng = np.random.default_rng(1)
    law = ribp.counts.uniform(1, 2)
    model = Model(ribp.counts.as_row_counts(law, 80), 4, LinearGaussian(), 2.0)
    rows = model.draw_rows(rng, np.zeros(4), law.log_probs(4)[None])
    values = rows @ rng.normal(0, 3, (4, 12)) + 0.3 * rng.normal(size=(80, 12))
    data = complete(values)
    here = rows_of(model, data)
    state = hybrid.start(rng, model, here, best(rng, model, data, 2))
    for _ in range(30):
        state, _, _ = hybrid.update(rng, np.uint64(0), state, model, here)
    found = {tuple(column) for column in (whole(state, model, here).nu > 0.5).T}
    assert found == {tuple(column) for column in (rows > 0).T}


def test_rows_of_all_ones_are_an_end_of_their_law():
    """Three of three features, surely."""
    exactly_three = np.array([[-np.inf, -np.inf, -np.inf, 0.0]])
    prior = mean_field.count_prior(np.array([0.3, -1.0, 0.5]), exactly_three)
    assert prior.end_values.tolist() == [[-np.inf, 0.0]]
