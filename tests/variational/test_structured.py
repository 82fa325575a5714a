"""Structured variational inference: its bound, every step of it, and what it finds."""

from functools import partial

import numpy as np
import pytest
from scipy.special import logsumexp

import ribp
from ribp.errors import InputError
from ribp.kernels import sweep_structured as kernel
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete
from ribp.model import Model
from ribp.search import pool
from ribp.testing.exact import all_rows
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from ribp.variational import features, point_weights, structured
from ribp.variational.state import weights_of
from tests.helpers import small_posteriors as small
from tests.helpers.structured_cases import bound, draw, from_rows, rows_of, swept, update, whole

KINDS = [
    {},
    {"background": True},
    {"shared": True},
    {"shared": True, "background": True, "noise_scale": 0.6, "feature_scale": 1.3},
    {"missing": 0.0},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def begin(case):
    """Return the structured state at the rows of a draw from the prior."""
    return from_rows(case.model, case.data, case.state.rows, case.state)


def shaken(rng, state):
    """Return a state that is best in nothing."""
    q, size = state.q, state.q.features.mean.shape[0]
    roots = rng.normal(size=(*q.features.covariance.shape[:1], size, size))
    law_counts = q.law_counts * rng.uniform(0.5, 1.5, q.law_counts.shape)
    return state._replace(
        row_log_odds=state.row_log_odds + rng.normal(0, 2, state.row_log_odds.shape),
        count_terms=state.count_terms + rng.normal(0, 1, state.count_terms.shape),
        q=q._replace(
            features=features.FeatureFactor(
                q.features.mean + rng.normal(size=q.features.mean.shape),
                0.1 * np.eye(size) + 0.3 * roots @ roots.transpose(0, 2, 1),
            ),
            law_counts=law_counts,
            log_odds=q.log_odds + rng.normal(size=q.log_odds.size),
        ),
    )


def enumerated(case, state):
    """Return log evidence with the log prior of the points, and the divergence of q."""
    model, data, q, parameters = case.model, case.data, state.q, state.q.parameters
    exact = small.posterior(model, data, parameters, q.log_odds)
    log_q = small.matrix_log_q(small.rows_log_q(state.row_log_odds, state.count_terms))
    points = small.log_prior_of_points(model, parameters, q.log_odds, q.mass, q.concentration)
    away = small.divergence(model, data, parameters, exact, log_q, q.features, q.law_counts)
    return exact.log_evidence + points, away


@every_kind
def test_the_bound_is_evidence_minus_divergence(kind):
    rng = np.random.default_rng(0)
    for seed in range(2):
        case = small.small(seed, **kind)
        state = begin(case)
        for at in (shaken(rng, state), state):
            evidence, away = enumerated(case, at)
            found = bound(at, case.model, case.data)
            assert found == pytest.approx(evidence - away, abs=1e-10 * max(1, abs(evidence)))
            assert found <= evidence + 1e-10
        assert state.q.bound == pytest.approx(found, abs=1e-10)


def test_a_bound_without_the_divergence_of_laws_is_noticed():
    case = small.small(0)
    state = shaken(np.random.default_rng(1), begin(case))
    evidence, away = enumerated(case, state)
    forgotten = point_weights.law_divergence(case.model.counts, state.q.law_counts)
    wrong = bound(state, case.model, case.data) + forgotten
    assert abs(wrong - evidence + away) > 1e-4


@every_kind
def test_no_part_of_an_update_lowers_the_bound(kind):
    """Rows, laws, features, scales and weights, one after the other, from anywhere."""
    rng = np.random.default_rng(2)
    for seed in range(6):
        case = small.small(seed, laws=("gap", "wide", "learned", "learned"), **kind)
        model, data = case.model, case.data
        likelihood = model.likelihood
        state = shaken(rng, begin(case))
        bounds = [bound(state, model, data)]

        def keep(changed, bounds=bounds, model=model, data=data):
            bounds.append(bound(changed, model, data))
            return changed

        def change(state, keep=keep, **parts):
            return keep(state._replace(q=state.q._replace(**parts)))

        for _ in range(3):
            state, totals = swept(state, model, data)
            keep(state)
            state = change(state, law_counts=totals.law_counts)
            t = likelihood.deviations(len(totals.sums.products), state.q.parameters)
            factor = features.update_features(totals.sums, state.q.features, t, full=True)
            state = change(state, features=factor)
            scales = features.update_scales(likelihood, totals.sums, factor, state.q.parameters)
            state = change(state, parameters=scales)
            sizes, histogram = totals.sizes, totals.law_counts.sum(axis=0)
            fresh = point_weights.update(model, weights_of(state.q), sizes, histogram)
            state = change(state, **fresh._asdict())
        assert np.diff(bounds).min() > -1e-9


def test_rows_of_stale_data_lower_the_bound():
    """The broken twin, where rows are at their best: a pass with the data of other rows."""
    for seed in range(3):
        case = small.small(seed, laws=("wide", "wide", "wide"), missing=0.0)
        state = begin(case)
        for _ in range(200):
            state = update(state, case.model, case.data, every=999)
        for stale in (False, True):
            data = complete(np.roll(case.data.values, 1, axis=0)) if stale else case.data
            moved, _ = swept(state, case.model, data)
            change = bound(moved, case.model, case.data) - state.q.bound
            assert (change < -1e-4) if stale else (abs(change) < 1e-9)


@every_kind
def test_updates_climb_and_know_their_bound(kind):
    case = small.small(7, laws=("gap", "wide", "learned", "learned"), **kind)
    state = begin(case)
    for number in range(1, 30):
        before = state.q.bound
        state = update(state, case.model, case.data, every=5)
        assert state.q.number == number
        assert state.q.bound >= before - 1e-9
    again = bound(state, case.model, case.data)
    assert state.q.bound == pytest.approx(again, abs=1e-9)
    means = state.q.features.mean[: case.model.n_features]
    np.testing.assert_array_equal(state.q.parameters.features, means)


# The gradient in lambda


def row_problem(seed, features=5, law=None):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(features, 3))
    theta = rng.normal(size=features)
    f = np.array([0.0, 0.3, 0.4, 0.2, 0.1, 0.0]) if law is None else law
    with np.errstate(divide="ignore"):
        h = np.log(f) - ribp.log_esp(theta)
    return 2 * rng.normal(size=features), loadings @ loadings.T, theta, h


