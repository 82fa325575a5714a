"""The joint-distribution tests: right updates pass, slightly wrong ones do not."""

import numpy as np
import pytest

from ribp.testing.geweke import joint_distribution_p_values, one_step_p_values
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.conjugate import mover, redraw, simulate


def statistics(state, y):
    x, e = state
    return {"x": x, "spread": (x - 1.0) ** 2, "e": np.exp(-e), "fit": (y - x) ** 2}


def forgetful(rng, state, y):
    """Draw e from the wrong law, once in a while."""
    x, e = mover()(rng, state, y)
    return x, e if rng.random() < 0.8 else 0.5 * e


WRONG = {
    "sign": mover(sign=-1.0),
    "mean off by 10%": mover(mean=1.1),
    "spread off by 5%": mover(spread=1.05),
    "10% too sure": mover(spread=0.9),
    "spread twice as large": mover(spread=2.0),
    "the part no data see": forgetful,
}


def one_step(update, n_updates=3):
    return lambda n, seed: one_step_p_values(
        simulate, update, statistics, n_replicates=n, n_updates=n_updates, seed=seed
    )


def in_turn(update):
    return lambda n, seed: joint_distribution_p_values(
        simulate, update, redraw, statistics, n_fresh=n, n_steps=n, seed=seed
    )


def test_a_right_update_passes():
    assert holds(one_step(mover()), replicates(4000))
    assert holds(in_turn(mover()), replicates(20_000))


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_updates_are_caught(wrong):
    n = 30_000 if "%" in wrong else 5000
    assert is_caught(one_step(WRONG[wrong]), n)
    assert is_caught(in_turn(WRONG[wrong]), 2 * n)


def test_p_values_are_uniform_for_a_right_update():
    def p_values(n, seed):
        rng, check = np.random.default_rng(seed), one_step(mover(), 1)
        found = [list(check(200, int(rng.integers(2**32))).values()) for _ in range(n)]
        cells = np.minimum((10 * np.array(found)).astype(int), 9)
        return [frequencies_p_value(np.bincount(cell, minlength=10), [1] * 10) for cell in cells.T]

    assert holds(p_values, replicates(150))


def test_what_does_not_move_is_not_seen():
    assert set(one_step(lambda rng, state, y: state)(100, 0).values()) == {1.0}


def test_statistics_without_names_are_numbered():
    found = one_step_p_values(
        simulate, mover(), lambda state, y: [state[0], y], n_replicates=10, seed=0
    )
    assert list(found) == ["0", "1"]
