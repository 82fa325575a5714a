"""Rows with the features integrated out: conditionals and transitions against enumeration."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

import ribp
from ribp.kernels import sweep_collapsed as kernel
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates

N, FEATURES, D, PRECISION = 3, 3, 2, 0.7
ALL = np.ones(0, bool)
ALL_ROWS = np.ones((0, 0), bool)
RNG = np.random.default_rng(4)
DATA = RNG.normal(0, 1.5, (N, D))
THETA = np.array([0.4, -0.8, 1.1])
LAWS = [ribp.counts.table([0.2, 0.3, 0.4, 0.1]), ribp.counts.exactly(1), ribp.counts.uniform(1, 2)]


def prior_tables(laws=LAWS, theta=THETA):
    log_e = ribp.log_esp(theta)
    return np.array([law.log_probs(theta.size) - log_e for law in laws])


def summary(data, rows):
    """Return cov, mean (dims first) and gram from their definitions."""
    cov = np.linalg.inv(rows.T @ rows + PRECISION * np.eye(rows.shape[1]))
    mean = cov @ rows.T @ data
    return cov, mean.T.copy(), mean @ mean.T


def log_marginal(data, rows):
    """Return log p(X | Z), the columns being Gaussian with covariance 1 + Z Z'/lambda."""
    covariance = np.eye(len(rows)) + rows @ rows.T / PRECISION
    law = stats.multivariate_normal(np.zeros(len(rows)), covariance)
    return float(np.sum(law.logpdf(data.T)))


def all_matrices(n_rows, features):
    return np.array(list(product((0, 1), repeat=n_rows * features)), np.int8).reshape(
        -1, n_rows, features
    )


def log_posterior(matrices, data, tables, which, theta=THETA):
    ones = matrices.sum(axis=2)
    prior = (matrices @ theta).sum(axis=1) + sum(
        tables[which[n]][ones[:, n]] for n in range(matrices.shape[1])
    )
    possible = np.isfinite(prior)
    out = np.full(len(matrices), -np.inf)
    out[possible] = [
        p + log_marginal(data, z.astype(float))
        for p, z in zip(prior[possible], matrices[possible], strict=True)
    ]
    return out - logsumexp(out)


def taken_out(rows, n, seen=ALL):
    """Return what the kernel has at hand while it updates row n."""
    cov, mean, gram = summary(DATA, rows.astype(float))
    work, residual = np.empty((7, rows.shape[1])), np.empty(D)
    z = rows[n].copy()
    if seen.size:
        part = np.empty_like(gram)
        assert kernel.observed_gram(seen, mean, gram, part) == seen.sum()
        gram = gram if seen.all() else part
    q, e, d, squares = kernel.take_out(DATA[n], seen, z, cov, mean, gram, work, residual)
    return z, q, e, work, (cov, gram, work, d, squares)


@pytest.mark.parametrize("seen", [ALL, [True, True], [False, True], [False, False]])
@pytest.mark.parametrize("n", range(N))
def test_taking_a_row_out(n, seen):
    seen = np.array(seen, bool)
    here = np.ones(D, bool) if seen.size == 0 else seen
    for rows in all_matrices(N, FEATURES)[::37]:
        z, q, e, work, switching = taken_out(rows, n, seen)
        others = np.delete(np.arange(N), n)
        cov, mean, _ = summary(DATA[others], rows[others].astype(float))
        mean = mean[here]
        gram = mean.T @ mean
        np.testing.assert_allclose(work[kernel.S_DIAG], np.diag(cov), atol=1e-12)
        np.testing.assert_allclose(work[kernel.C_DIAG], np.diag(gram), atol=1e-12)
        np.testing.assert_allclose(work[kernel.B], DATA[n, here] @ mean, atol=1e-12)
        for i in [*range(FEATURES), 0]:  # as it is, then after switches
            np.testing.assert_allclose(work[kernel.G], cov @ z, atol=1e-12)
            np.testing.assert_allclose(work[kernel.H], gram @ z, atol=1e-12)
            assert q == pytest.approx(z @ cov @ z, abs=1e-12)
            assert e == pytest.approx(((DATA[n, here] - mean @ z) ** 2).sum(), abs=1e-12)
            sign = -1 if z[i] else 1
            q, e = kernel.switch(i, sign, z, q, e, *switching)


WHICH = np.array([0, 1, 2])


