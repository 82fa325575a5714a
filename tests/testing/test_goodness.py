"""Two stages: what fails at once, what is looked at again, and how often a right check fails."""

import math

import numpy as np
import pytest
from scipy import stats

from ribp.testing import goodness
from ribp.testing.goodness import (
    AGAIN,
    AT_ONCE,
    DOUBTFUL,
    SUITE_RATE,
    SUITE_STATISTICS,
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
    two_sample_p_value,
)


@pytest.fixture
def heard(monkeypatch):
    """Keep scripted verdicts from the suite, which counts its statistics."""
    found = []
    monkeypatch.setattr(goodness, "watchers", [found.append])
    return found


class Scripted:
    """A check whose p-values are given, stage by stage; it remembers how it was called."""

    def __init__(self, *stages):
        self.stages, self.calls = list(stages), []

    def __call__(self, n, seed):
        self.calls.append((n, seed))
        return self.stages[len(self.calls) - 1]


@pytest.mark.parametrize(
    ("stages", "passes"),
    [
        ([[0.5, 2e-3]], True),
        ([[0.5, 9e-8]], False),
        ([[0.5, 9e-4], [0.9, 2e-5]], True),
        ([[0.5, 9e-4], [0.9, 9e-6]], False),
        ([[0.5, 2e-7], [1e-12, 0.3]], True),  # what was not doubtful is not judged again
        ([[9e-4, 2e-4], [0.2, 9e-6]], False),
        ([[]], True),
    ],
)
def test_stages(stages, passes, heard):
    check = Scripted(*stages)
    assert bool(holds(check, 50)) == passes
    assert len(check.calls) == len(stages)
    assert is_caught(Scripted(*stages), 50) != passes


def test_the_second_stage_has_ten_times_the_replicates_and_a_fresh_seed(heard):
    check = Scripted([1e-4], [0.5])
    assert holds(check, 50, seed=3)
    (first, seed), (second, other) = check.calls
    assert (first, second) == (50, 500)
    assert seed != other
    same = Scripted([1e-4], [0.5])
    assert holds(same, 50, seed=3)
    assert same.calls == check.calls
    another = Scripted([1e-4], [0.5])
    assert holds(another, 50, seed=4)
    assert not {seed for _, seed in another.calls} & {seed, other}


def test_seeds_and_replicates_come_from_the_environment(heard, monkeypatch):
    def seeds():
        check = Scripted([1e-4], [0.5])
        holds(check, 50)
        return {seed for _, seed in check.calls}

    monkeypatch.delenv("RIBP_TEST_SEED", raising=False)
    monkeypatch.delenv("RIBP_TEST_TIER", raising=False)
    usual = seeds()
    assert (replicates(600), replicates(600, 5000)) == (600, 600)
    monkeypatch.setenv("RIBP_TEST_SEED", "1")
    assert not usual & seeds()
    monkeypatch.setenv("RIBP_TEST_TIER", "slow")
    assert (replicates(600), replicates(600, 5000)) == (6000, 5000)


def test_a_verdict_says_what_was_seen(heard):
    assert repr(holds(Scripted({"mass": 0.5, "noise": 0.02}), 50)) == (
        "<passed, 50 replicates; noise: p = 0.02>"
    )
    assert repr(holds(Scripted({"mass": 1e-4, "noise": 0.02}, {"mass": 1e-9, "noise": 0}), 50)) == (
        "<failed, 50 replicates; mass: p = 0.0001; mass: p = 1e-09 of 500 replicates>"
    )


def test_a_watcher_hears_of_honest_checks_only(heard):
    holds(Scripted([0.3, 0.2]), 50)
    is_caught(Scripted([0.0]), 50)
    assert [(len(verdict.p_values), verdict.least) for verdict in heard] == [(2, 0.2)]


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_what_is_no_p_value_is_refused(wrong):
    with pytest.raises(ValueError, match="no p-value"):
        holds(Scripted([0.5, wrong]), 50)


def test_the_rate_of_the_suite():
    """P-values of right checks are uniform; stages are independent."""
    rate = AT_ONCE + DOUBTFUL * AGAIN
    assert SUITE_STATISTICS * rate <= SUITE_RATE < (SUITE_STATISTICS + 1) * rate
    assert SUITE_STATISTICS > 9000


@pytest.mark.parametrize(("shift", "n"), [(0.2, 600), (0.07, 5000)])
def test_power(shift, n):
    """A wrong mean is caught with probability .95, a right one never."""

    def check(n, seed, shift=shift):
        return [mean_p_value(np.random.default_rng(seed).normal(shift, 1.0, n), 0.0)]

    assert sum(is_caught(check, n, seed) for seed in range(200)) >= 170  # p = 2e-7 if it were .95
    assert not any(is_caught(lambda n, seed: check(n, seed, 0.0), n, seed) for seed in range(200))


def test_few_batches_have_wide_tails():
    """With the normal law in place of Student's t, ten batches would fail far too often."""

    def scores(n, seed):
        draws = np.random.default_rng(seed).normal(size=(n, 10))
        return draws.mean(axis=1) / draws.std(axis=1, ddof=1) * math.sqrt(10), draws

    def rate(n, p_values):
        return [stats.binomtest(int((np.array(p_values) < 0.01).sum()), n, 0.01).pvalue]

    assert holds(lambda n, seed: rate(n, [mean_p_value(x, 0.0) for x in scores(n, seed)[1]]), 4000)
    assert is_caught(lambda n, seed: rate(n, 2 * stats.norm.sf(abs(scores(n, seed)[0]))), 4000)


def test_two_samples_are_those_of_welch():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=7), rng.normal(0.3, 4.0, 11)
    expected = stats.ttest_ind(one, other, equal_var=False).pvalue
    assert two_sample_p_value(one, other) == pytest.approx(expected)
    assert mean_p_value(one, 0.3) == pytest.approx(stats.ttest_1samp(one, 0.3).pvalue)


def test_rare_ones_that_were_not_seen():
    assert mean_p_value(np.zeros(600), 1e-4) > 0.9
    assert mean_p_value(np.zeros(600), 0.05) == pytest.approx(0.95**600)


def test_draws_that_do_not_vary():
    assert mean_p_value([2.0, 2.0], 2.0) == 1.0
    assert mean_p_value([2.0, 2.0], 2.1) == 0.0
    assert mean_p_value([2.0, 2.0], 2.1, standard_error=0.1) == pytest.approx(0.317, abs=0.001)
    assert two_sample_p_value([1, 1], [1, 1, 1]) == 1.0
    assert two_sample_p_value([1, 1], [2, 2]) == 0.0


def test_frequencies():
    assert frequencies_p_value([50, 50], [1, 1]) == 1.0
    assert frequencies_p_value([50, 0, 1], [1, 1, 0]) == 0.0  # which cannot happen
    assert frequencies_p_value([3, 2], [1, 1]) == 1.0  # too few for any cell
    assert frequencies_p_value([600, 400], [1, 1]) == pytest.approx(stats.chi2.sf(40, 1))
    many = frequencies_p_value([400, 2, 3, 4, 591], [0.4, 0.003, 0.003, 0.004, 0.59])
    assert many == pytest.approx(stats.chi2.sf((1 / 10) + 1 / 590, 2))  # small cells are one
