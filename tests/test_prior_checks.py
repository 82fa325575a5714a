"""What the prior says for each mass, against the prior itself."""

from functools import partial

import numpy as np
import pytest

from ribp import counts
from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.prior_checks import prior_predictive
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

pytestmark = pytest.mark.jit


def rng(seed=0):
    return np.random.default_rng(seed)


def test_two_rows_of_one_feature_share_it_as_often_as_quadrature_says():
    """P(row 1 = row 2) = .56146 at mass 1 and .44066 at mass 2 in the limit of many features."""

    def p_values(n, seed, wrong=0.0):
        by_mass = prior_predictive(
            rng(seed), counts.exactly(1), 5, 1, max_features=200, mass=[1.0, 2.0], n_draws=n
        ).by_mass
        found = []
        for mass, shared, active in [(1.0, 0.56146, 2.1123), (2.0, 0.44066, 2.5436)]:
            found.append(mean_p_value(by_mass[mass].shared, shared - wrong))
            found.append(mean_p_value(by_mass[mass].active_features, active))
        return found

    assert holds(p_values, replicates(1500))
    assert is_caught(partial(p_values, wrong=0.1), 1500)


def test_rows_that_have_all_features():
    found = prior_predictive(
        rng(), counts.exactly(3), 10, 4, max_features=3, mass=1.0, n_draws=5
    ).by_mass[1.0]
    np.testing.assert_array_equal(found.active_features, 3.0)
    np.testing.assert_array_equal(found.popularity, 1.0)
    np.testing.assert_array_equal(found.shared, 3.0)


def test_spread_is_that_of_the_data():
    likelihood = LinearGaussian(noise_scale=2.0, feature_scale=0.01)
    found = prior_predictive(
        rng(), counts.exactly(0), 50, 20, max_features=4, mass=1.0, likelihood=likelihood,
        n_draws=50,
    ).by_mass[1.0]  # fmt: skip
    assert found.spread.mean() == pytest.approx(2.0, rel=0.02)
    assert not found.active_features.any()


def test_a_larger_mass_means_more_features():
    found = prior_predictive(
        rng(), "uniform(1, 3)", 100, 5, max_features=60, mass=[0.5, 2.0, 8.0], n_draws=60
    )
    used = [each.active_features.mean() for each in found.by_mass.values()]
    shared = [each.shared.mean() for each in found.by_mass.values()]
    assert used == sorted(used)
    assert shared == sorted(shared, reverse=True)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "100 rows, at most 60 features" in text
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["0.5", "2", "8"]


def test_many_rows_counts_and_a_drawn_concentration():
    found = prior_predictive(
        rng(), counts.poisson(2.0), 3000, 5, max_features=30, concentration=None,
        likelihood=PoissonCounts(), n_draws=3,
    )  # fmt: skip
    assert list(found.by_mass) == [0.5, 1.0, 2.0, 5.0, 10.0]
    assert all(np.isfinite(np.array(each)).all() for each in found.by_mass.values())


def test_one_row_shares_nothing():
    found = prior_predictive(rng(), counts.exactly(1), 1, 1, max_features=4, mass=1.0, n_draws=3)
    assert not found.by_mass[1.0].shared.any()


def test_same_seed_same_numbers():
    one, other = (
        prior_predictive(rng(3), counts.exactly(2), 20, 3, max_features=8, mass=1.0, n_draws=4)
        for _ in range(2)
    )
    np.testing.assert_array_equal(np.array(one.by_mass[1.0]), np.array(other.by_mass[1.0]))


@pytest.mark.parametrize("mass", [0.0, 8.0, [1.0, 9.0]])
def test_impossible_masses(mass):
    with pytest.raises(InputError, match="mass must be"):
        prior_predictive(rng(), counts.exactly(1), 5, 2, max_features=8, mass=mass)
