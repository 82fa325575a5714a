"""Standard units: there and back, exact for powers of two, also where columns hardly vary."""

from functools import partial

import numpy as np
import pytest

from ribp.errors import InputError
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import Data, complete, with_missing
from ribp.likelihoods.gaussian_settings import GaussianParameters
from ribp.likelihoods.moments import moments
from ribp.likelihoods.noise_units import noise_units
from ribp.likelihoods.units import Units
from ribp.rows.local import in_memory
from ribp.testing.goodness import holds, is_caught, mean_p_value, replicates

RNG = np.random.default_rng(8)
X = np.array([0.0, 300.0, 1e-9]) + RNG.normal(0, [1.0, 30.0, 1e-9], (40, 3))
X[RNG.random(X.shape) < 0.2] = np.nan
FACTORS = np.array([2.0**100, 0.25, 2.0**-90])


def likelihood_of(values, **settings):
    data = with_missing(values)
    shared = settings.get("shared", False)
    return LinearGaussian(**settings, units=Units.of(moments(data), shared=shared)), data


@pytest.mark.parametrize("background", [False, True])
def test_columns_have_unit_spread(background):
    likelihood, data = likelihood_of(X, background=background)
    standard = likelihood.standard(data)
    values = np.where(standard.observed, standard.values, np.nan)
    np.testing.assert_allclose(np.nanstd(values, axis=0), 1.0)
    if background:
        np.testing.assert_allclose(np.nanmean(values, axis=0), 0.0, atol=1e-12)
    assert (standard.values[~standard.observed] == 0.0).all()


