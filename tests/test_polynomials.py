"""Rows of counts, restricted: against direct enumeration of small boxes of counts."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ribp import counts
from ribp.polynomials import RestrictedEntries
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)
from tests.helpers.messages import message_of

LAWS = {"spread": counts.table([0.1, 0.3, 0.4, 0.2]), "point": counts.exactly(2)}
WEIGHTS = np.array([0.4, -1.0, -0.2])  # log lambda, or log-odds
MOST = 40  # entries beyond this have probability below 1e-9 under every law used here


def entry_probs(entries, failures):
    z = np.arange(MOST + 1)
    if entries == "poisson":
        return np.array([stats.poisson.pmf(z, np.exp(t)) for t in WEIGHTS])
    p_zero = 1 / (1 + np.exp(WEIGHTS))
    return np.array([stats.nbinom.pmf(z, failures, q) for q in p_zero])


def enumerated(entries, restrict, law, kind, failures, box):
    """Return rows of a box of counts and their probabilities, from the definition."""
    rows = np.array(list(product(range(box + 1), repeat=3)))
    pmf = entry_probs(entries, failures)
    mass = np.prod([pmf[i][rows[:, i]] for i in range(3)], axis=0)
    if restrict == "sum":
        quantity = rows.sum(axis=1)
    else:
        quantity = (rows > 0).sum(axis=1)
        if restrict == "ones":
            mass = np.where((rows > 1).any(axis=1), 0.0, mass)
    f = law.probs(int(quantity.max()))
    if kind == "mixture":
        total = np.bincount(quantity, mass)
        allowed = f * (total > 0)
        mass = mass / total[quantity] * f[quantity] / allowed.sum()
    else:
        mass = mass * f[quantity]
    return rows, mass / mass.sum()


@pytest.mark.parametrize("kind", ["mixture", "tilted"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("restrict", ["nonzeros", "sum", "ones"])
@pytest.mark.parametrize(("entries", "failures"), [("poisson", 1.0), ("negative_binomial", 0.5),
                                                   ("negative_binomial", 2.5)])  # fmt: skip
def test_log_prob_is_enumeration(entries, failures, restrict, law, kind):
    rows, probs = enumerated(entries, restrict, LAWS[law], kind, failures, MOST)
    row_law = RestrictedEntries(
        WEIGHTS, LAWS[law], entries=entries, restrict=restrict, kind=kind, failures=failures
    )
    found = np.exp(row_law.log_prob(rows))
    np.testing.assert_allclose(found, probs, rtol=1e-6, atol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["mixture", "tilted"])
@pytest.mark.parametrize("restrict", ["nonzeros", "sum", "ones"])
@pytest.mark.parametrize(("entries", "failures"), [("poisson", 1.0), ("negative_binomial", 2.5)])
def test_draws_have_the_law(entries, failures, restrict, kind):
    law = LAWS["spread"]
    row_law = RestrictedEntries(
        WEIGHTS, law, entries=entries, restrict=restrict, kind=kind, failures=failures
    )
    box = 4
    probs = np.exp(row_law.log_prob(list(product(range(box + 1), repeat=3))))

    def p_values(n, seed, inside_probs=probs):
        drawn = row_law.sample(np.random.default_rng(seed), n)
        inside = drawn[(drawn <= box).all(axis=1)]
        code = inside @ (box + 1) ** np.array([2, 1, 0])
        seen = np.append(np.bincount(code, minlength=probs.size), len(drawn) - len(inside))
        return [frequencies_p_value(seen, np.append(inside_probs, max(0.0, 1 - probs.sum())))]

    assert holds(p_values, replicates(16_000))
    assert is_caught(lambda n, seed: p_values(n, seed, probs[::-1]), 2000)


@pytest.mark.parametrize("entries", ["poisson", "negative_binomial"])
def test_tiny_weights_do_not_underflow(entries):
    tiny = np.array([-2000.0, -2001.0, -5000.0])
    row_law = RestrictedEntries(tiny, "exactly(1)", entries=entries)

    def p_values(n, seed, ratio=np.e):
        drawn = row_law.sample(np.random.default_rng(seed), n)
        assert (drawn.sum(axis=1) == 1).all()
        return [mean_p_value(drawn[:, 0], ratio / (1 + ratio))]

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: p_values(n, seed, ratio=1.0), 2000)


def total_p_values(row_law, probs, n, seed):
    totals = row_law.sample_totals(np.random.default_rng(seed), n)
    return [frequencies_p_value(np.bincount(totals, minlength=probs.size), probs)]


def test_an_unbounded_tilted_sum():
    # Poisson rows kept with probability Poisson(3): the total has law prop. to the product.
    row_law = RestrictedEntries(WEIGHTS, "poisson(3)", restrict="sum", kind="tilted")
    k = np.arange(60)
    total = np.exp(WEIGHTS).sum()
    kept = stats.poisson.pmf(k, 3) * stats.poisson.pmf(k, total)
    assert holds(partial(total_p_values, row_law, kept), replicates(5000))
    assert is_caught(partial(total_p_values, row_law, stats.poisson.pmf(k, 3)), 5000)


def test_a_tilted_sum_far_from_both_laws():
    # The product of Poisson(0.1) and Poisson(20 e^6) is as (0.1 * 20 e^6)^k / k!^2: about 28.
    row_law = RestrictedEntries(np.full(20, 6.0), "poisson(0.1)", restrict="sum", kind="tilted")
    k, mean = np.arange(100), np.sqrt(0.1 * 20 * np.exp(6))
    kept = stats.poisson.pmf(k, mean) ** 2
    assert holds(partial(total_p_values, row_law, kept), replicates(4000))
    assert is_caught(partial(total_p_values, row_law, stats.poisson.pmf(k, mean)), 4000)


@pytest.mark.parametrize("failures", [1e5, 1e8, 1e10])
def test_many_failures_are_the_poisson_limit(failures):
    row_law = RestrictedEntries(
        [0.0, np.log(3)], "exactly(2)", entries="negative_binomial", restrict="sum",
        failures=failures,
    )  # fmt: skip
    # P(z) prop. to C(z1+r-1, z1) C(z2+r-1, z2) (1/2)^z1 (3/4)^z2
    r = failures
    weights = np.array([r * (r + 1) / 2 * 0.25, r * r * 0.375, r * (r + 1) / 2 * 0.5625])
    found = np.exp(row_law.log_prob([[2, 0], [1, 1], [0, 2]]))
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-11)


@pytest.mark.jit
def test_heavy_negative_binomial_entries():
    """Given that it is positive, an entry with odds w and r = 1 is geometric with mean 1 + w."""
    row_law = RestrictedEntries([6.0, -3.0], "exactly(2)", entries="negative_binomial")

    def p_values(n, seed, more=0.0):
        drawn = row_law.sample(np.random.default_rng(seed), n)
        return list(map(mean_p_value, drawn.T, 1 + np.exp([6.0 + more, -3.0 + more])))

    assert holds(p_values, replicates(20_000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, more=0.3))], 20_000)


def test_sums_of_zero():
    row_law = RestrictedEntries(WEIGHTS, "exactly(0)", restrict="sum", entries="negative_binomial")
    assert row_law.sample(0, 3).tolist() == [[0, 0, 0]] * 3
    assert row_law.log_prob([0, 0, 0]) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RestrictedEntries([[0.0]], "exactly(1)"), "log_weights must be one finite vector"),
        (lambda: RestrictedEntries([np.inf], "exactly(1)"), "log_weights must be one finite"),
        (lambda: RestrictedEntries([0.0], "exactly(1)", entries="poison"), "Did you mean"),
        (lambda: RestrictedEntries([0.0], "exactly(1)", restrict="sums"), "Did you mean 'sum'"),
        (lambda: RestrictedEntries([0.0], "exactly(1)", failures=0), "failures must be positive"),
        (lambda: RestrictedEntries([0.0], "exactly(1)").log_prob([1, 2]), "z must have 1 features"),
        (lambda: RestrictedEntries([0.0], "exactly(1)").log_prob([-1]), "z must be at least 0"),
        (lambda: RestrictedEntries([0.0], 3, restrict="sum"), "counts must be a count law"),
        (lambda: RestrictedEntries([40.0], "exactly(1)"), "log_weights must be at most 30"),
        (lambda: RestrictedEntries([0.0], "exactly(1)").sample_sparse(
            np.random.default_rng(0), np.array([3])), "totals must be at most"),
        (lambda: RestrictedEntries([0.0], "exactly(2)"), "counts must have mass on 0..1"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    message_of(call, words)
