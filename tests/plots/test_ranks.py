"""Ranks of draws: uniform for chains that agree, whatever they are; the band holds what it says."""

import numpy as np
import pytest
from scipy.stats import hypergeom, rankdata

from ribp import plots
from ribp.plots.reading import rank_shares
from tests.helpers.plot_cases import made, popular_rows

RNG = np.random.default_rng(0)
TRUTH = popular_rows(RNG, 30, 5, used=4)
COMPONENTS = RNG.normal(0.0, 3.0, (5, 4))


def test_shares_are_those_of_the_ranks():
    draws = np.random.default_rng(1).standard_normal((3, 70))
    found = rank_shares(np.random.default_rng(0), draws).mean
    ranks = (rankdata(draws).reshape(3, 70) - 1).astype(int)
    expected = [np.bincount(one // 30, minlength=7) / 10 for one in ranks]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_shares_average_to_one_over_chains_and_bins():
    for shape in ((2, 40), (3, 57), (5, 203), (4, 4), (1, 1)):
        draws = np.random.default_rng(1).integers(0, 3, shape).astype(float)
        found = rank_shares(np.random.default_rng(0), draws)
        filled = found.mean.sum(axis=0) > 0
        np.testing.assert_allclose(found.mean.mean(axis=0)[filled], 1.0, rtol=1e-12)
        assert np.isfinite(found).all()


def coverage(make, n):
    """Return how far the share of steps in the band is from what it should be, in errors."""
    found = [
        rank_shares(np.random.default_rng(seed), make(np.random.default_rng([1, seed])))
        for seed in range(n)
    ]
    shares = [((f.mean >= f.low - 1e-9) & (f.mean <= f.high + 1e-9)).mean() for f in found]
    law = hypergeom(400, 40, 100)  # 40 of 400 draws are in a bin; a chain has 100
    low, high = law.ppf(0.005), law.ppf(0.995)
    exact = law.cdf(high) - law.cdf(low - 1)
    assert 0.99 <= exact < 0.999
    return (np.mean(shares) - exact) / (np.std(shares) / np.sqrt(n))


CASES = {
    "continuous": lambda rng: rng.standard_normal((4, 100)),
    "with ties": lambda rng: rng.integers(0, 3, (4, 100)).astype(float),
    "constant": lambda rng: np.zeros((4, 100)),
}
ONE_OF_FOUR = np.array([0.0, 0.0, 0.0, 0.5])[:, None]
BROKEN = {
    "another place": lambda rng: rng.standard_normal((4, 100)) + ONE_OF_FOUR,
    "another spread": lambda rng: rng.standard_normal((4, 100)) * (1.0 + ONE_OF_FOUR),
    "slow": lambda rng: rng.standard_normal((4, 100)).cumsum(axis=1),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_band_holds_what_it_says(name):
    assert abs(coverage(CASES[name], 200)) < 4.0


@pytest.mark.parametrize("name", list(BROKEN))
def test_chains_that_differ_leave_the_band(name):
    assert coverage(BROKEN[name], 60) < -4.0


def steps_of(ax):
    """Return values of the steps of each chain in a panel."""
    return [patch.get_data().values for patch in ax.patches if not patch.get_fill()]


def test_steps_in_the_picture_are_the_shares():
    result = made(TRUTH, COMPONENTS, n_draws=40)
    axes = plots.ranks(result)
    axes[0].figure.canvas.draw()
    draws = result.tree["posterior"]["active_features"].to_numpy().astype(float)
    shares = rank_shares(np.random.default_rng(0), draws)
    highest = 1.05 * max(2.0, shares.mean.max(), shares.high.max())
    first, second = steps_of(axes[0])
    np.testing.assert_allclose(first, 1.0 + shares.mean[0] / highest, rtol=1e-12)
    np.testing.assert_allclose(second, shares.mean[1] / highest, rtol=1e-12)
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["chain 0", "chain 1"]
    assert [ax.get_title() for ax in axes] == [ax.get_title() for ax in plots.traces(result)]


def test_a_single_chain_is_compared_with_itself():
    axes = plots.ranks(made(TRUTH, COMPONENTS, rows_of_chain=[TRUTH], n_draws=41))
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    assert names == ["first half", "second half"]
    assert len(steps_of(axes[0])) == 2
