"""Dirichlet and Pitman-Yor weights: sticks, what is left of them, and known moments."""

import numpy as np
import pytest
from scipy import stats

from ribp.errors import InputError
from ribp.measures import DirichletWeights, GammaProcess, PitmanYorWeights
from ribp.testing.goodness import agrees, mean_p_value


@pytest.mark.parametrize(
    ("mass", "discount"), [(0.5, 0.0), (3.0, 0.0), (2.0, 0.4), (-0.2, 0.5), (0.0, 0.8)]
)
def test_sticks_have_their_beta_laws(mass, discount):
    rng = np.random.default_rng(9)
    measure = PitmanYorWeights(mass, discount)
    draws = np.exp([measure.size_ordered(rng, 4) for _ in range(4000)])
    left = 1.0 - np.cumsum(np.pad(draws, ((0, 0), (1, 0))), axis=1)[:, :-1]
    for k in range(1, 5):
        share = np.clip(draws[:, k - 1] / left[:, k - 1], 0.0, 1.0)
        good = left[:, k - 1] > 1e-4  # below, the subtraction above has lost its digits
        law = stats.beta(1 - discount, mass + k * discount)
        assert agrees(stats.kstest(share[good], law.cdf).pvalue)
        wrong = stats.beta(1 - discount, 1.5 * (mass + k * discount) + 0.5)
        assert not agrees(stats.kstest(share[good], wrong.cdf).pvalue)


@pytest.mark.parametrize("measure", [DirichletWeights(3.0), PitmanYorWeights(1.0, 0.3)])
def test_pieces_and_the_stick_left_add_up_to_one(measure):
    stream = measure.atom_stream(np.random.default_rng(10))
    assert stream.log_expected_tail_odds() == 0.0
    total = 0.0
    for n in (1, 3, 20):
        total += np.exp(stream.extend(n)).sum()
        assert total + np.exp(stream.log_expected_tail_odds()) == pytest.approx(1.0, abs=1e-14)


def test_stick_left_goes_far_below_the_smallest_float():
    stream = DirichletWeights(1.0).atom_stream(np.random.default_rng(11))
    weights = stream.extend(5000)
    assert stream.log_expected_tail_odds() == pytest.approx(-5000, rel=0.1)
    assert np.isfinite(weights).all()


def test_two_draws_coincide_as_known():
    """E[sum P^2] = (1-s)/(1+alpha), the chance that two customers share a table."""
    rng = np.random.default_rng(12)
    for mass, discount in ((2.0, 0.0), (2.0, 0.5)):
        measure = PitmanYorWeights(mass, discount)
        squares = [np.exp(2 * measure.size_ordered(rng, 400)).sum() for _ in range(2000)]
        assert agrees(mean_p_value(squares, (1 - discount) / (1 + mass)))
        assert not agrees(mean_p_value(squares, (1 - discount) / (1.6 + mass)))


def test_gamma_process_atoms_normalise_to_dirichlet_weights():
    rng = np.random.default_rng(13)
    squares = []
    for _ in range(2000):
        sizes = np.exp(GammaProcess(2.0, 3.0).size_ordered(rng, 100))
        squares.append(((sizes / sizes.sum()) ** 2).sum())
    assert agrees(mean_p_value(squares, 1 / 3))


@pytest.mark.parametrize("measure", [DirichletWeights(2.0), PitmanYorWeights(2.0, 0.0)])
def test_weak_limit_is_symmetric_dirichlet(measure):
    rng = np.random.default_rng(14)
    draws = np.exp([measure.weak_limit(rng, 8) for _ in range(4000)])
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-13)
    assert agrees(stats.kstest(draws[:, 0], stats.beta(0.25, 1.75).cdf).pvalue)
    assert agrees(stats.kstest(draws[:, 7], stats.beta(0.25, 1.75).cdf).pvalue)
    assert not agrees(stats.kstest(draws[:, 0], stats.beta(0.3, 1.7).cdf).pvalue)


def test_weak_limit_of_mass_so_small_that_one_weight_takes_all():
    log_weights = DirichletWeights(1e-3).weak_limit(np.random.default_rng(15), 10_000)
    assert np.isfinite(log_weights).all()
    assert np.exp(log_weights).sum() == pytest.approx(1.0)
    assert log_weights.min() < -1e6


@pytest.mark.parametrize("mass", [0.0, -1.0, np.inf, np.nan, "m"])
def test_dirichlet_mass_is_checked(mass):
    with pytest.raises(InputError, match="mass must be"):
        DirichletWeights(mass)


@pytest.mark.parametrize("discount", [-0.1, 1.0, np.nan, "s"])
def test_discount_is_checked(discount):
    with pytest.raises(InputError, match="discount must be"):
        PitmanYorWeights(1.0, discount)


def test_pitman_yor_mass_is_checked_against_the_discount():
    with pytest.raises(InputError, match=r"mass must be finite and above -discount = -0.5, but"):
        PitmanYorWeights(-0.5, 0.5)
    with pytest.raises(InputError, match=r"mass must be finite and above -discount = 0, but got 0"):
        PitmanYorWeights(0.0, 0.0)
