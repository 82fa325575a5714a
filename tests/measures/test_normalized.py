"""Dirichlet and Pitman-Yor weights: sticks, what is left of them, and known moments."""

import numpy as np
import pytest
from scipy import stats

from ribp.errors import InputError
from ribp.measures import DirichletWeights, GammaProcess, PitmanYorWeights
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates


@pytest.mark.parametrize(
    ("mass", "discount"), [(0.5, 0.0), (3.0, 0.0), (2.0, 0.4), (-0.2, 0.5), (0.0, 0.8)]
)
def test_sticks_have_their_beta_laws(mass, discount):
    measure = PitmanYorWeights(mass, discount)

    def p_values(n, seed, factor=1.0, more=0.0):
        rng, found = np.random.default_rng(seed), []
        draws = np.exp([measure.size_ordered(rng, 4) for _ in range(n)])
        left = 1.0 - np.cumsum(np.pad(draws, ((0, 0), (1, 0))), axis=1)[:, :-1]
        for k in range(1, 5):
            share = np.clip(draws[:, k - 1] / left[:, k - 1], 0.0, 1.0)
            good = left[:, k - 1] > 1e-4  # below, the subtraction above has lost its digits
            law = stats.beta(1 - discount, factor * (mass + k * discount) + more)
            found.append(stats.kstest(share[good], law.cdf).pvalue)
        return found

    assert holds(p_values, replicates(4000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, 3.0, 2.0))], 1200)  # by each of them


@pytest.mark.parametrize("measure", [DirichletWeights(3.0), PitmanYorWeights(1.0, 0.3)])
def test_pieces_and_the_stick_left_add_up_to_one(measure):
    stream = measure.atom_stream(np.random.default_rng(10))
    assert stream.log_expected_tail_odds() == 0.0
    total = 0.0
    for n in (1, 3, 20):
        total += np.exp(stream.extend(n)).sum()
        assert total + np.exp(stream.log_expected_tail_odds()) == pytest.approx(1.0, abs=1e-14)


def test_stick_left_goes_far_below_the_smallest_float():
    def p_values(n, seed, mass=1.0):
        """Minus the logarithm of what n sticks leave is a sum of n exponentials."""
        stream = DirichletWeights(mass).atom_stream(np.random.default_rng(seed))
        assert np.isfinite(stream.extend(n)).all()
        law, found = stats.gamma(n), -stream.log_expected_tail_odds()
        return [2 * min(law.cdf(found), law.sf(found))]

    assert holds(p_values, replicates(5000))
    assert is_caught(lambda n, seed: p_values(n, seed, mass=1.3), 5000)


def test_two_draws_coincide_as_known():
    """E[sum P^2] = (1-s)/(1+alpha), the chance that two customers share a table."""

    def p_values(n, seed, more=1.0):
        rng, found = np.random.default_rng(seed), []
        for mass, discount in ((2.0, 0.0), (2.0, 0.5)):
            measure = PitmanYorWeights(mass, discount)
            squares = [np.exp(2 * measure.size_ordered(rng, 400)).sum() for _ in range(n)]
            found.append(mean_p_value(squares, (1 - discount) / (more + mass)))
        return found

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, more=4.0))], 300)


def test_gamma_process_atoms_normalise_to_dirichlet_weights():
    def p_values(n, seed, mass=2.0):
        rng, squares = np.random.default_rng(seed), []
        for _ in range(n):
            sizes = np.exp(GammaProcess(mass, 3.0).size_ordered(rng, 100))
            squares.append(((sizes / sizes.sum()) ** 2).sum())
        return [mean_p_value(squares, 1 / 3)]

    assert holds(p_values, replicates(2000))
    assert is_caught(lambda n, seed: p_values(n, seed, mass=4.0), 200)


@pytest.mark.parametrize("measure", [DirichletWeights(2.0), PitmanYorWeights(2.0, 0.0)])
def test_weak_limit_is_symmetric_dirichlet(measure):
    def p_values(n, seed, a=0.25):
        rng = np.random.default_rng(seed)
        draws = np.exp([measure.weak_limit(rng, 8) for _ in range(n)])
        np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-13)
        return [stats.kstest(draws[:, at], stats.beta(a, 2 - a).cdf).pvalue for at in (0, 7)]

    assert holds(p_values, replicates(3000))
    assert is_caught(lambda n, seed: [max(p_values(n, seed, a=0.4))], 1000)


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
