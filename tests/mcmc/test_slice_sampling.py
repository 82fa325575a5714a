"""Slice steps keep a law, also one with an edge."""

import math

import numpy as np
import pytest
from scipy import stats

from ribp.mcmc.slice_sampling import slice_step
from ribp.testing.goodness import agrees, mean_p_value, n_seeds

LAWS = {
    "normal": (stats.norm(1, 2), lambda x: -((x - 1) ** 2) / 8),
    "gamma": (stats.gamma(0.7), lambda x: -0.3 * math.log(x) - x),
    "exponential": (stats.expon(), lambda x: -x),
}


def keeps(law, log_density):
    """Return whether a chain for the density has the law: means of its quantile and its spread."""
    rng, low = np.random.default_rng(0), law.support()[0]
    x, found = float(law.mean()), []
    for _ in range(n_seeds(4000)):
        x = slice_step(rng, x, log_density, low=low, width=2.0)
        found.append(x)
    at = law.cdf(found)
    values = np.array([at, (at - 0.5) ** 2]).T
    batches = np.array([part.mean(axis=0) for part in np.array_split(values, 50)])
    return all(map(agrees, map(mean_p_value, batches.T, (1 / 2, 1 / 12))))


@pytest.mark.parametrize("name", LAWS)
def test_slice_steps_keep_a_law(name):
    law, log_density = LAWS[name]
    assert keeps(law, log_density)
    assert not keeps(law, lambda x: 1.5 * log_density(x))  # a broken twin
