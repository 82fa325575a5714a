"""Poisson rows with strengths: fits, proposals and whole sweeps against quadrature."""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import ribp
from ribp.kernels import sweep_poisson_strengths as kernel
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.multiplicity_cases import steps_of

FEATURES, DIMS, SHAPE, EXPOSURE = 3, 3, 2.0, 1.4
RNG = np.random.default_rng(0)
A = RNG.gamma(1.0, 2.0, (FEATURES, DIMS))
A[1] = 1.2 * A[0] + 0.2
LOADINGS = np.ascontiguousarray(A.T)
X = np.array([4.0, 0.0, 3.0])
THETA = np.array([0.4, -0.5, 0.2])
OFFSETS = {"offset": np.array([0.3, 0.2, 0.4]), "no offset": np.zeros(DIMS)}
SEEN = {"all": np.ones(DIMS, bool), "most": np.array([1, 1, 0], bool)}
LAWS = {
    "interval": ribp.counts.table([0.1, 0.4, 0.3, 0.2]),
    "one count": ribp.counts.exactly(2),
    "a hole": ribp.counts.table([0.0, 0.5, 0.0, 0.5]),
}
SETS = np.array(list(product([0, 1], repeat=FEATURES)))
CODE = np.array([4, 2, 1])
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(40)
STRENGTHS = stats.gamma.ppf((NODES + 1) / 2, SHAPE, scale=1 / SHAPE)


def at_hand(offset, seen, exposure=EXPOSURE, x=X, loadings=LOADINGS):
    totals = exposure * (loadings.T * seen).sum(axis=1)
    at = np.flatnonzero(seen & (x > 0))
    return kernel.PositiveCounts(at, x[at], offset, loadings, totals)


def table_of(law):
    return LAWS[law].log_probs(FEATURES) - ribp.log_esp(THETA)


@cache
def posterior(law, offset, seen):
    """Return the probabilities of SETS, the mean log strength, and strengths with their law.

    All by quadrature.
    """
    logs, means, laws, offset, seen = [], [], [], OFFSETS[offset], SEEN[seen]
    for z in SETS:
        on = np.flatnonzero(z)
        s = np.array(list(product(STRENGTHS, repeat=on.size))).reshape(40**on.size, on.size)
        w = np.array(list(product(NODE_WEIGHTS / 2, repeat=on.size))).reshape(40**on.size, on.size)
        rates = EXPOSURE * (offset + s @ A[on])
        with np.errstate(divide="ignore"):
            log_l = stats.poisson.logpmf(X, np.maximum(rates, 1e-300))[:, seen].sum(axis=1)
        log_w = log_l + np.log(w).sum(axis=1)
        logs.append(logsumexp(log_w) + table_of(law)[on.size] + z @ THETA)
        law_of_s = np.exp(log_w - logsumexp(log_w))
        means.append(law_of_s @ np.log(s).sum(axis=1))
        laws.append((s, law_of_s))
    probs = np.exp(np.array(logs) - logsumexp(logs))
    return probs, float(probs @ means), laws


def test_impossible_sets_and_certain_ones():
    loadings = LOADINGS.copy()
    loadings[0, 1] = 0.0
    data = at_hand(np.zeros(DIMS), SEEN["all"], loadings=loadings)
    y, rates = np.array([0.0, 1.0, 0.0]), np.zeros(data.at.size)
    assert kernel.log_weight(y, np.zeros(3), data, SHAPE, rates) == -np.inf
    assert kernel.on_log_odds(1.0, -np.inf, True) == -np.inf
    assert kernel.on_log_odds(np.inf, 2.0, False) == np.inf
    assert kernel.on_log_odds(-np.inf, 2.0, True) == -np.inf
    assert kernel.on_log_odds(1.0, 2.0, True) == np.inf
    assert kernel.on_log_odds(1.0, 2.0, False) == 3.0


def test_features_that_are_off_come_in_runs():
    y = np.array([0.0, 0.0, 1.0, 0.0, 2.0, 0.0])
    assert [kernel.end_of_run(at, y) for at in (0, 1, 3, 5)] == [2, 2, 4, 6]


CASES = {
    "flips": ([1, 0, 0], "interval"),
    "relocations": ([0, 1, 0], "one count"),
    "both": ([1, 1, 0], "interval"),
    "whole rows": ([0, 0, 1], "interval"),
    "across a gap": ([1, 1, 1], "a hole"),
}


