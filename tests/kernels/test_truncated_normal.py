"""The normal law above zero."""

import numpy as np
import pytest
from scipy import special, stats

from ribp.kernels import truncated_normal as kernel
from ribp.testing.goodness import holds, is_caught, replicates


def test_log_ndtr_is_that_of_scipy_in_both_tails():
    at = np.concatenate([np.linspace(-60, 8, 341), [-1e4, -30.0, -29.999999]])
    found = np.array([kernel.log_ndtr(t) for t in at])
    np.testing.assert_allclose(found, special.log_ndtr(at), rtol=1e-12, atol=1e-16)


def draws(t, wrong=0.0):
    def check(n, seed):
        found = [kernel.draw_positive(np.uint64(seed), 0, row, 5, t) for row in range(n)]
        law = stats.truncnorm(-t - wrong, np.inf, loc=t + wrong)
        return [stats.kstest(found, law.cdf).pvalue]

    return check


@pytest.mark.parametrize("t", [-20.0, -3.0, -0.3, 0.0, 0.4, 5.0])
def test_draws_have_their_law(t):
    assert holds(draws(t), replicates(3000))


def test_a_wrong_mean_is_caught():
    assert is_caught(draws(0.4, 0.3), 3000)
