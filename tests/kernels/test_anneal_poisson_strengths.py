"""Annealing of rows of counts with strengths: densities and means against quadrature."""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import ribp
from ribp.kernels import anneal_poisson_strengths as kernel
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

FEATURES, DIMS, SHAPE, EXPOSURE, OWN = 3, 4, 2.0, 1.4, 2.0
RNG = np.random.default_rng(3)
A = RNG.gamma(1.0, 2.0, (FEATURES, DIMS))
X = np.array([3.0, 0.0, 2.0, 1.0])
SEEN = np.array([1, 1, 1, 0], bool)
THETA = np.array([0.4, -0.5, 0.2])
LAWS = {
    "interval": ribp.counts.table([0.1, 0.4, 0.3, 0.2]),
    "one count": ribp.counts.exactly(2),
    "a hole": ribp.counts.table([0.0, 0.6, 0.0, 0.4]),
}
OFFSETS = {"offset": np.array([0.3, 0.2, 0.4, 0.1]), "no offset": np.zeros(DIMS)}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
STRENGTHS = stats.gamma.ppf((NODES + 1) / 2, SHAPE, scale=1 / SHAPE)
OWN_NODES = stats.gamma.ppf((NODES + 1) / 2, OWN, scale=1 / OWN)


def table_of(law):
    return LAWS[law].log_probs(FEATURES) - ribp.log_esp(THETA)


def log_integral(log_terms, weights):
    return logsumexp(log_terms + np.log(weights))


@cache
def exact(law, offset, learn):
    """Return log p(x), up to what the kernel leaves out, P(z | x) and E[z s | x]."""
    offset, table = OFFSETS[offset], table_of(law)
    sets, logs, means = list(product([0, 1], repeat=FEATURES)), [], []
    for z in sets:
        on = np.flatnonzero(z)
        shape = NODES.size**on.size, on.size
        s = np.array(list(product(STRENGTHS, repeat=on.size))).reshape(shape)
        w = np.array(list(product(WEIGHTS / 2, repeat=on.size))).reshape(shape).prod(axis=1)
        rates = np.maximum(offset + s @ A[on], 1e-300)[:, SEEN]
        counts, total = X[SEEN], rates.sum(axis=1)
        terms = (counts * np.log(rates)).sum(axis=1)
        if learn:
            own = counts.sum() * np.log(OWN_NODES) - np.outer(total, OWN_NODES)
            terms = terms + logsumexp(own, b=WEIGHTS / 2, axis=1)
        else:
            terms = terms - EXPOSURE * (total - offset[SEEN].sum())
        logs.append(log_integral(terms, w) + table[on.size] + np.array(z) @ THETA)
        mean = np.zeros(FEATURES)
        mean[on] = np.exp(terms + np.log(w) - log_integral(terms, w)) @ s
        means.append(mean)
    log_p = logsumexp(logs)
    probs = np.exp(logs - log_p)
    return log_p, probs @ np.array(sets), probs @ np.array(means)


def run(seeds, law, offset, learn, n_particles=3, n_steps=3, x=X, exposure=EXPOSURE):
    rows = len(seeds)
    out = (
        np.empty(rows), np.empty(rows), np.empty((rows, FEATURES)),
        np.empty((rows, FEATURES), np.int8), np.empty((rows, FEATURES)),
    )  # fmt: skip
    kernel.poisson_strengths(
        seeds, n_particles, n_steps, np.tile(x, (rows, 1)), np.tile(SEEN, (rows, 1)),
        np.full(rows, exposure), np.ascontiguousarray(A.T), OFFSETS[offset], SHAPE,
        OWN if learn else 0.0, THETA, table_of(law), *out,
    )  # fmt: skip
    return out


def p_values(law, offset, learn, n, seed, **options):
    """Compare the mean weight, and what weights make of z and s, with quadrature."""
    seeds = np.random.default_rng(seed).integers(2**63, size=n, dtype=np.uint64)
    log_sums, _, probs, sample, sizes = run(seeds, law, offset, learn, **options)
    log_p, eta, means = exact(law, offset, learn)
    ratio = np.exp(log_sums - log_p)
    known = ratio > 0  # or probabilities are not known, and count for nothing
    found = [mean_p_value(ratio, 1.0)]
    for each, mean in ((probs, eta), (sample, eta), (sizes, means)):
        weighted = np.where(known[:, None], ratio[:, None] * each, 0.0)
        found += [mean_p_value(one, at) for one, at in zip(weighted.T, mean, strict=True)]
    return found


CASES = [(law, "offset", learn) for law in LAWS for learn in (False, True)]
CASES += [("interval", "no offset", False), ("interval", "no offset", True)]


@pytest.mark.jit
@pytest.mark.parametrize("case", CASES)
def test_densities_probabilities_and_strengths_are_unbiased(case):
    assert holds(partial(p_values, *case), replicates(3000, 30_000))


@pytest.mark.jit
def test_another_exposure_is_caught():
    assert is_caught(partial(p_values, "interval", "offset", False, exposure=1.0), 3000)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_the_same_in_any_company(case):
    seeds = np.array([3, 4], np.uint64)
    out = run(seeds, *case)
    for n in range(2):
        for whole, part in zip(out, run(seeds[[n]], *case), strict=True):
            np.testing.assert_array_equal(whole[n], part[0])


def test_a_row_that_cannot_be():
    nobody = {"no features": ribp.counts.exactly(0)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LAWS, "no features", nobody["no features"])
        log_sum, error, probs, sample, sizes = run(
            np.zeros(1, np.uint64), "no features", "no offset", False
        )
    assert log_sum == -np.inf
    assert error == np.inf
    assert np.isnan(probs).all()
    assert np.isnan(sizes).all()
    assert not sample.any()
