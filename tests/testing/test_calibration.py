"""Simulation-based calibration: right fits pass; biased, vague and over-confident ones do not."""

import numpy as np
import pytest

from ribp.testing.calibration import chain_fit, p_values_of_ranks, rank_p_values, ranks
from ribp.testing.goodness import DOUBTFUL, holds, is_caught, mean_p_value, replicates
from tests.helpers.conjugate import mover, simulate


def quantities(state, y):
    x = state[0]
    return {"x": x, "square": -(x**2), "log likelihood": -((y - x) ** 2) / 8}


def posterior(*, mean=1.0, spread=1.0, sign=1.0):
    def fit(rng, y, n_draws):
        centre = mean * (4.0 + sign * y) / 5.0
        return [(x, 0.0) for x in centre + spread * np.sqrt(0.8) * rng.standard_normal(n_draws)]

    return fit


def prior(rng, y, n_draws):
    """Return draws that know nothing of the data."""
    return [simulate(rng)[0] for _ in range(n_draws)]


def ranked(fit, simulate=simulate, quantities=quantities):
    return lambda n, seed: rank_p_values(
        simulate, fit, quantities, n_replicates=n, n_draws=19, seed=seed
    )


def test_right_fits_are_calibrated():
    chain = chain_fit(lambda rng, y: (y, 1.0), mover(), n_warmup=10, n_thin=6)
    assert holds(ranked(posterior()), replicates(2000))
    assert holds(ranked(chain), replicates(500))


WRONG = {
    "sign": (posterior(sign=-1.0), 1000),
    "mean": (posterior(mean=1.05), 10_000),
    "too vague": (posterior(spread=1.1), 4000),
    "too sure": (posterior(spread=0.8), 1000),
    "10% too sure": (posterior(spread=0.9), 4000),
    "no warm-up": (chain_fit(lambda rng, y: (30.0, 1.0), mover(), n_warmup=0, n_thin=1), 400),
    "not thinned": (
        chain_fit(lambda rng, y: (y, 1.0), mover(memory=0.9), n_warmup=60, n_thin=1), 400
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_fits_are_caught(wrong):
    fit, n = WRONG[wrong]
    assert is_caught(ranked(fit), n)


def test_only_quantities_that_see_the_data_notice_a_fit_that_does_not():
    def of_the_state(state, y):
        return [state[0], state[1]]

    assert holds(ranked(prior, quantities=of_the_state), replicates(400))
    assert is_caught(ranked(prior), 400)


@pytest.mark.parametrize(
    ("spread", "shift", "seen"),
    [(0.8, 0.0, "width"), (1.25, 0.0, "width"), (1.0, 0.4, "centre"), (1.0, 0.0, None)],
)
def test_each_test_of_ranks_sees_its_own_fault(spread, shift, seen):
    rng = np.random.default_rng(3)
    truth, draws = rng.normal(shift, 1.0, (400, 1)), rng.normal(0.0, spread, (400, 19))
    found = p_values_of_ranks((draws < truth).sum(axis=1), 19)
    assert {name for name, p in found.items() if p < DOUBTFUL} - {"uniform"} == {seen} - {None}
    assert min(found, key=found.get) == (seen or min(found, key=found.get))


def test_twenty_bins_from_four_hundred_replicates():
    """One rank in twenty that never happens is seen."""
    rng = np.random.default_rng(0)
    all_but_one = np.setdiff1d(np.arange(20), 7)
    assert p_values_of_ranks(rng.choice(all_but_one, 400), 19)["uniform"] < 0.05
    assert p_values_of_ranks(rng.choice(all_but_one, 4000), 19)["uniform"] < 1e-20


def test_starting_at_the_truth_is_not_calibration():
    """The reason why `chain_fit` knows no truth: the same chain fails when it starts there."""
    remembered = {}

    def remembering(rng):
        state, y = simulate(rng)
        remembered[y] = state
        return state, y

    fit = chain_fit(lambda rng, y: remembered[y], mover(memory=0.95), n_warmup=0, n_thin=1)
    assert is_caught(ranked(fit, remembering), 500)


def test_ties_are_broken_at_random():
    def p_values(n, seed):
        found = ranks(
            lambda rng: (1.0, None), lambda rng, data, n: [1.0] * n, lambda state, data: [state],
            n_replicates=n, n_draws=9, seed=seed,
        )["0"]  # fmt: skip
        assert set(found) == set(range(10))
        return [*p_values_of_ranks(found, 9).values(), mean_p_value(found, 4.5)]

    assert holds(p_values, replicates(2000))


def test_a_fit_must_keep_its_word():
    with pytest.raises(ValueError, match="returned 3 draws, not the 9 asked for"):
        ranks(
            simulate, lambda rng, y, n: [(0.0, 0.0)] * 3, quantities,
            n_replicates=1, n_draws=9, seed=0,
        )  # fmt: skip