def test_flips_are_the_conditionals_of_the_posterior():
    """The matrix of a flip of (n, i) leaves the enumerated posterior unchanged to 1e-12."""
    tables = prior_tables()
    matrices = all_matrices(N, FEATURES)
    posterior = np.exp(log_posterior(matrices, DATA, tables, WHICH))
    code = 1 << np.arange(N * FEATURES)[::-1]
    for n, i in product(range(N), range(FEATURES)):
        moved = np.zeros_like(posterior)
        bit = code[n * FEATURES + i]
        for state in np.flatnonzero(posterior):
            z, q, e, work, _ = taken_out(matrices[state], n)
            odds = kernel.flip_log_odds(i, z, int(z.sum()), q, e, work, THETA, tables[WHICH[n]], D)
            moved[state | bit] += posterior[state] * expit(odds)
            moved[state & ~bit] += posterior[state] * expit(-odds)
        np.testing.assert_allclose(moved, posterior, rtol=0, atol=1e-12)


def relocated(matrices, posterior, choose):
    """Return the law after row 0 moved one of its ones; `choose` gives the chance of each one."""
    code = 1 << np.arange(N * FEATURES)[::-1]
    moved = np.zeros_like(posterior)
    for state in np.flatnonzero(posterior):
        rows = matrices[state]
        on = np.flatnonzero(rows[0])
        if on.size == 0:
            moved[state] += posterior[state]
            continue
        for i, chance in zip(on, choose(on), strict=True):
            z, q, e, work, switching = taken_out(rows, 0)
            q, e = kernel.switch(i, -1, z, q, e, *switching)
            weights = np.empty(FEATURES)
            kernel.relocation_log_weights(z, q, e, work, THETA, D, weights)
            for j, p in enumerate(np.exp(weights - logsumexp(weights))):
                moved[(state & ~code[i]) | code[j]] += posterior[state] * chance * p
    return moved


def test_relocations_leave_the_posterior_unchanged():
    matrices = all_matrices(N, FEATURES)
    posterior = np.exp(log_posterior(matrices, DATA, prior_tables(), np.array([0, 1, 2])))
    moved = relocated(matrices, posterior, lambda on: np.full(on.size, 1 / on.size))
    np.testing.assert_allclose(moved, posterior, rtol=0, atol=1e-12)
    # The broken twin: always moving the first one can leave its place but hardly enter it.
    first = relocated(matrices, posterior, lambda on: (on == on[0]) * 1.0)
    assert np.abs(first - posterior).sum() > 0.01


def first_rows(tables, which, theta, background=False):
    rows = np.zeros((len(which), theta.size + background), np.int8)
    for n, law in enumerate(which):
        rows[n, : int(np.isfinite(tables[law]).argmax())] = 1
    rows[:, theta.size :] = 1
    return rows


def run(data, tables, which, theta, n_sweeps, seed, observed=ALL_ROWS, rows=None):
    rows = first_rows(tables, which, theta) if rows is None else rows
    state = summary(data, rows.astype(float))
    seen = []
    code = 1 << np.arange(len(data) * theta.size)[::-1]
    for number in range(n_sweeps):
        kernel.sweep(np.uint64(seed), number, data, observed, rows, *state, theta, tables, which)
        seen.append(int(rows[:, : theta.size].ravel() @ code))
    return np.array(seen), rows, state


OBSERVED = np.array([[True, False], [True, True]])


def fill(rng, data, rows):
    """Return the data with the entry that OBSERVED has not, drawn given its column and the rows."""
    (a, b), (_, c) = np.eye(2) + rows @ rows.T.astype(float) / PRECISION
    filled = data.copy()
    filled[0, 1] = rng.normal(b / c * data[1, 1], np.sqrt(a - b * b / c))
    return filled


def sweep_p_values(posterior, tables, which, data, n, seed, observed=ALL_ROWS, background=False):
    """Compare matrices, ten sweeps after they were drawn from the posterior, with it."""
    rng, seen = np.random.default_rng(seed), np.zeros(64)
    starts = np.pad(
        all_matrices(2, FEATURES), ((0, 0), (0, 0), (0, int(background))), constant_values=1
    )
    for rows in starts[rng.choice(64, n, p=posterior)]:
        here = fill(rng, data, rows) if observed.size else data
        codes, _, state = run(here, tables, which, THETA, 10, rng.integers(2**63), observed, rows)
        seen[codes[-1]] += 1
    assert (rows[:, FEATURES:] == 1).all()
    if observed.size:
        np.testing.assert_array_equal(here[observed], data[observed])
    for found, truth in zip(state, summary(here, rows.astype(float)), strict=True):
        np.testing.assert_allclose(found, truth, atol=1e-6)
    return [frequencies_p_value(seen, posterior)]


