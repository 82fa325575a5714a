"""Rows with strengths given the features: conditionals and transitions against enumeration."""

import numpy as np
import pytest
from scipy import stats

from ribp.kernels import sweep_gaussian, whole_rows
from ribp.kernels import sweep_strengths as kernel
from ribp.kernels.choose import FAR
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.row_cases import (
    DIMS,
    EXACT,
    FEATURES,
    ONES,
    ROWS,
    SEEN,
    TABLE,
    THETA,
    after_flip,
    after_proposal,
    after_relocations,
    after_walk,
    posterior,
    proposal_law,
    step,
)

RNG = np.random.default_rng(4)
A = RNG.normal(0, 1, (FEATURES, DIMS))
OFFSET = RNG.normal(0, 1, DIMS)
NOISE = RNG.uniform(0.5, 2.0, DIMS)
X = 1.4 * ROWS[5] @ A + OFFSET + NOISE * RNG.normal(size=DIMS)
LOADINGS = np.ascontiguousarray((A / NOISE).T)
COMMON = LOADINGS.T @ LOADINGS
DIAGONAL = np.diag(COMMON).copy()
COMMON = COMMON - np.diag(DIAGONAL)
LAWS = {"around one": (1.0, 0.4), "signed": (0.0, 1.0), "nearly on-off": (1.0, 1e-3)}
NEARLY = {"rtol": 0, "atol": 1e-9}  # 1/M_aa - lambda loses lambda eps


def log_likelihood(seen, mu, tau):
    """Return log p(x | S) of all supports, from dense Gaussians."""
    found = []
    for z in ROWS:
        a = A[z == 1][:, seen]
        mean, cov = OFFSET[seen] + mu * a.sum(axis=0), np.diag(NOISE[seen] ** 2) + tau**2 * a.T @ a
        found.append(stats.multivariate_normal(mean, cov).logpdf(X[seen]) if seen.any() else 0.0)
    return np.array(found)


def at_hand(seen):
    """Return b, G_ii and G as the kernel has them for the row."""
    b = ((X - OFFSET) / NOISE**2 * A)[:, seen].sum(axis=1)
    if seen.all():
        gram = sweep_gaussian.Gram(COMMON, np.empty(0, bool), False, LOADINGS, COMMON)
        return b, DIAGONAL.copy(), gram
    squares = np.empty(FEATURES)
    add = sweep_gaussian.own_squares(seen, LOADINGS, DIAGONAL, squares)
    matrix = np.full((FEATURES, FEATURES), np.nan)
    return b, squares, sweep_gaussian.Gram(matrix, seen, add, LOADINGS, COMMON)


def supported(z, seen, law):
    """Return the support of z, its size, and log p(x | S) less that of no features."""
    b, squares, gram = at_hand(seen)
    support = kernel.new_support(FEATURES)
    size, score = kernel.build(z, b, support, gram, squares, *LAWS[law])
    return support, size, score


def exact_moments(z, seen, mu, tau):
    """Return mean and covariance of the strengths of a support, from regression."""
    a = (A / NOISE)[z == 1][:, seen]
    precision = a @ a.T + np.eye(len(a)) / tau**2
    right = a @ ((X - OFFSET) / NOISE)[seen] + mu / tau**2
    return np.linalg.solve(precision, right), np.linalg.inv(precision)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("law", LAWS)
def test_supports_are_those_of_dense_gaussians_also_after_switches(law, seen):
    seen, (mu, tau) = SEEN[seen], LAWS[law]
    exact = log_likelihood(seen, mu, tau)
    b, squares, gram = at_hand(seen)
    support, z = kernel.new_support(FEATURES), ROWS[6].copy()
    size, score = kernel.build(z, b, support, gram, squares, mu, tau)
    assert score == pytest.approx(exact[6] - exact[0], abs=1e-9)
    for i in [0, 1, 0, 3, 2, 1, 1, 2, 0]:  # as it is, then after switches
        at = int(z @ (1 << np.arange(FEATURES)))
        assert size == z.sum()
        for j in range(FEATURES):
            g, rho, a = kernel.own_terms(j, z, size, support, mu, tau)
            gained = exact[at | 1 << j] - exact[at & ~(1 << j)]
            assert kernel.gain(g, rho, mu, tau) == pytest.approx(gained, abs=2e-9)
            assert (a >= 0) == z[j]
        order = np.argsort(support.slots[:size])
        m, cov = exact_moments(z, seen, mu, tau)
        np.testing.assert_allclose(support.m[:size][order], m, atol=1e-9)
        np.testing.assert_allclose(
            support.m_matrix[:size, :size][np.ix_(order, order)], cov, atol=1e-9
        )
        if z[i]:
            size = kernel.switch_off(kernel.slot_of(i, size, support), size, support, mu, tau)
        else:
            size = kernel.switch_on(i, size, support, gram, squares, mu, tau)
        z[i] = 1 - z[i]


