"""Gaussian rows given the features: conditionals and transitions against enumeration."""

import numpy as np
import pytest

import ribp
from ribp.kernels import sweep_gaussian as kernel
from ribp.kernels import whole_rows
from ribp.kernels.choose import FAR, pick
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

RNG = np.random.default_rng(3)
A = RNG.normal(0, 1, (FEATURES, DIMS))
OFFSET = RNG.normal(0, 1, DIMS)
NOISE = RNG.uniform(0.5, 2.0, DIMS)
X = ROWS[5] @ A + OFFSET + NOISE * RNG.normal(size=DIMS)
LOADINGS = np.ascontiguousarray((A / NOISE).T)
COMMON = LOADINGS.T @ LOADINGS
DIAGONAL = np.diag(COMMON).copy()
COMMON = COMMON - np.diag(DIAGONAL)


def log_likelihood(seen):
    """Return the log-likelihood of all rows, from its definition."""
    scaled = (X - OFFSET - ROWS @ A) / NOISE
    return -0.5 * (scaled[:, seen] ** 2).sum(axis=1)


def at_hand(seen):
    """Return b, linear, G_ii and G as the kernel has them for the row."""
    b = ((X - OFFSET) / NOISE**2 * A)[:, seen].sum(axis=1)
    if seen.all():
        gram = kernel.Gram(COMMON, np.empty(0, bool), False, LOADINGS, COMMON)
        return b, b - 0.5 * DIAGONAL, DIAGONAL.copy(), gram
    squares = np.empty(FEATURES)
    add = kernel.own_squares(seen, LOADINGS, DIAGONAL, squares)
    matrix = np.full((FEATURES, FEATURES), np.nan)
    gram = kernel.Gram(matrix, seen, add, LOADINGS, COMMON)
    return b, b - 0.5 * squares, squares, gram


@pytest.mark.parametrize("seen", SEEN)
def test_gains_and_own_matrices_are_those_of_the_definition(seen):
    seen = SEEN[seen]
    _, linear, squares, gram = at_hand(seen)
    scaled = (A / NOISE)[:, seen]
    full = scaled @ scaled.T
    np.testing.assert_allclose(squares, np.diag(full), **EXACT)
    log_lik = log_likelihood(seen)
    z, gain = ROWS[6].copy(), np.empty(FEATURES)
    ones = kernel.fill_gain(z, THETA, linear, gram, gain)
    for i in [0, 1, 0, 3, 2, 1]:  # as it is, then after switches
        at = int(z @ (1 << np.arange(FEATURES)))
        assert ones == z.sum()
        for j in range(FEATURES):
            expected = THETA[j] + log_lik[at | 1 << j] - log_lik[at & ~(1 << j)]
            assert gain[j] == pytest.approx(expected, abs=1e-12)
        ones += kernel.switch(i, z, gain, gram)


def columns_with_digits_lost():
    seen = SEEN["most"].copy()
    loadings = LOADINGS.copy()
    loadings[~seen] *= 1e9
    full = loadings.T @ loadings
    return seen, loadings, full


def test_columns_are_added_up_where_taking_them_away_would_cost_digits():
    seen, loadings, full = columns_with_digits_lost()
    exact = loadings[seen].T @ loadings[seen]
    squares = np.empty(FEATURES)
    add = kernel.own_squares(seen, loadings, np.diag(full).copy(), squares)
    assert add
    gram = kernel.Gram(np.empty_like(full), seen, add, loadings, full - np.diag(np.diag(full)))
    for i in range(FEATURES):
        kernel.make_row(i, gram)
    np.testing.assert_allclose(squares, np.diag(exact), rtol=1e-14)
    np.testing.assert_allclose(gram.matrix, exact - np.diag(np.diag(exact)), rtol=1e-14)
    # The broken twin takes them away all the same.
    wrong = gram._replace(matrix=np.empty_like(full), add=False)
    kernel.make_row(0, wrong)
    assert np.abs(wrong.matrix[0] - gram.matrix[0]).max() > 1.0


@pytest.mark.parametrize("seen", [False, True])
def test_rows_of_the_matrix_for_a_single_column(seen):
    seen, loadings, full = np.array([seen]), np.array([[2.0, 3.0]]), np.array([[0.0, 6], [6, 0]])
    squares, matrix = np.empty(2), np.full((2, 2), np.nan)
    add = kernel.own_squares(seen, loadings, np.array([4.0, 9.0]), squares)
    kernel.make_row(0, kernel.Gram(matrix, seen, add, loadings, full))
    np.testing.assert_array_equal(matrix[0], full[0] if seen else 0.0)