def row_bound(problem, lam, g):
    """Return E_q [b.z - z'Gz/2 + theta.z + h(|z|) - log q(z)], every z written down."""
    linear, gram, theta, h = problem
    z = all_rows(lam.size)
    z = z[h[z.sum(axis=1)] > -np.inf]
    ones = z.sum(axis=1)
    log_q = z @ lam + g[ones]
    log_q -= logsumexp(log_q)
    fit = z @ (linear + theta) - 0.5 * np.einsum("ri,ij,rj->r", z, gram, z) + h[ones]
    return float(np.exp(log_q) @ (fit - log_q))


def moments(lam, h):
    z = all_rows(lam.size)
    log_q = z @ lam + h[z.sum(axis=1)]
    q = np.exp(log_q - logsumexp(log_q))
    return q @ z, (z.T * q) @ z


def math_gradient(problem, lam):
    """Return g + F (v - lambda + theta), for q with the count part of the prior."""
    linear, gram, theta, h = problem
    nu, pairs = moments(lam, h)
    w = np.exp(lam)
    s = w[:, None] / (w[:, None] - w + np.eye(lam.size))
    off = gram * (1 - np.eye(lam.size))
    v = linear - 0.5 * np.diag(gram) - (off * s).sum(axis=0)
    g = -(off * s * (s - 1) * (nu[:, None] - nu)).sum(axis=1)
    return g + (pairs - np.outer(nu, nu)) @ (v - lam + theta)


def numerical_gradient(problem, lam, g):
    step = 1e-5 * np.eye(lam.size)
    return np.array(
        [(row_bound(problem, lam + d, g) - row_bound(problem, lam - d, g)) / 2e-5 for d in step]
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_in_lambda(seed):
    problem = row_problem(seed)
    lam = np.random.default_rng(seed).normal(size=5)
    expected = numerical_gradient(problem, lam, problem[3])
    np.testing.assert_allclose(math_gradient(problem, lam), expected, atol=1e-7)


def converged(problem, passes=400):
    linear, gram, theta, h = problem
    none, place = np.zeros((0, *gram.shape)), np.full(1, -1)
    lam, g = theta[None].copy(), h[None].copy()
    for _ in range(passes):
        kernel.sweep(
            linear[None], gram, none, place, theta, h[None], np.zeros(1, int), np.ones(1), True,
            lam, g, np.empty((1, theta.size)), np.empty((1, h.size)), np.empty(1),
            np.zeros_like(gram), none,
        )  # fmt: skip
    return lam[0], g[0]


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_vanishes_at_the_end(seed):
    point = np.eye(6)[2] if seed % 2 else None
    problem = row_problem(seed, law=point)
    lam, g = converged(problem)
    slope = numerical_gradient(problem, lam, g)
    assert np.abs(slope).max() < 1e-6
    if point is not None:  # there is nothing to choose of the count: the formula holds as it stands
        assert np.abs(math_gradient(problem, lam)).max() < 1e-6
    early = converged(problem, 1)
    assert np.abs(numerical_gradient(problem, *early)).max() > 1e-6


# Rows that are alike, threads, draws, errors


def repeated(times):
    """Return a case, and the bound after some updates, with every row `times` times."""
    rng = np.random.default_rng(5)
    values = np.repeat(rng.normal(size=(6, 3)), times, axis=0)
    law = ribp.counts.as_row_counts("uniform(1, 2)", len(values))
    model = Model(law, 3, LinearGaussian(noise_scale=0.5, feature_scale=1.0), mass=1.0)
    rows = np.repeat(np.eye(3, dtype=np.int8)[[0, 1, 2, 0, 1, 2]], times, axis=0)
    state = pool.from_rows(rng, model, complete(values), rows)
    state = state._replace(log_odds=np.array([0.1, -0.2, 0.4]))
    return model, complete(values), from_rows(model, complete(values), rows, state)


def test_alike_or_not_makes_no_difference():
    model, data, state = repeated(3)
    noise = 1e-9 * np.random.default_rng(6).normal(size=data.values.shape)
    apart = complete(data.values + noise)
    for _ in range(5):
        one, other = update(state, model, data), update(state, model, apart)
        assert one.q.bound == pytest.approx(other.q.bound, abs=1e-5)
        np.testing.assert_allclose(one.row_means, other.row_means, atol=1e-6)
        state = one


def test_threads_change_nothing():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(1100, 3))
    values[rng.random(values.shape) < 0.1] = np.nan
    data = Data(np.nan_to_num(values), ~np.isnan(values))
    model = Model(ribp.counts.as_row_counts("uniform(0, 2)", 1100), 3, LinearGaussian())
    state = model.draw_prior(rng, 3)
    first = from_rows(model, data, state.rows, state)
    one, two = (update(first, model, data, n_threads=n) for n in (1, 2))
    assert one.q.bound == two.q.bound
    np.testing.assert_array_equal(one.row_log_odds, two.row_log_odds)
    np.testing.assert_array_equal(one.q.features.mean, two.q.features.mean)


