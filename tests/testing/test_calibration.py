"""The tools that test samplers: right ones pass, slightly wrong ones do not.

The model is conjugate: x ~ N(1, 1) and y ~ N(x, 4), so x given y is N((4 + y)/5, 4/5). The state is
(x, e) with e an exponential variate that no data see.
"""

import numpy as np
import pytest

from ribp.testing.calibration import chain_fit, rank_p_values, ranks, uniform_p_value
from ribp.testing.geweke import joint_distribution_p_values, one_step_p_values
from ribp.testing.goodness import agrees


def simulate(rng):
    x = 1.0 + rng.standard_normal()
    return (x, rng.standard_exponential()), redraw(rng, (x, 0.0))


def redraw(rng, state):
    return state[0] + 2.0 * rng.standard_normal()


def statistics(state):
    return [state[0], (state[0] - 1.0) ** 2, np.exp(-state[1])]


def mover(*, mean=1.0, spread=1.0, sign=1.0, memory=0.5):
    """Return an update that keeps some of x, right for the arguments' defaults."""

    def update(rng, state, y):
        centre = mean * (4.0 + sign * y) / 5.0
        noise = spread * np.sqrt(0.8 * (1.0 - memory**2)) * rng.standard_normal()
        e = state[1] if rng.random() < 0.5 else rng.standard_exponential()
        return centre + memory * (state[0] - centre) + noise, e

    return update


def forgetful(rng, state, y):
    """Draw e from the wrong law, once in a while."""
    x, e = mover()(rng, state, y)
    return x, e if rng.random() < 0.8 else 0.5 * e


WRONG = {
    "sign": mover(sign=-1.0),
    "mean off by 5%": mover(mean=1.05),
    "spread off by 5%": mover(spread=1.05),
    "spread twice as large": mover(spread=2.0),
    "the part no data see": forgetful,
}


def one_step(update, seed=0, n=4000, n_updates=3):
    return one_step_p_values(
        simulate, update, statistics, n_replicates=n, n_updates=n_updates, seed=seed
    )


def joint(update, seed=0, n=20_000):
    return joint_distribution_p_values(
        simulate, update, redraw, statistics, n_fresh=n, n_steps=n, seed=seed
    )


@pytest.mark.parametrize("seed", range(2))
def test_a_right_update_passes(seed):
    assert all(map(agrees, one_step(mover(), seed)))
    assert all(map(agrees, joint(mover(), seed)))


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_updates_are_caught(wrong):
    n = 30_000 if "5%" in wrong else 5000
    assert not all(map(agrees, one_step(WRONG[wrong], n=n)))
    assert not all(map(agrees, joint(WRONG[wrong], n=2 * n)))


def test_p_values_are_uniform_for_a_right_update():
    found = np.array([one_step(mover(), seed, n=200, n_updates=1) for seed in range(150)])
    for column in found.T:
        assert agrees(uniform_p_value((20 * column).astype(int), 19))


def test_what_does_not_move_is_not_seen():
    assert (one_step(lambda rng, state, y: state, n=100) == 1.0).all()


# Calibration


def quantities(state):
    return [state[0], -(state[0] ** 2)]


def posterior(*, mean=1.0, spread=1.0, sign=1.0):
    def fit(rng, y, n_draws):
        centre = mean * (4.0 + sign * y) / 5.0
        return [(x, 0.0) for x in centre + spread * np.sqrt(0.8) * rng.standard_normal(n_draws)]

    return fit


def calibrated(fit, n=1000, seed=0):
    return rank_p_values(simulate, fit, quantities, n_replicates=n, n_draws=19, seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_right_fits_are_calibrated(seed):
    assert all(map(agrees, calibrated(posterior(), seed=seed)))
    chain = chain_fit(lambda rng, y: (y, 1.0), mover(), n_warmup=10, n_thin=6)
    assert all(map(agrees, calibrated(chain, n=500, seed=seed)))


@pytest.mark.parametrize(
    ("fit", "n"),
    [
        (posterior(sign=-1.0), 2000),
        (posterior(mean=1.05), 20_000),
        (posterior(spread=1.1), 10_000),
        (posterior(spread=0.8), 1000),
        (chain_fit(lambda rng, y: (30.0, 1.0), mover(), n_warmup=0, n_thin=1), 500),
        (chain_fit(lambda rng, y: (y, 1.0), mover(memory=0.9), n_warmup=60, n_thin=1), 1000),
    ],
    ids=["sign", "mean", "spread", "too sure", "no warm-up", "not thinned"],
)
def test_wrong_fits_are_caught(fit, n):
    assert not all(map(agrees, calibrated(fit, n=n)))


def test_starting_at_the_truth_is_not_calibration():
    """The reason why `chain_fit` knows no truth: the same chain fails when it starts there."""
    remembered = {}

    def remembering(rng):
        state, y = simulate(rng)
        remembered[y] = state
        return state, y

    fit = chain_fit(lambda rng, y: remembered[y], mover(memory=0.95), n_warmup=0, n_thin=1)
    found = rank_p_values(remembering, fit, quantities, n_replicates=2000, n_draws=19, seed=0)
    assert not all(map(agrees, found))


def test_ties_are_broken_at_random():
    found = ranks(
        lambda rng: (1.0, None), lambda rng, data, n: [1.0] * n, lambda state: [state],
        n_replicates=2000, n_draws=9, seed=0,
    )  # fmt: skip
    assert found.shape == (2000, 1)
    assert set(found.ravel()) == set(range(10))
    assert agrees(uniform_p_value(found[:, 0], 9))


def test_a_fit_must_keep_its_word():
    with pytest.raises(ValueError, match="returned 3 draws, not the 9 asked for"):
        ranks(
            simulate, lambda rng, y, n: [(0.0, 0.0)] * 3, quantities,
            n_replicates=1, n_draws=9, seed=0,
        )  # fmt: skip
