"""Slice steps keep a law, also one with an edge."""

import math

import numpy as np
import pytest
from scipy import stats

from ribp.mcmc.slice_sampling import slice_step
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

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
