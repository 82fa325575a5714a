"""Poisson rows given the features: conditionals and transitions against enumeration, and splits."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import xlogy

from ribp.kernels import sweep_poisson as kernel
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.binomial_cells import binomial_p_value
from tests.helpers.row_cases import (
    DIMS,
    EXACT,
    FEATURES,
    ROWS,
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
A = RNG.gamma(0.7, 2.0, (FEATURES, DIMS))
LOADINGS = np.ascontiguousarray(A.T)
X = np.array([3.0, 0.0, 1.0, 7.0, 2.0])
OFFSETS = {"offset": np.array([0.3, 0.1, 0.0, 1.0, 0.2]), "no offset": np.zeros(DIMS)}
SEEN = {
    "all": np.ones(DIMS, bool),
    "most": np.array([1, 0, 1, 1, 1], bool),
    "none": np.zeros(DIMS, bool),
}


def log_likelihood(offset, seen, x=X, loadings=LOADINGS):
    """Return the log-likelihood of all rows, from its definition."""
    rates = offset + ROWS @ loadings.T
    with np.errstate(divide="ignore"):
        return (xlogy(x, rates) - rates)[:, seen].sum(axis=1)


def at_hand(offset, seen, x=X, loadings=LOADINGS):
    """Return what the kernel has for the row."""
    totals, at, counts = loadings.sum(axis=0), np.empty(DIMS, np.int64), np.empty(DIMS)
    if not seen.all():
        kernel.fill_totals(seen, loadings, totals)
    m = kernel.list_counts(x, np.empty(0, bool) if seen.all() else seen, at, counts)
    np.testing.assert_array_equal(at[:m], np.flatnonzero(seen & (x > 0)))
    return kernel.PositiveCounts(at[:m], counts[:m], offset, loadings, totals)


def conditionals(data, table):
    """Return functions of a row: flip log-odds and relocation log-weights."""

    def log_odds(z, i):
        rates, gains = np.empty(DIMS), np.empty(FEATURES)
        kernel.fill_rates(z, i, data, rates)
        zero = kernel.fill_gains(i, i + 1, rates, data, gains)
        prior = THETA[i] + step(table, int(z.sum() - z[i]))
        return kernel.flip_log_odds(i, prior, zero, gains)

    def log_weights(z, i):
        out = np.empty(FEATURES)
        kernel.relocation_log_weights(i, z, THETA, data, np.empty(DIMS), out)
        return out

    return log_odds, log_weights


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("law", TABLE)
def test_flips_and_relocations_leave_the_posterior_unchanged(law, offset, seen):
    offset, seen = OFFSETS[offset], SEEN[seen]
    pi = posterior(log_likelihood(offset, seen), TABLE[law])
    log_odds, log_weights = conditionals(at_hand(offset, seen), TABLE[law])
    for i in range(FEATURES):
        np.testing.assert_allclose(after_flip(pi, i, log_odds), pi, **EXACT)
    np.testing.assert_allclose(after_relocations(pi, log_weights), pi, **EXACT)


@pytest.mark.parametrize("law", TABLE)
def test_relocations_that_walk_are_caught(law):
    offset, seen = OFFSETS["offset"], SEEN["most"]
    pi = posterior(log_likelihood(offset, seen), TABLE[law])
    _, log_weights = conditionals(at_hand(offset, seen), TABLE[law])
    assert np.abs(after_walk(pi, log_weights) - pi).sum() > 1e-3


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("law", TABLE)
def test_whole_rows_leave_the_posterior_unchanged(law, offset, seen):
    offset, seen, table = OFFSETS[offset], SEEN[seen], TABLE[law]
    pi = posterior(log_likelihood(offset, seen), table)
    data, shift = at_hand(offset, seen), np.array([0.5, -1.0, 2.0, 0.1])
    excess = np.array([kernel.excess(z, shift, data, np.empty(DIMS)) for z in ROWS])
    q = proposal_law(table, THETA + shift)
    np.testing.assert_allclose(after_proposal(pi, q, excess), pi, **EXACT)
    without_shift = excess + ROWS @ shift  # a broken twin: the likelihood ratio alone
    assert np.abs(after_proposal(pi, q, without_shift) - pi).sum() > 0.01


def test_logarithm():
    rng = np.random.default_rng(0)
    q = np.concatenate(
        [np.exp(rng.normal(0, 30, 2000)), [0.0, 0.41421356, 0.41421357, 1.0, 1e-320]]
    )
    found = np.array([kernel.log1p(value) for value in q])
    np.testing.assert_allclose(found, np.log1p(q), rtol=6e-16)


HARSH = {
    "large counts": (1e9, 1.0),
    "tiny features": (1.0, 1e-210),
    "tiny features, large counts": (1e12, 1e-250),
    "large features": (1.0, 1e12),
}


@pytest.mark.parametrize("harsh", HARSH)
def test_gains_in_harsh_cases(harsh):
    counts, size = HARSH[harsh]
    x, loadings = np.round(X * counts), LOADINGS * size
    for offset in (np.zeros(DIMS), np.full(DIMS, 1e-300)):
        log_lik = log_likelihood(offset, SEEN["all"], x, loadings)
        log_odds, _ = conditionals(at_hand(offset, SEEN["all"], x, loadings), TABLE["interval"])
        for at, i in product(range(len(ROWS)), range(FEATURES)):
            k = int(ROWS[at].sum() - ROWS[at, i])
            expected = THETA[i] + step(TABLE["interval"], k)
            expected += log_lik[at | 1 << i] - log_lik[at & ~(1 << i)]
            scale = np.abs(log_lik[np.isfinite(log_lik)]).max()
            found = log_odds(ROWS[at].copy(), i)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)


def test_features_that_could_not_make_a_count_have_no_weight():
    loadings = LOADINGS.copy()
    loadings[0, 1:3] = 0.0  # column 0 has a count, features 1 and 2 do not reach it
    data = at_hand(np.zeros(DIMS), SEEN["all"], X, loadings)
    log_odds, log_weights = conditionals(data, TABLE["interval"])
    z = ROWS[1].copy()
    np.testing.assert_array_equal(np.isneginf(log_weights(z, 0)), [False, True, True, False])
    assert log_odds(z, 0) == np.inf
    assert log_odds(ROWS[0].copy(), 1) == -np.inf
    assert kernel.excess(ROWS[6], np.zeros(FEATURES), data, np.empty(DIMS)) == -np.inf


def test_counts_that_are_impossible_decide_before_the_data():
    gains = np.array([np.inf, -np.inf])
    assert kernel.flip_log_odds(0, -np.inf, True, gains) == -np.inf
    assert kernel.flip_log_odds(1, np.inf, False, gains) == np.inf


def split_many(x, weights, size, seed):
    left, parts, out = np.empty(weights.size), np.empty(weights.size), []
    for row in range(size):
        kernel.split_count(np.uint64(seed), 0, row, 0, x, weights, left, parts)
        assert parts.sum() == x
        out.append(parts.copy())
    return np.array(out, dtype=np.int64)


def split_p_values(x, weights, n, seed, *, forgetful=False):
    """Compare splits with the enumerated multinomial law.

    The twin is forgetful: its first share takes no account of the others.
    """
    found = split_many(x, weights, n, seed)
    if forgetful:
        found[:, 0] = np.random.default_rng(seed).permutation(found[:, 0])
        found[:, -1] = x - found[:, :-1].sum(axis=1)
        found = found[found[:, -1] >= 0]
    code = (x + 1) ** np.arange(weights.size)
    cells = [p for p in product(range(int(x) + 1), repeat=weights.size) if sum(p) == x]
    law = np.zeros(int((x + 1) ** weights.size))
    law[(np.array(cells) @ code).astype(int)] = stats.multinomial.pmf(
        cells, int(x), weights / weights.sum()
    )
    return [frequencies_p_value(np.bincount((found @ code).astype(int), minlength=law.size), law)]


@pytest.mark.jit
@pytest.mark.parametrize("weights", [[1.0, 0.2, 3.0], [0.5, 2.0, 0.0], [0.0, 1e-3, 1.0, 0.5]])
@pytest.mark.parametrize("x", [1.0, 4.0, 5.0, 9.0])
def test_splits_are_multinomial(x, weights):
    assert holds(partial(split_p_values, x, np.array(weights)), replicates(20_000))


@pytest.mark.jit
def test_splits_of_large_counts():
    weights, x = np.array([1.0, 1e-9, 5.0, 0.1, 2.0]), 10**6
    probs = weights / weights.sum()

    def p_values(n, seed):
        found = split_many(float(x), weights, n, seed)
        rare = stats.binomtest(found[:, 1].sum(), n * x, probs[1]).pvalue
        products = (found[:, 0] - x * probs[0]) * (found[:, 2] - x * probs[2])
        covariance = mean_p_value(products, -x * probs[0] * probs[2])
        return [
            rare,
            covariance,
            *(binomial_p_value(found[:, a], x, probs[a]) for a in (0, 2, 3, 4)),
        ]

    assert holds(p_values, replicates(20_000))


@pytest.mark.jit
def test_wrong_splits_are_caught():
    check = partial(split_p_values, 5.0, np.array([1.0, 0.2, 3.0]), forgetful=True)
    assert is_caught(check, 20_000)


@pytest.mark.parametrize("x", [2.0, 6.0])
def test_splits_without_the_compiler(x):
    assert holds(partial(split_p_values, x, np.array([1.0, 0.0, 0.5, 0.3])), replicates(400))


@pytest.mark.parametrize("seen", ["all", "most"])
def test_splits_of_rows_add_up(seen):
    rng = np.random.default_rng(0)
    data = rng.poisson(3.0, (6, DIMS)).astype(float)
    rows = rng.integers(0, 2, (6, FEATURES)).astype(np.int8)
    rows[0] = 0
    observed = rng.random((6, DIMS)) < 0.6 if seen == "most" else np.ones((6, DIMS), bool)
    mask = observed if seen == "most" else np.empty((0, 0), bool)
    splits, exposure = np.zeros((FEATURES, DIMS)), np.zeros((FEATURES, DIMS))
    rest = np.zeros(DIMS)
    offset = OFFSETS["offset"]
    given = (np.uint64(1), 0, 10, data, mask, rows, LOADINGS, offset, np.empty(0))
    kernel.split(*given, splits, rest, exposure)
    data[~observed] = 0
    np.testing.assert_array_equal(splits.sum(axis=0) + rest, data.sum(axis=0))
    np.testing.assert_array_equal(exposure, rows.T.astype(float) @ observed)
    assert rest[2] == data[~rows.any(axis=1), 2].sum()  # no offset there: only without features


def test_splits_know_strengths_and_exposures():
    rng = np.random.default_rng(0)
    data, exposures = rng.poisson(9.0, (400, DIMS)).astype(float), rng.gamma(2.0, 0.5, 400)
    rows = np.tile([0.5, 0.0, 2.0, 0.0], (400, 1))
    sums = np.zeros((FEATURES, DIMS)), np.zeros(DIMS), np.zeros((FEATURES, DIMS))
    none, offset = np.empty((0, 0), bool), OFFSETS["offset"]
    kernel.split(np.uint64(1), 0, 0, data, none, rows, LOADINGS, offset, exposures, *sums)
    np.testing.assert_allclose(sums[2], np.outer(rows[0] * exposures.sum(), np.ones(DIMS)))
    share = 0.5 * A[0] / (0.5 * A[0] + 2.0 * A[2] + offset)  # as strong as it is
    totals = data.sum(axis=0)
    p = [stats.binomtest(int(sums[0][0, d]), int(totals[d]), share[d]).pvalue for d in range(DIMS)]
    assert min(p) > 1e-5


def swept_with_exposure(seen, exposure, law, n, seed, *, told):
    """Compare rows after a sweep with the posterior, in which they begin."""
    offset, mask = OFFSETS["offset"], SEEN[seen]
    rates = exposure * (offset + ROWS @ A)
    pi = posterior((xlogy(X, rates) - rates)[:, mask].sum(axis=1), TABLE[law])
    rows = ROWS[np.random.default_rng(seed).choice(len(ROWS), n, p=pi)].copy()
    observed = np.empty((0, 0), bool) if seen == "all" else np.tile(mask, (n, 1))
    steps = np.array([step(TABLE[law], k) for k in range(FEATURES)])
    kernel.sweep(
        np.uint64(seed), 0, 0, np.empty((0, 0)), np.tile(X, (n, 1)), observed, rows, LOADINGS,
        A.sum(axis=1), offset, told, THETA, TABLE[law][None], steps[None], np.zeros(n, np.int64),
        np.array([[1, 1, 0]], bool), LOADINGS, np.ones(FEATURES), np.eye(FEATURES), 0.5, 4.0,
    )  # fmt: skip
    found = np.bincount(rows @ (1 << np.arange(FEATURES)), minlength=len(ROWS))
    return [frequencies_p_value(found, pi)]


@pytest.mark.parametrize("seen", ["all", "most"])
def test_sweeps_know_exposures(seen):
    def check(n, seed):
        given = (seen, 0.3, "interval", n, seed)
        return swept_with_exposure(*given, told=np.full(n, 0.3))

    assert holds(check, replicates(150, 20_000))


@pytest.mark.jit
def test_exposures_that_are_left_out_are_caught():
    def check(n, seed):
        return swept_with_exposure("all", 0.3, "interval", n, seed, told=np.empty(0))

    assert is_caught(check, 5000)