def conditionals(seen, table):
    """Return functions of a row: flip log-odds and relocation log-weights."""

    def gains(z):
        _, linear, _, gram = at_hand(seen)
        gain = np.empty(FEATURES)
        kernel.fill_gain(z, THETA, linear, gram, gain)
        return gain, gram

    def log_odds(z, i):
        return gains(z)[0][i] + step(table, int(z.sum() - z[i]))

    def log_weights(z, i):
        out = np.empty(FEATURES)
        kernel.relocation_log_weights(i, z, *gains(z), out)
        return out

    return log_odds, log_weights


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("law", TABLE)
def test_flips_and_relocations_leave_the_posterior_unchanged(law, seen):
    pi = posterior(log_likelihood(SEEN[seen]), TABLE[law])
    log_odds, log_weights = conditionals(SEEN[seen], TABLE[law])
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, log_odds), pi, **EXACT)
    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)


@pytest.mark.parametrize("law", TABLE)
def test_relocations_that_walk_are_caught(law):
    pi = posterior(log_likelihood(SEEN["few"]), TABLE[law])
    _, log_weights = conditionals(SEEN["few"], TABLE[law])
    assert np.abs(after_walk(pi, log_weights) - pi).sum() > 1e-3


def test_ones_that_may_not_move_are_those_that_pick_leaves_in_place():
    rng, found = np.random.default_rng(0), set()
    for _ in range(200):
        gain, z = rng.normal(0, 30, FEATURES), ROWS[rng.integers(1, len(ROWS))]
        gram = at_hand(SEEN["all"])[3]
        i, out = int(z.argmax()), np.empty(FEATURES)
        kernel.relocation_log_weights(i, z, gain, gram, out)
        near = np.delete(out, i).max() >= out[i] - FAR
        assert kernel.may_move(i, z, gain, gram) == near
        assert near or pick(out, rng.random()) == i
        found.add(bool(near))
    assert found == {False, True}


def shifts(seen, damped):
    """Return the shift of the row, and what its acceptance uses."""
    b, linear, squares, gram = at_hand(seen)
    mean, precision = 0.4, 5.0
    guide = np.linalg.inv(COMMON + np.diag(DIAGONAL + precision))
    shift = np.empty(FEATURES)
    whole_rows.fill_shift(b, squares, DIAGONAL, guide, mean, precision, shift)
    whole_rows.temper(0.9 if damped else 0.1, shift)
    return shift, np.array([kernel.excess(z, linear, shift, gram) for z in ROWS])


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("law", TABLE)
def test_whole_rows_leave_the_posterior_unchanged(law, seen, damped):
    table = TABLE[law]
    pi = posterior(log_likelihood(SEEN[seen]), table)
    shift, excess = shifts(SEEN[seen], damped)
    log_q = ROWS @ (THETA + shift) + table[ONES]
    q = np.exp(log_q) / np.exp(log_q).sum()
    np.testing.assert_allclose(proposal_law(table, THETA + shift), q, **EXACT)
    np.testing.assert_allclose(after_proposal(pi, q, excess), pi, **EXACT)
    if seen == "none":
        np.testing.assert_allclose(q, pi, **EXACT)  # nothing seen: the prior, always accepted


def test_whole_rows_without_their_normalisers_are_caught():
    """The count from f itself, without e_k(exp(theta + shift)) in the ratio."""
    table = TABLE["a hole"]
    pi = posterior(log_likelihood(SEEN["most"]), table)
    shift, excess = shifts(SEEN["most"], False)
    log_f = table + ribp.log_esp(THETA)
    log_q = ROWS @ (THETA + shift) + (log_f - ribp.log_esp(THETA + shift))[ONES]
    q = np.exp(log_q)
    assert q.sum() == pytest.approx(1)
    assert np.abs(after_proposal(pi, q, excess) - pi).sum() > 0.01
    normalised = excess + (ribp.log_esp(THETA + shift) - ribp.log_esp(THETA))[ONES]
    np.testing.assert_allclose(after_proposal(pi, q, normalised), pi, **EXACT)


def test_whole_rows_are_drawn_from_the_posterior_if_features_do_not_overlap():
    squares, b = np.array([3.0, 0.5, 2.0, 0.0]), np.array([1.0, 0.3, 2.0, 0.0])
    mean, precision = 0.3, 4.0
    shift = np.empty(FEATURES)
    whole_rows.fill_shift(
        b, squares, squares, np.diag(1 / (squares + precision)), mean, precision, shift
    )
    np.testing.assert_allclose(shift, b - squares / 2, atol=1e-12)


def test_shifts_are_bounded():
    shift = np.array([np.inf, -1e300, 4.0, np.nan])
    whole_rows.temper(0.2, shift)
    np.testing.assert_array_equal(shift, [10, -10, 4, 0])
    whole_rows.temper(0.7, shift)
    np.testing.assert_allclose(shift, [3, -3, 1.2, 0])


def test_statistics():
    rng = np.random.default_rng(0)
    data, rows = rng.normal(size=(7, DIMS)), rng.integers(0, 2, (7, FEATURES)).astype(np.int8)
    pairs, sums = np.ones((FEATURES, FEATURES)), np.ones((FEATURES, DIMS))
    kernel.add_statistics(data, rows, pairs, sums)
    np.testing.assert_allclose(pairs, rows.T.astype(float) @ rows + 1)
    np.testing.assert_allclose(sums, rows.T @ data + 1, rtol=1e-13)
