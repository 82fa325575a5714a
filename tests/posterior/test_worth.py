"""What features are worth, against closed forms, enumeration and other units."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax

from ribp.likelihoods import LinearGaussian, PoissonCounts
from ribp.likelihoods.data import Data, complete, with_missing
from ribp.posterior.new_rows import row_prior
from ribp.posterior.residuals import checked_columns
from ribp.posterior.worth import _chosen, gain, gain_of, redrawn_rows
from ribp.recording import pack_rows
from ribp.testing.goodness import frequencies_p_value, holds, is_caught, replicates
from tests.helpers.trees import DIMS, MODELS, ROWS, buffet_chains, in_units, pool, pool_of, truth_of

MODEL = MODELS["noise per column"]
POISSON = MODELS["counts"]


def test_columns_alone_are_student_laws_of_the_other_entries():
    x = np.random.default_rng(0).normal(5.0, 2.0, (7, 2))
    x[3, 1] = np.nan
    at = checked_columns(with_missing(x))
    found = LinearGaussian().left_out_log_density(Data(at.values, at.observed))
    for n, d in np.argwhere(~np.isnan(x)):
        others = np.delete(x[:, d], n)
        others = others[~np.isnan(others)]
        size = others.size
        scale = others.std(ddof=1) * np.sqrt(1 + 1 / size)
        expected = stats.t.logpdf(x[n, d], size - 1, others.mean(), scale)
        assert np.isclose(found[n, d], expected)


def test_columns_of_counts_alone_are_negative_binomial():
    x = np.random.default_rng(0).poisson(3.0, (6, 2)).astype(float)
    found = PoissonCounts().left_out_log_density(complete(x))
    for n, d in np.ndindex(x.shape):
        others = np.delete(x[:, d], n)
        law = stats.nbinom(others.sum() + 0.5, 5 / 6)
        assert np.isclose(found[n, d], law.logpmf(x[n, d]))


def test_a_column_constant_but_for_one_entry_scores_nothing_there():
    x = np.zeros((6, 1))
    x[2] = 1.0
    found = LinearGaussian().left_out_log_density(complete(x))
    assert np.isnan(found[2])
    assert np.isfinite(np.delete(found, 2)).all()


def test_the_mean_and_its_error_are_over_rows():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    alone = gain_of(values, np.arange(4))
    assert np.isclose(alone.mean, 3.0)
    assert np.isclose(alone.standard_error, values.std(ddof=1) / 2)
    twice = gain_of(np.repeat(values, 2), np.repeat(np.arange(4), 2))
    assert np.isclose(twice.standard_error, alone.standard_error)
    assert np.isnan(gain_of(values, np.zeros(4, int)).standard_error)


def test_a_tenth_of_each_row_is_left_out():
    observed = np.random.default_rng(0).random((30, 40)) < 0.8
    observed[0] = False
    chosen = _chosen(np.random.default_rng(1), observed)
    assert not (chosen & ~observed).any()
    expected = np.maximum(np.rint(0.1 * observed.sum(axis=1)), observed.any(axis=1))
    assert (chosen.sum(axis=1) == expected).all()


@pytest.mark.parametrize("kind", ["any count", "exact", "poisson"])
def test_rows_are_drawn_from_their_law(kind):
    """Many rows with the same data: how often each z is drawn, beside enumeration."""
    model = POISSON if kind == "poisson" else MODEL
    found = pool(model, n_draws=2)
    laws, size = found.count_log_probs[0, 0], found.log_odds.shape[1]
    given = found.parameters[0]
    if kind != "poisson":  # rows that differ
        given = given._replace(noise_scale=np.full(DIMS, 3.0))
    if kind == "exact":
        laws = np.where(np.arange(size + 1) == 2, 0.0, -np.inf)
    x = model.likelihood.draw_data(np.random.default_rng(4), found.unpacked(0)[:1], given)
    one = found._replace(
        parameters=[given], log_odds=found.log_odds[:1] * 0.2, count_log_probs=laws[None, None]
    )
    every = np.array(list(itertools.product([0, 1], repeat=size)), np.int8)
    prior, _ = row_prior(one.log_odds[0], one.count_log_probs[0], np.zeros(1, np.int64))
    mean = (every @ given.features + given.background)[:, 1:]
    if kind == "poisson":
        weight = stats.poisson.logpmf(x[0, 1:], mean).sum(axis=1)
    else:
        weight = stats.norm.logpdf(x[0, 1:], mean, 3.0).sum(axis=1)
    prior_weight = prior.tables[0][every.sum(axis=1)] + every @ prior.log_odds

    def p_values(n, seed, law):
        rng = np.random.default_rng(seed)
        shown = np.ones((n, DIMS), bool)
        shown[:, 0] = False
        data = Data(np.where(shown, x, 0.0), shown)
        z = np.zeros((n, size), np.int8)
        z[:, :2] = 1
        for _ in range(5):
            now = one._replace(rows=pack_rows(z)[None])
            z = redrawn_rows(rng, now, 0, model.likelihood, data, np.zeros(n, np.int64))
        times = np.bincount(z @ (1 << np.arange(size)[::-1]), minlength=len(every))
        return [frequencies_p_value(times, np.exp(log_softmax(law)))]

    assert holds(partial(p_values, law=weight + prior_weight), replicates(4000))
    assert is_caught(partial(p_values, law=prior_weight), 4000)


def test_units_do_not_matter():
    found, rng = pool(MODEL), np.random.default_rng(3)
    values = MODEL.likelihood.draw_data(rng, found.unpacked(0), found.parameters[0])
    which = np.zeros(ROWS, np.int64)
    plain = gain(np.random.default_rng(0), found, MODEL.likelihood, complete(values), which)
    units = 2.0 ** np.array([-90, 3, 60])[:DIMS]
    scaled = in_units(found, units)
    data = complete(values * units)
    found = gain(np.random.default_rng(0), scaled, MODEL.likelihood, data, which)
    np.testing.assert_allclose(found, plain, rtol=1e-11)  # logarithms of units come and go


def test_a_buffet_and_missing_entries():
    model, chains = buffet_chains(0, truth_of(0, unused=0))
    found = pool_of(chains, model)
    rng = np.random.default_rng(0)
    values = model.likelihood.draw_data(rng, found.unpacked(0), found.parameters[0])
    values[rng.random(values.shape) < 0.2] = np.nan
    known = gain(rng, found, model.likelihood, with_missing(values), np.zeros(ROWS, np.int64))
    assert np.isfinite(known).all()
    assert known.entries >= ROWS - 5
    nothing = Data(np.zeros((ROWS, DIMS)), np.zeros((ROWS, DIMS), bool))
    assert gain(rng, found, model.likelihood, nothing, np.zeros(ROWS, np.int64)).entries == 0
