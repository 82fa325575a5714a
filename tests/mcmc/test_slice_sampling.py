"""Slice steps keep a law, also one with an edge."""

import math

import numpy as np
import pytest
from scipy import stats

from ribp.mcmc.slice_sampling import slice_step
from ribp.testing.goodness import (
    frequencies_p_value,
    holds,
    is_caught,
    mean_p_value,
    replicates,
)

LAWS = {
    "normal": (stats.norm(1, 2), lambda x: -((x - 1) ** 2) / 8),
    "gamma": (stats.gamma(0.7), lambda x: -0.3 * math.log(x) - x),
    "exponential": (stats.expon(), lambda x: -x),
}


def chain(law, log_density):
    """Return a check that a chain for the density has the law: its quantiles' mean and spread."""

    def check(n, seed):
        rng, low = np.random.default_rng(seed), law.support()[0]
        x, found = float(law.mean()), []
        for _ in range(n):
            x = slice_step(rng, x, log_density, low=low, width=2.0)
            found.append(x)
        at = law.cdf(found)
        values = np.array([at, (at - 0.5) ** 2]).T
        batches = np.array([part.mean(axis=0) for part in np.array_split(values, 50)])
        return list(map(mean_p_value, batches.T, (1 / 2, 1 / 12)))

    return check


@pytest.mark.parametrize("name", LAWS)
def test_slice_steps_keep_a_law(name):
    law, log_density = LAWS[name]
    assert holds(chain(law, log_density), replicates(4000))
    assert is_caught(chain(law, lambda x: 1.5 * log_density(x)), 4000)


def test_two_pieces_with_a_gap():
    """Where the interval ends must be random: a gap is crossed from both sides equally often."""

    def log_density(x):
        return 0.0 if 0.0 <= x <= 1.0 or 1.5 <= x <= 2.0 else -np.inf

    def p_values(n, seed):
        rng = np.random.default_rng(seed)
        start = rng.uniform(0.0, 1.5, n)
        start[start > 1.0] += 0.5
        after = [slice_step(rng, x, log_density) for x in start]
        cells = np.histogram(after, [0.0, 0.5, 1.25, 2.0])[0]
        return [frequencies_p_value(cells, np.full(3, 1 / 3))]

    assert holds(p_values, replicates(2000))