def test_a_feature_that_is_off_has_no_slot():
    support, size, _ = supported(ROWS[5].copy(), SEEN["all"], "signed")
    assert kernel.slot_of(1, size, support) == -1


def conditionals(seen, table, law, gain=None):
    """Return functions of a row: flip log-odds and relocation log-weights."""
    mu, tau = LAWS[law]

    def log_odds(z, i):
        support, size, _ = supported(z, seen, law)
        g, rho, _ = kernel.own_terms(i, z, size, support, mu, tau)
        gained = kernel.gain(g, rho, mu, tau) if gain is None else gain(g, rho, mu, tau)
        return THETA[i] + gained + step(table, int(z.sum() - z[i]))

    def log_weights(z, i):
        support, size, _ = supported(z, seen, law)
        out = np.empty(FEATURES)
        a = kernel.slot_of(i, size, support)
        kernel.relocation_log_weights(a, z, size, THETA, support, mu, tau, out)
        return out

    return log_odds, log_weights


@pytest.mark.parametrize("loud", [1.0, 40.0])
@pytest.mark.parametrize("law", ["around one", "signed"])
def test_only_places_that_may_be_chosen_are_looked_at(law, loud):
    """Where nothing may move, all other places have weights that are taken for zero."""
    mu, tau = LAWS[law]
    b, squares, gram = at_hand(SEEN["all"])
    b, squares, gram = b * loud, squares * loud, gram._replace(matrix=gram.matrix * loud)
    for z in ROWS[1:]:
        support, out = kernel.new_support(FEATURES), np.empty(FEATURES)
        size, _ = kernel.build(z, b, support, gram, squares, mu, tau)
        for a in range(size):
            kernel.relocation_log_weights(a, z, size, THETA, support, mu, tau, out)
            i = support.slots[a]
            others = np.delete(out, i).max() - out[i]
            moves = kernel.may_move(a, z, size, THETA, support, mu, tau)
            assert moves or others < -FAR
            loss = 0.5 * np.log1p(tau**2 * squares.max())
            assert moves == (others >= -FAR) or others > -FAR - loss


@pytest.mark.parametrize("law", ["around one", "signed"])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", TABLE)
def test_flips_and_relocations_leave_the_posterior_unchanged(table, seen, law):
    pi = posterior(log_likelihood(SEEN[seen], *LAWS[law]), TABLE[table])
    log_odds, log_weights = conditionals(SEEN[seen], TABLE[table], law)
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, log_odds), pi, **EXACT)
    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)


def test_nearly_on_off_is_the_law_of_binary_rows():
    scaled = ((X - OFFSET - ROWS @ A) / NOISE) ** 2
    binary = posterior(-0.5 * scaled.sum(axis=1), TABLE["interval"])
    nearly = posterior(log_likelihood(SEEN["all"], *LAWS["nearly on-off"]), TABLE["interval"])
    np.testing.assert_allclose(nearly, binary, atol=1e-5)  # tau^2 G
    log_odds, log_weights = conditionals(SEEN["all"], TABLE["interval"], "nearly on-off")
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(nearly, i, log_odds), nearly, **NEARLY)
    np.testing.assert_allclose(after_relocations(nearly, log_weights), nearly, **NEARLY)


def without_determinant(g, rho, mu, tau):
    """Return the gain of the broken twin that forgets the log-determinant."""
    return kernel.gain(g, rho, mu, tau) + 0.5 * np.log1p(tau**2 * max(g, 0.0))


def test_broken_twins_of_the_moves_are_caught():
    pi = posterior(log_likelihood(SEEN["all"], *LAWS["signed"]), TABLE["interval"])
    log_odds, _ = conditionals(SEEN["all"], TABLE["interval"], "signed", without_determinant)
    assert np.abs(after_flip(pi, 0, log_odds) - pi).sum() > 1e-2
    _, log_weights = conditionals(SEEN["all"], TABLE["interval"], "signed")
    assert np.abs(after_walk(pi, log_weights) - pi).sum() > 1e-3


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("table", ["a hole", "interval"])
def test_whole_rows_leave_the_posterior_unchanged(table, seen, damped):
    table, (mu, tau) = TABLE[table], LAWS["around one"]
    exact = log_likelihood(SEEN[seen], mu, tau)
    pi = posterior(exact, table)
    b, squares, _ = at_hand(SEEN[seen])
    mean, precision, shift = 0.4, 5.0, np.empty(FEATURES)
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + precision))
    kernel.fill_shift(b, squares, DIAGONAL, guide, mean, precision, mu, tau, shift)
    whole_rows.temper(0.9 if damped else 0.1, shift)
    q = proposal_law(table, THETA + shift)
    scores = np.array([supported(z, SEEN[seen], "around one")[2] for z in ROWS])
    np.testing.assert_allclose(after_proposal(pi, q, scores - ROWS @ shift), pi, **EXACT)
    assert np.abs(after_proposal(pi, q, scores) - pi).sum() > 1e-3 or seen == "none"


