"""A table of kinds as a likelihood: units, weights, columns, and rows against enumeration."""

import numpy as np
import pytest
from scipy import stats

from ribp import counts, kinds
from ribp.errors import InputError
from ribp.likelihoods.columns_of_kinds import ColumnsOfKinds
from ribp.likelihoods.data import Data, complete, with_missing
from ribp.likelihoods.kind_columns import Column
from ribp.mcmc.rows_given_features import Step, Sweep, sweep_rows
from ribp.model import Model
from ribp.search.background import obvious
from ribp.testing.exact import all_rows, row_probs
from ribp.testing.goodness import frequencies_p_value, holds, replicates
from tests.helpers.kind_cases import KINDS, VALUES, column, table

RNG = np.random.default_rng(4)
LAW = table(list(KINDS))
ROWS = all_rows(3)
GIVEN = LAW.draw_prior(RNG, 3, len(KINDS))
X = LAW.draw_data(RNG, ROWS, GIVEN)


def with_units():
    """Return columns of numbers that are not in standard units, and values of theirs."""
    values = np.column_stack([RNG.normal(300, 5, 8), np.exp(RNG.normal(2, 0.5, 8))])
    law = tuple(
        Column.of(kind, kind.look(values[:, d]))
        for d, kind in enumerate((kinds.real(), kinds.positive()))
    )
    return ColumnsOfKinds((*law, column(KINDS["categorical"]))), values


@pytest.mark.jit
@pytest.mark.parametrize("names", [[name] * 3 for name in KINDS] + [list(KINDS)], ids=str)
def test_a_sweep_draws_rows_from_their_posterior(names):
    """Flips, relocations and whole rows across a gap, an entry missing."""
    law = counts.table([0.1, 0.5, 0.0, 0.4])
    model = Model(counts.as_row_counts(law, 1), 3, table(names))
    state = model.draw_prior(np.random.default_rng(0), len(names))
    x = np.array([VALUES[name][at % len(VALUES[name])] for at, name in enumerate(names)])
    probs = row_probs(state.log_odds, law)
    density = model.likelihood.log_density(
        np.tile(x, (8, 1)), model.likelihood.means(ROWS, state.parameters), state.parameters
    )
    probs = probs * np.exp(np.delete(density, 1, axis=1).sum(axis=1))
    x[1] = np.nan

    def check(n, seed):
        steps = (Step(number, model.row_prior(state)) for number in range(12))
        sweep = Sweep(model.likelihood, np.uint64(seed), state.parameters, tuple(steps))
        data = with_missing(np.tile(x, (n, 1)))
        rows, _ = sweep_rows(sweep, data, np.zeros(n, int), np.tile(state.rows, (n, 1)))
        return [frequencies_p_value(np.bincount(rows @ [1, 2, 4], minlength=8), probs)]

    assert holds(check, replicates(4000))


def test_the_log_joint_is_that_of_its_parts():
    used = np.array([True, True, False])
    rows = ROWS * used.astype(np.int8)
    seen = np.random.default_rng(0).random(X.shape) < 0.8
    found = LAW.log_joint(with_missing(np.where(seen, X, np.nan)), rows, GIVEN)
    size = np.sqrt(LAW.places.variance)
    expected = LAW.log_density(X, LAW.means(rows, GIVEN), GIVEN)[seen].sum()
    expected += stats.norm.logpdf(GIVEN.features[used], 0, GIVEN.feature_scale * size).sum()
    expected += stats.norm.logpdf(GIVEN.background, LAW.places.centre, 3 * size).sum()
    expected += stats.norm.logpdf(GIVEN.own, LAW.places.start, 0.5).sum()
    scale = GIVEN.feature_scale**2
    expected += stats.invgamma(2, scale=0.5).logpdf(scale) + np.log(scale)
    assert found == pytest.approx(expected)
    fixed = table(list(KINDS), feature_scale=1.0)
    assert np.isfinite(fixed.log_joint(complete(X), rows, GIVEN))


