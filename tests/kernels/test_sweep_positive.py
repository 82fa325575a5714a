"""Rows with positive strengths: conditionals by quadrature, sweeps against enumeration."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr

from ribp.kernels import strength_support
from ribp.kernels import sweep_positive as kernel
from ribp.kernels.choose import FAR
from ribp.kernels.sweep_gaussian import Gram, own_squares
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.row_cases import DIMS, FEATURES, ROWS, SEEN, TABLE, THETA, posterior

RNG = np.random.default_rng(6)
A = RNG.normal(0, 1, (FEATURES, DIMS))
NOISE = RNG.uniform(0.5, 2.0, DIMS)
X = ROWS[6] @ A + NOISE * RNG.normal(size=DIMS)
LOADINGS = np.ascontiguousarray((A / NOISE).T)
COMMON = LOADINGS.T @ LOADINGS
DIAGONAL = np.diag(COMMON).copy()
COMMON = COMMON - np.diag(DIAGONAL)
MU, TAU = 1.0, 0.7
MASS = float(log_ndtr(MU / TAU))


def prior(s):
    return stats.norm(MU, TAU).pdf(s) / np.exp(MASS)


@pytest.mark.parametrize(
    ("g", "c"), [(0.0, 0.0), (2.0, 1.5), (5.0, -4.0), (0.3, -30.0), (40.0, 9.0)]
)
def test_one_strength_is_integrated_out(g, c):
    exact, _ = integrate.quad(
        lambda s: prior(s) * np.exp(c * s - 0.5 * g * s * s), 0, 12, points=[1.0]
    )
    found = kernel.log_weight(g, c, MU, TAU, MASS)
    assert found == pytest.approx(np.log(exact), abs=1e-8)
    terms = terms_of(np.array([g]))
    most = kernel.most_weight(g, terms.factor[0], terms.loss[0], c, MU, TAU)
    assert most >= found - 1e-12
    assert most == pytest.approx(found, abs=3.0) or c < -10.0


def terms_of(squares, tau=TAU):
    terms = kernel.Terms(squares, np.empty_like(squares), np.empty_like(squares))
    kernel.fill_terms(terms, tau, float(log_ndtr(MU / tau)))
    return terms


@pytest.mark.parametrize("loud", [1.0, 40.0])
def test_only_places_that_may_be_chosen_are_looked_at(loud):
    """Where nothing may move, all other places have weights that are taken for zero."""
    b, squares, gram = at_hand(SEEN["all"])
    b, squares = b * loud, squares * loud
    gram = gram._replace(matrix=gram.matrix * loud)
    for z in ROWS[1:]:
        y, rest = z * 1.1, np.empty(FEATURES)
        kernel.fill_rest(y, b, gram, rest)
        for i in np.flatnonzero(z):
            out = np.empty(FEATURES)
            given = (THETA, rest, gram)
            kernel.relocation_log_weights(i, y, *given, squares, MU, TAU, MASS, out)
            others = np.delete(out, i).max() - out[i]
            moves = kernel.may_move(i, y, *given, terms_of(squares), MU, TAU, MASS)
            assert moves or others < -FAR
            assert moves == (others >= -FAR) or others > -FAR - 3.0


def test_a_feature_like_another_may_take_its_place():
    """What is left for the other is next to nothing until the first is taken out."""
    squares, alike = np.full(2, 500.0), np.array([[0.0, 495.0], [495.0, 0.0]])
    gram = Gram(alike, np.empty(0, bool), False, np.empty((1, 2)), alike)
    y, b, rest = np.array([1.1, 0.0]), np.array([550.0, 545.0]), np.empty(2)
    kernel.fill_rest(y, b, gram, rest)
    assert kernel.may_move(0, y, np.zeros(2), rest, gram, terms_of(squares), MU, TAU, MASS)


def test_a_narrow_law_is_on_or_off():
    tau = 1e-3
    found = kernel.log_weight(3.0, 2.5, 1.0, tau, float(log_ndtr(1 / tau)))
    assert found == pytest.approx(2.5 - 1.5, abs=1e-5)


def at_hand(seen):
    b = (X / NOISE**2 * A)[:, seen].sum(axis=1)
    if seen.all():
        return b, DIAGONAL.copy(), Gram(COMMON, np.empty(0, bool), False, LOADINGS, COMMON)
    squares = np.empty(FEATURES)
    add = own_squares(seen, LOADINGS, DIAGONAL, squares)
    return b, squares, Gram(np.empty((FEATURES, FEATURES)), seen, add, LOADINGS, COMMON)


@pytest.mark.parametrize("seen", SEEN)
def test_what_is_left_is_kept_up_to_date(seen):
    b, squares, gram = at_hand(SEEN[seen])
    a = (A / NOISE)[:, SEEN[seen]]
    full = a @ a.T - np.diag(np.diag(a @ a.T))
    y, rest = np.array([0.0, 1.3, 0.4, 0.0]), np.empty(FEATURES)
    assert kernel.fill_rest(y, b, gram, rest) == 2
    for i, new in [(0, 0.7), (1, 0.0), (1, 2.0), (2, 0.1), (3, 0.0)]:
        np.testing.assert_allclose(rest, b - full @ y, atol=1e-12)
        kernel.change(i, new, y, rest, gram)
        assert y[i] == new
    out = np.empty(FEATURES)
    kernel.relocation_log_weights(0, y, THETA, rest, gram, squares, MU, TAU, MASS, out)
    without = np.where(np.arange(FEATURES) == 0, 0.0, y)
    left = b - full @ without
    for j in range(FEATURES):
        free = j == 0 or y[j] == 0
        exact = THETA[j] + kernel.log_weight(squares[j], left[j], MU, TAU, MASS)
        assert out[j] == (pytest.approx(exact, abs=1e-12) if free else -np.inf)


def exact_law(seen, table, n=400_000):
    """Return P(z | x), E[y] and E[y^2] by importance sampling from posteriors of free strengths."""
    b, squares, gram = at_hand(seen)
    log_p, means, second = [], [], []
    rng = np.random.default_rng(0)
    for z in ROWS:
        support = strength_support.new_support(FEATURES)
        size, score = strength_support.build(z.copy(), b, support, gram, squares, MU, TAU, True)
        root = np.tril(support.inverse[:size, :size])
        m, cov = support.terms[strength_support.MEAN, :size], root.T @ root
        order = np.argsort(support.slots[:size])
        s = rng.multivariate_normal(m, cov, n)[:, order] if size else np.zeros((1, 0))
        inside = (s > 0).all(axis=1)
        log_p.append(score + np.log(inside.mean()) - size * MASS)
        y = np.zeros((2, FEATURES))
        y[:, z == 1] = s[inside].mean(axis=0), (s[inside] ** 2).mean(axis=0)
        means.append(y[0])
        second.append(y[1])
    pi = posterior(np.array(log_p), table)
    return pi, pi @ np.array(means), pi @ np.array(second)


def swept(n, seed, seen, table, moves, sweeps=30, law=(MU, TAU)):
    """Return rows after sweeps from a fixed row that the law allows."""
    start = ROWS[np.flatnonzero(np.isfinite(table[ROWS.sum(axis=1)]))[0]]
    rows = np.tile(start.astype(float), (n, 1))
    b, _, _ = at_hand(seen)
    observed = np.tile(seen, (n, 1)) if not seen.all() else np.empty((0, 0), bool)
    steps = np.full((1, FEATURES), -np.inf)
    np.subtract(table[1:], table[:-1], out=steps[0], where=np.isfinite(table[1:]))
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + 5.0))
    for number in range(sweeps):
        kernel.sweep(
            np.uint64(seed), number, 0, np.tile(b, (n, 1)), observed, rows, LOADINGS, COMMON,
            DIAGONAL, THETA, table[None], steps, np.zeros(n, np.int64), np.array([moves]), guide,
            0.4, 5.0, *law,
        )  # fmt: skip
    return rows


def check_of(seen, table, moves, law=(MU, TAU)):
    """Return a check: after many sweeps rows have their posterior, wherever they began."""
    pi, means, second = exact_law(seen, table)

    def check(n, seed):
        rows = swept(n, seed, seen, table, moves, law=law)
        at = (rows != 0) @ (1 << np.arange(FEATURES))
        found = [mean_p_value(at == z, pi[z], 3e-3 * pi[z]) for z in np.flatnonzero(pi > 1e-2)]
        found += [mean_p_value(*each) for each in zip(rows.T, means, 3e-3 * means, strict=True)]
        return found + [
            mean_p_value(*each) for each in zip((rows**2).T, second, 3e-3 * second, strict=True)
        ]

    return check


ALL = (True, True, True)


@pytest.mark.jit
@pytest.mark.parametrize("seen", ["all", "few"])
@pytest.mark.parametrize(
    ("table", "moves"),
    [("interval", (True, True, False)), ("one count", (False, True, False)), ("a hole", ALL)],
)
def test_sweeps_lead_to_the_posterior(table, moves, seen):
    assert holds(check_of(SEEN[seen], TABLE[table], moves), replicates(20_000))


@pytest.mark.jit
def test_whole_rows_alone_lead_there_too():
    check = check_of(SEEN["few"], TABLE["a hole"], (False, False, True))
    assert holds(check, replicates(20_000))


@pytest.mark.jit
def test_another_law_of_strengths_is_caught():
    check = check_of(SEEN["all"], TABLE["interval"], (True, True, False), (MU, 0.9 * TAU))
    assert is_caught(check, 20_000)


@pytest.mark.parametrize("moves", [ALL, (False, False, False)])
@pytest.mark.parametrize("seen", ["all", "few"])
def test_a_few_rows_are_swept_without_the_compiler_too(seen, moves):
    rows = swept(30, 1, SEEN[seen], TABLE["interval"], moves, sweeps=3)
    assert (rows >= 0).all()
    assert np.isfinite(rows).all()


def test_hopeless_features_are_passed_over():
    b, squares, gram = at_hand(SEEN["all"])
    y, rest = np.zeros(FEATURES), b - 1e5
    step = np.zeros(FEATURES)
    found = kernel._flip_each(
        np.uint64(0),
        0,
        0,
        50,
        y,
        0,
        THETA,
        rest,
        gram,
        terms_of(squares, 0.05),
        step,
        MU,
        0.05,
        MASS,
    )
    assert found == 0
    assert not y.any()