def sweeps(n, seed, seen, table, law, moves, twist=lambda sizes: sizes):
    """Return z, strengths and data after sweeps that begin at the posterior of a random row."""
    rng, (mu, tau) = np.random.default_rng(seed), LAWS[law]
    pi = posterior(log_likelihood(seen, mu, tau), table)
    z = ROWS[rng.choice(len(ROWS), n, p=pi)]
    rows = np.where(z == 1, 1.0, 0.0)
    b, _, _ = at_hand(seen)
    products = np.tile(b, (n, 1))
    observed = np.tile(seen, (n, 1)) if not seen.all() else np.empty((0, 0), bool)
    steps = np.full((1, FEATURES), -np.inf)
    finite = np.isfinite(table[1:])
    np.subtract(table[1:], table[:-1], out=steps[0], where=finite)
    mean, precision = 0.4, 5.0
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + precision))
    kernel.sweep(
        np.uint64(seed), 3, 0, products, observed, rows, LOADINGS, COMMON, DIAGONAL, THETA,
        table[None], steps, np.zeros(n, np.int64), np.array([moves]), guide, mean, precision,
        mu, tau,
    )  # fmt: skip
    return twist(rows), pi


def checks_of(seen, table, law, moves, twist=lambda sizes: sizes):
    """Return a check: supports and strengths of rows after a sweep have their posterior."""
    mu, tau = LAWS[law]

    def check(n, seed):
        rows, pi = sweeps(n, seed, seen, table, law, moves, twist)
        z = (rows != 0).astype(np.int8)
        values = z @ (1 << np.arange(FEATURES))
        means, squares = np.zeros(FEATURES), np.zeros(FEATURES)
        for at, row in enumerate(ROWS):
            m, cov = exact_moments(row, seen, mu, tau)
            means[row == 1] += pi[at] * m
            squares[row == 1] += pi[at] * (m**2 + np.diag(cov))
        found = [mean_p_value(values == at, pi[at]) for at in np.flatnonzero(pi > 1e-3)]
        found += list(map(mean_p_value, rows.T, means))
        return found + list(map(mean_p_value, (rows**2).T, squares))

    return check


ALL = (True, True, True)


@pytest.mark.jit
@pytest.mark.parametrize("seen", ["all", "most", "few"])
@pytest.mark.parametrize(
    ("table", "law"), [("interval", "around one"), ("one count", "signed"), ("a hole", "signed")]
)
def test_sweeps_keep_the_posterior_of_supports_and_strengths(table, law, seen):
    assert holds(checks_of(SEEN[seen], TABLE[table], law, ALL), replicates(20_000))


def carried(rows):
    """Break strengths: those of the prior mean, as if the data had not been seen."""
    return np.where(rows != 0, 1.0 + 0.9 * (rows - 1.0), 0.0)


@pytest.mark.jit
def test_strengths_that_are_wrong_are_caught():
    check = checks_of(SEEN["all"], TABLE["interval"], "around one", ALL, carried)
    assert is_caught(check, 20_000)


@pytest.mark.parametrize("moves", [ALL, (False, False, False)])
@pytest.mark.parametrize("seen", ["all", "few"])
def test_a_few_rows_are_swept_without_the_compiler_too(seen, moves):
    for law in ("around one", "signed"):
        rows, _ = sweeps(60, 1, SEEN[seen], TABLE["interval"], law, moves)
        ones = (rows != 0).sum(axis=1)
        assert np.isfinite(rows).all()
        assert set(ones) <= set(ONES)


def test_features_that_are_certain_need_no_random_numbers():
    theta = np.array([50.0, -50.0, 50.0, -50.0])
    rows = np.ones((1, FEATURES)) * (theta > 0)
    b, squares, _ = at_hand(SEEN["all"])
    kernel.sweep(
        np.uint64(1), 0, 0, 1e-3 * b[None], np.empty((0, 0), bool), rows, LOADINGS, COMMON,
        squares, theta, np.zeros((1, FEATURES + 1)), np.zeros((1, FEATURES)),
        np.zeros(1, np.int64), np.array([(True, False, False)]), COMMON, 0.4, 5.0, 1.0, 0.4,
    )  # fmt: skip
    np.testing.assert_array_equal(rows[0] != 0, theta > 0)


def test_a_strength_of_zero_does_not_take_its_feature_away():
    support, size, _ = supported(ROWS[1].copy(), SEEN["all"], "signed")
    support.m[0], support.m_matrix[0, 0] = 0.0, 0.0
    out, normals = np.empty(FEATURES), np.empty(FEATURES)
    kernel.draw_strengths(
        np.uint64(0), 0, 0, 0, size, support, np.empty((FEATURES, FEATURES)), normals, out
    )
    np.testing.assert_array_equal(out != 0, ROWS[1] == 1)