def test_a_block_of_complete_rows_among_data_with_missing_entries():
    """The order of rows, hence which block is complete, makes no difference."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(600, 2))
    observed = np.ones(values.shape, bool)
    observed[599, 1] = False
    model = Model(
        ribp.counts.as_row_counts("uniform(0, 2)", 600), 3, LinearGaussian(background=True)
    )
    drawn = model.draw_prior(rng, 2)
    bounds = []
    for order in (np.arange(600), np.arange(600)[::-1]):
        data = Data(np.where(observed, values, 0.0)[order], observed[order])
        state = update(from_rows(model, data, drawn.rows[order], drawn), model, data)
        bounds.append(state.q.bound)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-11)


def test_draws_come_from_q_and_obey_their_laws():
    case = small.small(3, laws=("gap", "point", "learned"))
    state = begin(case)
    q = np.exp(small.rows_log_q(state.row_log_odds, state.count_terms))

    def p_values(n, seed, q=q):
        rng, seen, means = np.random.default_rng(seed), np.zeros((3, 8)), []
        for number in range(n):
            numbered = state._replace(q=state.q._replace(number=number))
            drawn = draw(rng, numbered, case.model, case.data, seed)
            seen[range(3), drawn.rows @ [1, 2, 4]] += 1
            means.append(drawn.parameters.features.ravel())
        assert np.isfinite(case.model.log_joint(drawn, case.data))
        pairs = zip(np.transpose(means), state.q.features.mean[:3].ravel(), strict=True)
        rows = [frequencies_p_value(*pair) for pair in zip(seen, q, strict=True)]
        return rows + [mean_p_value(*pair) for pair in pairs]

    assert holds(p_values, replicates(1000))
    assert is_caught(partial(p_values, q=q[[1, 0, 2]]), 200)


def test_a_row_without_a_finite_bound_is_named():
    model, data, state = repeated(1)
    for value in (1e200, np.inf, np.nan):  # its squares overflow; its terms; neither is a number
        data.values[4, 1] = value
        with np.errstate(all="ignore"), pytest.raises(InputError, match="row 4"):
            update(state, model, data)


def test_a_start_that_finds_features():
    rng = np.random.default_rng(10)
    ones = rng.integers(1, 3, 60)  # with two of four in every row z and 1 - z could not be told
    rows = np.array([rng.permutation(np.arange(4) < k) for k in ones], np.int8)
    values = rows @ (3 * rng.normal(size=(4, 8))) + 0.3 * rng.normal(size=(60, 8))
    data = complete(values)
    model = Model(ribp.counts.as_row_counts(ones, 60), 4, LinearGaussian())
    here = rows_of(model, data)
    q = structured.start(rng, model, here, pool.best(rng, model, data, 1))
    state = whole(q, model, here)
    for _ in range(10):
        before, state = state, update(state, model, data)
    both = state.row_means.T @ rows
    assert sorted(both.argmax(axis=1)) == [0, 1, 2, 3]
    np.testing.assert_allclose(both.max(axis=1).sum(), ones.sum(), atol=1e-3)
    assert np.abs(state.row_means - before.row_means).max() < 1e-6


def test_rows_lean_as_far_either_way():
    """Log-odds of a start differ from those of the weights by the same number, up or down."""
    case = small.small(0, background=True)
    z, loaded = case.state.rows, []
    rows = rows_of(case.model, case.data)
    load = rows.load

    def keep(table):
        loaded.append(table[:, : z.shape[1]] - case.state.log_odds)
        load(table)

    rows.load = keep
    structured.from_rows(case.model, rows, z, case.state)
    lean = loaded[0]
    assert lean[z == 1].min() == lean[z == 1].max() > 1.0
    np.testing.assert_allclose(lean[z == 0], -lean[z == 1][0])
