"""Learned count laws: conjugate draws, in logarithms, that find the table behind the rows."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp import counts
from ribp.counts.tables import draw_log_probs, log_marginal, mean_log_probs, prior_log_probs
from ribp.errors import InputError
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates
from tests.helpers.count_law_cases import dirichlet_p_values

BASE = [0.5, 0.0, 2.0, 1.0, 4.0]


def one_law(base, n_rows):
    return counts.as_row_counts(counts.learned(base), n_rows)


def test_known_laws_stay_what_they_are():
    laws = counts.by_group({"a": counts.poisson(3), "b": counts.exactly(1)}, list("aba"))
    rng = np.random.default_rng(0)
    exact = [law.restricted_log_probs(0, 5) for law in laws.laws]
    np.testing.assert_array_equal(draw_log_probs(rng, laws, np.array([2, 1, 5]), 5), exact)
    np.testing.assert_array_equal(prior_log_probs(rng, laws, 5), exact)
    histograms = np.array([[0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 0]])
    expected = exact[0][2] + exact[0][5] + exact[1][1]
    assert log_marginal(laws, histograms, np.array(exact)) == pytest.approx(expected)


@pytest.mark.parametrize("n_features", [4, 6, 3])
def test_tables_are_dirichlet_on_what_is_possible(n_features):
    ones = np.array([2, 2, 2, 0, 3])
    laws = one_law(BASE, 5)
    base = np.zeros(n_features + 1)
    base[: len(BASE)] = BASE[: n_features + 1]
    histogram = np.bincount(ones, minlength=n_features + 1)

    def after(n, seed, shape=base + histogram):
        rng = np.random.default_rng(seed)
        tables = np.exp([draw_log_probs(rng, laws, ones, n_features)[0] for _ in range(n)])
        return dirichlet_p_values(tables, shape)

    def before(n, seed, shape=base):
        rng = np.random.default_rng(seed)
        tables = np.exp([prior_log_probs(rng, laws, n_features)[0] for _ in range(n)])
        return dirichlet_p_values(tables, shape)

    assert holds(after, replicates(400))
    assert holds(before, replicates(400), seed=1)
    assert is_caught(partial(after, shape=base), 400)
    assert is_caught(partial(before, shape=base + histogram), 400)


def test_every_group_has_its_own_rows_and_table():
    learned = counts.learned([1.0, 1.0, 1.0])
    laws = counts.by_group(
        {"a": learned, "b": learned, "c": counts.exactly(1)}, list("abcab") * 200
    )
    ones = np.tile([0, 2, 1, 0, 2], 200)
    f = np.exp(draw_log_probs(np.random.default_rng(0), laws, ones, 2))
    assert f.shape == (3, 3)
    assert f[0, 0] > 0.95
    assert f[1, 2] > 0.95
    np.testing.assert_allclose(f.sum(axis=1), 1.0)


@pytest.mark.parametrize("tiny", [1e-2, 1e-5, 1e-200, 1e-310])
def test_no_count_that_a_row_has_is_lost(tiny):
    laws, rng = one_law([tiny, tiny, 0.0, tiny], 3), np.random.default_rng(0)
    for _ in range(20):
        log_f = draw_log_probs(rng, laws, np.array([3, 0, 3]), 3)[0]
        assert np.isfinite(log_f[[0, 1, 3]]).all()
        assert log_f[2] == -np.inf
        assert log_f[[0, 3]].min() > -40  # Beta(1, 2): no smaller than chance allows
        assert logsumexp(log_f) == pytest.approx(0.0, abs=1e-12)
        assert logsumexp(prior_log_probs(rng, laws, 3)[0]) == pytest.approx(0.0, abs=1e-12)


def test_impossible_rows_and_laws_are_errors():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="must be zero where base is zero"):
        draw_log_probs(rng, one_law([1.0, 0.0, 1.0], 1), np.array([1]), 2)
    with pytest.raises(InputError, match="mass"):
        prior_log_probs(rng, one_law([0.0, 0.0, 0.0, 1.0], 1), 2)


def test_counts_with_learned_tables_integrated_out():
    """One row after another: P(k) = (b_k + rows that have k)/(sum b + rows so far)."""
    other = counts.learned([0.0, 3.0, 1.0])
    laws = counts.by_group(
        {"a": counts.learned(BASE), "b": counts.uniform(0, 3), "c": other}, list("aaabccaa")
    )
    ones = np.array([0, 3, 3, 2, 1, 2, 0, 2])
    bases = {0: np.array(BASE[:4]), 2: np.array([0.0, 3.0, 1.0, 0.0])}  # four is not possible
    histograms, expected = np.zeros((3, 4), np.int64), 0.0
    for law, k in zip(laws.law_of_row, ones, strict=True):
        if law == 1:
            expected += math.log(0.25)
        else:
            weights = bases[law] + histograms[law]
            expected += math.log(weights[k] / weights.sum())
        histograms[law, k] += 1
    tables = prior_log_probs(np.random.default_rng(0), laws, 3)
    assert log_marginal(laws, histograms, tables) == pytest.approx(expected)
    histograms[0, 1] += 1  # has no base
    assert log_marginal(laws, histograms, tables) == -math.inf


TRUTH = np.array([0.1, 0.4, 0.0, 0.3, 0.2])


def recovered(n, seed, shift=0):
    """Compare tables learned from 2000 rows with the law that the rows came from.

    Over data sets the mean of a table is (1/2 + 2000 truth)/2003; its variance is that of the
    posterior mean, and as much again for the posterior.
    """
    rng, laws, found = np.random.default_rng(seed), one_law([0.5] * 6, 2000), []
    for _ in range(n):
        ones = rng.choice(5, size=2000, p=TRUTH) + shift
        found.append(np.exp(draw_log_probs(rng, laws, ones, 5)[0]))
    f, truth = np.array(found)[:, :5][:, TRUTH > 0], TRUTH[TRUTH > 0]
    mean, of_mean = (0.5 + 2000 * truth) / 2003, 2000 * truth * (1 - truth) / 2003**2
    variance = of_mean + (mean * (1 - mean) - of_mean) / 2004
    return [*map(mean_p_value, f.T, mean), *map(mean_p_value, ((f - mean) ** 2).T, variance)]


def test_a_learned_law_recovers_the_truth():
    assert holds(recovered, replicates(300))
    assert is_caught(partial(recovered, shift=1), 100)  # one feature too many in every row


def test_means_of_learned_laws():
    """Known laws stay; a learned one is at the mean of its Dirichlet law, with rows or without."""
    laws = counts.by_group(
        {"a": counts.uniform(1, 2), "b": counts.learned([1.0, 0.0, 3.0])}, list("abb")
    )
    without = mean_log_probs(laws, 4)
    np.testing.assert_allclose(np.exp(without[0]), [0, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(np.exp(without[1]), [0.25, 0, 0.75, 0, 0])
    given = mean_log_probs(laws, 4, np.array([1, 0, 2]))
    np.testing.assert_array_equal(given[0], without[0])
    np.testing.assert_allclose(np.exp(given[1]), [2 / 6, 0, 4 / 6, 0, 0])