def test_units_change_nothing_but_units():
    """Densities of data in units of the user are those in standard units less the volume."""
    law, values = with_units()
    values = np.column_stack([values, np.arange(8) % 3.0])
    data = complete(values)
    standard = law.standard(data)
    np.testing.assert_allclose(standard.values[:, 0].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(np.log(standard.values[:, 1]).std(), 1)
    given = law.draw_prior(np.random.default_rng(0), 3, 3)
    reported = law.reported(given)
    inside = law.log_density(standard.values, law.means(ROWS, given), given)
    outside = law.log_density(values, law.means(ROWS, reported), reported)
    np.testing.assert_allclose(
        outside.sum(axis=1), inside.sum(axis=1) - law.row_log_volume(data), rtol=1e-9
    )
    assert law.row_log_volume(data).sum() == pytest.approx(law.log_volume)
    np.testing.assert_allclose(reported.features[:, 2:].mean(axis=1), 0, atol=1e-12)  # contrasts
    back = law.standardised(reported)
    np.testing.assert_allclose(back.own, given.own)
    np.testing.assert_allclose(back.background[:2], given.background[:2])


def test_columns_times_a_power_of_two_are_the_same_in_standard_units():
    _, values = with_units()
    kind = kinds.real()
    one, other = (
        Column.of(kind, kind.look(x)).standard(x) for x in (values[:, 0], 1024.0 * values[:, 0])
    )
    np.testing.assert_array_equal(one, other)


def test_missing_entries_stay_zero_in_standard_units():
    law, values = with_units()
    data = with_missing(np.where(np.eye(8, 2) == 1, np.nan, values))
    data = data._replace(
        values=np.column_stack([data.values, np.zeros(8)]),
        observed=np.column_stack([data.observed, np.ones(8, bool)]),
    )
    assert (law.standard(data).values[~data.observed] == 0).all()


def test_some_of_the_columns():
    some = np.arange(len(KINDS)) % 2 == 1
    law, given = LAW.on_columns(GIVEN, some)
    found = law.log_density(X[:, some], law.means(ROWS, given), given)
    expected = LAW.log_density(X, LAW.means(ROWS, GIVEN), GIVEN)[:, some]
    np.testing.assert_allclose(found, expected)
    assert law.loadings(given).shape == (3, some.sum())


def test_loadings_are_features_of_columns_that_have_a_direction():
    """KINDS are all of one latent column, but for the sixth, which has levels without order."""
    found = LAW.loadings(GIVEN)
    np.testing.assert_array_equal(found[:, :5], GIVEN.features[:, :5])
    np.testing.assert_array_equal(found[:, 5], 0.0)
    np.testing.assert_array_equal(found[:, 6:], GIVEN.features[:, 8:])


def test_entries_given_their_rows():
    eta = LAW.means(ROWS, GIVEN)
    below, above = LAW.tails(X, eta, GIVEN)
    assert ((below >= 0) & (above >= 0) & (below + above <= 1 + 1e-12)).all()
    mean, variance = LAW.expectations(eta, GIVEN), LAW.variances(eta, GIVEN)
    assert mean.shape == variance.shape == X.shape
    probs = LAW.level_probs(5, eta, GIVEN)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    np.testing.assert_allclose(mean[:, 5], probs @ np.arange(3))
    seen = np.ones(X.shape, bool)
    assert LAW.column_log_density(complete(X), X).shape == X.shape
    assert LAW.left_out_log_density(Data(X, seen)).shape == X.shape
    scales = {"feature_scale": GIVEN.feature_scale, "own": GIVEN.own}
    assert LAW.read(GIVEN.features, GIVEN.background, scales).own is GIVEN.own


def test_a_linear_table_has_columns_of_equal_variance():
    model, data = LAW.linearised(with_missing(np.where(np.eye(*X.shape) == 1, np.nan, X)))
    assert model.background
    assert data.shape == (len(X), LAW.places.n_latent)
    spread = (data.values**2).sum(axis=0) / data.observed.sum(axis=0)
    assert np.isclose(spread, 1).mean() > 0.5
    assert np.isin(spread.round(6), (0, 1)).all()
    assert LAW.linearised(complete(X))[1].complete


def test_working_data_point_where_entries_pull():
    data, variance = LAW.working(complete(X), GIVEN)
    assert data.shape == (len(X), LAW.places.n_latent)
    pull = data.values[:, LAW.places.at[2]] - GIVEN.background[LAW.places.at[2]]
    np.testing.assert_array_equal(pull > 0, X[:, 2] == 1)
    assert (variance > 0).all()


def test_there_is_always_a_background():
    model = Model(counts.as_row_counts("uniform(1, 2)", len(X)), 3, LAW)
    assert obvious(model, complete(X)).on


def test_what_cannot_be_is_refused():
    LAW.check(len(KINDS))
    with pytest.raises(InputError, match="8 columns"):
        LAW.check(3)
    LAW.check_values(complete(X))
    wrong = X.copy()
    wrong[2, 4] = 7.0
    with pytest.raises(InputError, match=r"4 levels.*column 4, which is ordinal.*7"):
        LAW.check_values(complete(wrong))
    with pytest.raises(InputError, match="column 'e'"):
        LAW.check_values(complete(wrong), list("abcdefgh"))