@pytest.mark.parametrize("background", [False, True])
def test_powers_of_two_change_no_bit(background):
    one, data = likelihood_of(X, background=background)
    other, larger = likelihood_of(X * FACTORS, background=background)
    np.testing.assert_array_equal(one.standard(data).values, other.standard(larger).values)
    given = one.draw_prior(np.random.default_rng(0), 4, 3)
    for a, b in zip(one.reported(given)[:3], other.reported(given)[:3], strict=True):
        np.testing.assert_array_equal(a * FACTORS, b)
    volume = np.isfinite(X).sum(axis=0) @ np.log(FACTORS)
    assert other.log_volume - one.log_volume == pytest.approx(volume, rel=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_parameters_come_back(shared):
    likelihood, _ = likelihood_of(X, shared=shared, background=True)
    given = likelihood.draw_prior(np.random.default_rng(0), 4, 3)
    for one, other in zip(given, likelihood.standardised(likelihood.reported(given)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_log_density_of_rows_counts_what_was_seen():
    likelihood, data = likelihood_of(X)
    each = np.isfinite(X) @ np.log(likelihood.units.spreads)
    np.testing.assert_allclose(likelihood.row_log_volume(data), each)
    whole = likelihood.row_log_volume(complete(np.zeros((2, 3))))
    np.testing.assert_allclose(whole, np.log(likelihood.units.spreads).sum())


def test_settings_are_in_the_units_of_the_user():
    known = ((1.0, 60.0, 2e-9),)
    likelihood, data = likelihood_of(X, noise_scale=3.0, feature_scale=2.0, known=known)
    guess = likelihood.reported(likelihood.first_guess(data, 2))
    np.testing.assert_array_equal(guess.features[0], known[0])
    np.testing.assert_allclose(guess.noise_scale, 3.0)
    assert guess.feature_scale == 2.0  # in units of the noise
    shared, data = likelihood_of(X, shared=True, noise_scale=3.0, feature_scale=2.0)
    guess = shared.first_guess(data, 2)
    assert guess.feature_scale == pytest.approx(2.0 / shared.units.spread[0])
    assert shared.reported(guess).feature_scale == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ([5.0, 5.0, 5.0], 5.0),
        ([0.1, 0.1, 0.1], 0.1),  # whose mean is not 0.1
        ([0.0, 0.0, 0.0], 1.0),
        ([1e-310, -1e-310, 1e-310], 1.0),
        ([np.nan, np.nan, np.nan], 1.0),
        ([1.0, np.nan, np.nan], 1.0),
        ([1e150, -1e150, 1e150], 1e150 * np.sqrt(8.0 / 9.0)),
    ],
)
def test_columns_that_hardly_vary(column, unit):
    likelihood, data = likelihood_of(np.array(column)[:, None], background=True)
    assert likelihood.units.spread[0] == pytest.approx(unit)
    assert np.isfinite(likelihood.standard(data).values).all()


def test_one_unit_for_all_columns_with_shared_noise():
    likelihood, _ = likelihood_of(X, shared=True)
    number = np.isfinite(X).sum(axis=0)
    pooled = np.sqrt(number @ np.nanvar(X, axis=0) / number.sum())
    np.testing.assert_allclose(likelihood.units.spreads, pooled)


@pytest.mark.parametrize("values", [X, np.nan_to_num(X)], ids=["missing", "complete"])
def test_rows_on_demand_are_those_of_all(values, monkeypatch):
    """Of very many rows nobody makes a second array: they are brought to standard units as read."""
    likelihood, data = likelihood_of(values, background=True)
    few, many = in_memory(data), in_memory(data)
    few.use_units(likelihood)
    monkeypatch.setattr("ribp.rows.local.MANY", 10)
    many.use_units(likelihood)
    assert many.shards[0].source.data is data
    assert few.shards[0].source.data is not data
    for at in (np.arange(3, 9), np.array([1, 5, 20])):
        for one, other in zip(few.take(at), many.take(at), strict=True):
            np.testing.assert_array_equal(one, other)


def test_other_columns_are_refused():
    likelihood, _ = likelihood_of(X)
    with pytest.raises(InputError, match="3 columns of the fit"):
        likelihood.check(4)


def test_noise_units_find_the_noise():
    rng = np.random.default_rng(0)
    noise = np.exp(rng.normal(-1, 0.7, 30))
    values = rng.normal(size=(500, 2)) @ rng.normal(0, 3, (2, 30))
    values += noise * rng.normal(size=(500, 30))
    found = noise_units(complete(values))
    assert np.corrcoef(np.log(found), np.log(noise))[0, 1] > 0.9
    np.testing.assert_array_equal(noise_units(complete(values * 4.0)), 4.0 * found)
    values[:, 2] = 7.0
    assert noise_units(complete(values))[2] == 1.0


def test_noise_units_of_more_columns_than_rows(monkeypatch):
    """Products of rows give what products of columns would."""
    values = np.random.default_rng(1).normal(size=(12, 30))
    found = noise_units(complete(values))
    around = (values - values.mean(axis=0)) / values.std(axis=0)
    dense = 0.999 * around.T @ around / 12 + 0.001 * np.eye(30)
    expected = values.std(axis=0) / np.sqrt(np.diag(np.linalg.inv(dense)))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_noise_units_with_missing_entries():
    found = noise_units(with_missing(X))
    assert (found > 0).all()
    assert (found <= np.nanstd(X, axis=0) * 1.0001).all()


def test_units_do_not_shrink_the_background():
    """Its prior is ten times as wide as that of a feature, around the means of the columns."""
    likelihood, data = likelihood_of(np.nan_to_num(X), background=True)
    rows = np.zeros((40, 1), np.int8)
    given = GaussianParameters(np.zeros((1, 3)), np.zeros(3), np.ones(3), 1.0)
    standard = likelihood.standard(data)

    def p_values(n, seed, wrong=0.0):
        rng = np.random.default_rng(seed)
        drawn = [likelihood.update(rng, standard, rows, given).background for _ in range(n)]
        found = [likelihood.reported(given._replace(background=one)).background for one in drawn]
        away = (np.array(found) - data.values.mean(axis=0)) / data.values.std(axis=0)
        return [mean_p_value(column, wrong) for column in away.T]

    assert holds(p_values, replicates(400))
    assert is_caught(partial(p_values, wrong=0.1), 400)


def test_data_say_their_size():
    data = Data(np.zeros((3, 2)), np.ones((3, 2), bool))
    assert (data.shape, data.nbytes) == ((3, 2), 54)


def test_the_column_that_is_farthest_from_zero():
    likelihood, _ = likelihood_of(X)
    column, away = likelihood.units.farthest()
    assert column == 1
    assert 5.0 < away < 20.0


def test_what_rounding_leaves_is_no_spread():
    values = np.full((9, 2), 0.1) * [1.0, 3.0]
    likelihood, data = likelihood_of(values, background=True)
    standard = likelihood.standard(data)
    np.testing.assert_array_equal(likelihood.linearised(standard)[1].values, standard.values)