def p_values(name, offset, seen, n, seed, *, sweeps=5, exposure=EXPOSURE, step=None):
    """Compare sets and strengths after some sweeps with quadrature."""
    moves, law = CASES[name]
    probs, mean, laws = posterior(law, offset, seen)
    rng, table = np.random.default_rng(seed), table_of(law)
    which = rng.choice(len(SETS), n, p=probs)
    rows = SETS[which].astype(float)
    for at, (strengths, law_of_s) in enumerate(laws):
        mine = np.flatnonzero(which == at)
        chosen = strengths[rng.choice(len(law_of_s), mine.size, p=law_of_s)]
        rows[np.ix_(mine, np.flatnonzero(SETS[at]))] = chosen
    observed = np.empty((0, 0), bool) if seen == "all" else np.tile(SEEN[seen], (n, 1))
    scaled = LOADINGS / 2.0
    gram = scaled.T @ scaled
    diagonal, mean_z, precision = np.diag(gram).copy(), 0.5, 4.0
    guide = np.linalg.inv(gram + precision * np.eye(FEATURES))
    products = np.tile((X * SEEN[seen]) @ LOADINGS / 4.0, (n, 1))
    steps = steps_of(table) if step is None else np.full(FEATURES, step)
    for number in range(sweeps):
        kernel.sweep(
            np.uint64(seed), number, 3, products, np.tile(X, (n, 1)), observed, rows, LOADINGS,
            A.sum(axis=1), OFFSETS[offset], np.full(n, exposure), SHAPE, THETA, table[None],
            steps[None], np.zeros(n, np.int64), np.array([moves], bool), scaled, diagonal, guide,
            mean_z, precision,
        )  # fmt: skip
    found = np.bincount((rows > 0) @ CODE, minlength=8)
    logs = np.log(np.where(rows > 0, rows, 1.0)).sum(axis=1)
    return [frequencies_p_value(found, probs), mean_p_value(logs, mean)]


@pytest.mark.jit
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seen", SEEN)
def test_sweeps_have_the_posterior_of_sets_and_strengths(name, offset, seen):
    assert holds(partial(p_values, name, offset, seen), replicates(4000, 40_000))


@pytest.mark.jit
@pytest.mark.parametrize("wrong", [{"exposure": 1.0}, {"step": 0.0}])
def test_wrong_sweeps_are_caught(wrong):
    assert is_caught(partial(p_values, "flips", "offset", "most", **wrong), 4000)


def walked(step, n, seed):
    """Compare sets with quadrature after a walk along the labels, or moves in random order.

    A walk moves a feature that is on when it comes by: it may leave its place, and never enter it.
    """
    probs, _, laws = posterior("one count", "offset", "all")
    rng, data = np.random.default_rng(seed), at_hand(OFFSETS["offset"], SEEN["all"])
    rates, work, found = np.empty(data.at.size), np.empty((11, FEATURES)), np.zeros(8)
    for which in rng.choice(len(SETS), n, p=probs):
        strengths, law = laws[which]
        y = SETS[which].astype(float)
        y[y > 0] = strengths[rng.choice(len(law), p=law)]
        for i in step(rng, y):
            if y[i] > 0.0:
                kernel.fill_places(i, y, THETA, data, SHAPE, rates, work)
                weights = work[kernel.WEIGHTS]
                j = rng.choice(FEATURES, p=np.exp(weights - logsumexp(weights)))
                new = rng.gamma(work[kernel.SHAPE, j]) / work[kernel.RATE, j]
                gained = kernel.log_excess(new, j, rates, data, SHAPE, work)
                gained -= kernel.log_excess(y[i], i, rates, data, SHAPE, work)
                if np.log(rng.random()) < gained:
                    y[i], y[j] = 0.0, new
        found[int((y > 0) @ CODE)] += 1
    return [frequencies_p_value(found, probs)]


@pytest.mark.jit
def test_a_walk_along_the_labels_is_caught():
    assert holds(partial(walked, lambda rng, y: rng.permutation(np.flatnonzero(y))), 1000)
    assert is_caught(partial(walked, lambda rng, y: range(FEATURES)), 2000)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seen", SEEN)
def test_sweeps_without_the_compiler(name, offset, seen):
    assert holds(partial(p_values, name, offset, seen, sweeps=2), replicates(30))