@pytest.mark.jit
@pytest.mark.parametrize("which", [[0, 0], [1, 1], [0, 2], [1, 2]])
def test_sweeps_have_the_posterior(which):
    data, tables, which = DATA[:2], prior_tables(), np.array(which)
    posterior = np.exp(log_posterior(all_matrices(2, FEATURES), data, tables, which))
    assert holds(partial(sweep_p_values, posterior, tables, which, data), replicates(2000))
    reached, _, _ = run(data, tables, which, THETA, 5000, 0)
    assert set(np.flatnonzero(posterior > 0.01)) <= set(reached)


def incomplete_log_posterior(data, observed, tables, which, background):
    """Return the posterior of z alone: column by column, over the rows where it was observed."""
    matrices = all_matrices(len(data), FEATURES)
    out = np.zeros(len(matrices))
    for at, z in enumerate(matrices):
        full = np.hstack([z, np.ones((len(z), int(background)))])
        out[at] = sum(tables[which[n]][z[n].sum()] + z[n] @ THETA for n in range(len(z)))
        for d, here in enumerate(observed.T):
            if np.isfinite(out[at]) and here.any():
                out[at] += log_marginal(data[here, d : d + 1], full[here])
    return out - logsumexp(out)


@pytest.mark.jit
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("which", [[0, 2], [1, 1]])
def test_sweeps_have_the_posterior_of_what_was_observed(which, background):
    tables, which = prior_tables(), np.array(which)
    posterior = np.exp(incomplete_log_posterior(DATA[:2], OBSERVED, tables, which, background))
    check = partial(sweep_p_values, posterior, tables, which, background=background)
    data = np.where(OBSERVED, DATA[:2], 0.0)
    assert holds(partial(check, data, observed=OBSERVED), replicates(2000))
    # The broken twin: the fills, taken for data.
    assert is_caught(partial(check, np.where(OBSERVED, DATA[:2], -3.0)), 2000)


@pytest.mark.jit
def test_a_wrong_precision_is_caught():
    data, tables, which = 2 * DATA[:2], prior_tables(), np.array([0, 2])
    posterior = np.exp(log_posterior(all_matrices(2, FEATURES), DATA[:2], tables, which))
    assert is_caught(partial(sweep_p_values, posterior, tables, which, data), 2000)


@pytest.mark.jit
def test_kept_state_equals_recomputed_state_and_seeds_repeat():
    rng = np.random.default_rng(0)
    features, dims, n_rows = 12, 20, 60
    theta = rng.normal(0, 1, features)
    laws = [ribp.counts.exactly(3), ribp.counts.uniform(1, 4)]
    tables = prior_tables(laws, theta)
    which = np.arange(n_rows) % 2
    data = rng.normal(size=(n_rows, dims))
    _, rows, kept = run(data, tables, which, theta, 200, 5)
    for found, truth in zip(kept, summary(data, rows.astype(float)), strict=True):
        np.testing.assert_allclose(found, truth, atol=1e-9)
    ones = rows.sum(axis=1)
    assert (ones[::2] == 3).all()
    assert set(ones[1::2].tolist()) <= {1, 2, 3, 4}
    again = run(data, tables, which, theta, 200, 5)
    np.testing.assert_array_equal(again[1], rows)


def test_a_short_sweep_of_incomplete_data_without_the_compiler():
    data, observed = DATA.copy(), np.array([[True, False], [True, True], [False, False]])
    rows = first_rows(prior_tables(), WHICH, THETA, background=True)
    _, _, kept = run(data, prior_tables(), WHICH, THETA, 12, 1, observed, rows)
    for found, truth in zip(kept, summary(data, rows.astype(float)), strict=True):
        np.testing.assert_allclose(found, truth, atol=1e-10)
    np.testing.assert_array_equal(data[observed], DATA[observed])
    assert (data[~observed] != DATA[~observed]).all()


def test_a_short_sweep_without_the_compiler():
    seen, rows, kept = run(DATA, prior_tables(), WHICH, THETA, 12, 1)
    for found, truth in zip(kept, summary(DATA, rows.astype(float)), strict=True):
        np.testing.assert_allclose(found, truth, atol=1e-10)
    assert rows[1].sum() == 1
    assert len(set(seen.tolist())) > 1
