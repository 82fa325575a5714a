"""Bounds of the weights of values, against sums and weights."""

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp.kernels import value_bounds as kernel
from ribp.kernels.value_weights import log_total
from tests.helpers.multiplicity_cases import KINDS, LOG_CONCAVE, growth_of, log_prior_weights


@pytest.mark.parametrize("kind", LOG_CONCAVE)
def test_sums_and_weights_are_within_their_bounds(kind):
    """Gains and squares at random, from features hardly seen to clear ones."""
    rng, growth = np.random.default_rng(3), growth_of(kind)
    squares = np.exp(rng.uniform(-4, 7, 300))
    gains = squares * rng.uniform(-1, 4, 300) + rng.normal(0, 5, 300)
    squares[0] = 0.0
    terms, v = kernel.Terms(squares, *np.empty((2, squares.size))), np.arange(1.0, 10.0)
    kernel.fill_terms(terms)
    assert terms.reserve[0] == np.inf  # not seen: no bound
    for i, (gain, square) in enumerate(zip(gains, squares, strict=True)):
        found = 0.0 if i == 0 else log_total(gain, square, growth, np.nan)
        most = kernel.most_log_total(gain, square, terms.inverse[i], terms.reserve[i])
        assert most >= found - 1e-9 * abs(found)
        log_a = log_prior_weights(kind, 1.0 if kind == "poisson" else KINDS[kind], v)
        log_w = log_a + gain * v - 0.5 * square * v**2
        for value, log_weight in zip(v, log_w, strict=True):
            assert kernel.least_log_weight(value, gain, square) <= log_weight + 1e-9
            if kernel.surely_keeps(value, gain, square):
                others = np.delete(log_w, int(value) - 1)
                assert logsumexp(others) - log_weight < -38.0
            assert not kernel.surely_stays(value, gain, square, 0.0, 0.0, -log_weight)


def test_zeros_and_values_that_stay():
    terms = kernel.Terms(np.array([400.0]), *np.empty((2, 1)))
    kernel.fill_terms(terms)
    given = (400.0, terms.inverse[0], terms.reserve[0])
    for value, gain, step, stays in [
        (0.0, -300.0, 0.0, True),
        (0.0, 190.0, 0.0, False),
        (0.0, 190.0, -np.inf, True),
        (1.0, 400.0, 0.0, True),
        (1.0, 400.0, -180.0, False),
        (1.0, 600.0, 0.0, False),
        (3.0, 1200.0, 0.0, True),
        (3.0, 1000.0, 0.0, False),
    ]:
        assert kernel.surely_stays(value, gain, *given, step) == stays
