"""Counts with strengths and exposures: the joint law of everything, and broken twins."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import stats

from ribp.errors import InputError
from ribp.likelihoods import PoissonCounts, PoissonStrengths, exposures
from ribp.likelihoods.data import Data, complete, with_missing
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.poisson_sweeps import poisson_strength_work
from ribp.mcmc import gibbs_rows
from ribp.testing.goodness import holds, is_caught
from tests.helpers.entry_cases import EXPOSED, LEARNING, OWN, Exposed, Learning
from tests.helpers.gibbs_cases import (
    ROWS,
    SWEEPS,
    some,
)


@pytest.mark.jit
@pytest.mark.parametrize(
    "name", some(EXPOSED, ["strengths, gap, background", "strengths, points, missing", "binary"])
)
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Exposed(EXPOSED[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


@pytest.mark.jit
@pytest.mark.parametrize("name", some(LEARNING, ["strengths, gap, background", "binary"]))
def test_one_sweep_keeps_the_joint_law_where_exposures_are_learned(name):
    assert holds(Learning(LEARNING[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


# Broken twins; those of the scale move are caught in tests/kernels/test_strength_moves.py


class FewerStrengths(PoissonStrengths):
    """Draws the shape of strengths as if one in five had not been seen."""

    def draw(self, rng, parameters, sums):
        strengths = sums.splits.strengths * np.array([[0.8], [1.0], [1.0]])
        split = sums.splits._replace(strengths=strengths)
        return super().draw(rng, parameters, sums._replace(splits=split))


class NoExposure(PoissonStrengths):
    """Sweeps rows, and splits counts, without their exposures."""

    def row_work(self, seed, number, parameters, prior):
        work = poisson_strength_work(seed, number, parameters, prior)

        def blind(first, data, law_of_row, rows):
            return work(first, Data(data.values, data.observed), law_of_row, rows)

        return blind


class NoBinaryExposure(PoissonCounts):
    """The same with binary rows, whose exposures should be learned."""

    def row_work(self, seed, number, parameters, prior):
        blind = PoissonCounts(background=self.background)
        return blind.row_work(seed, number, parameters, prior)


class LongerRows(PoissonCounts):
    """Draws the common scale of exposures as if their sum were larger."""

    def draw(self, rng, parameters, sums):
        split = sums.splits._replace(rows=sums.splits.rows * np.array([1.0, 1.4]))
        return super().draw(rng, parameters, sums._replace(splits=split))


class CarriedStrengths(PoissonStrengths):
    """Carries old strengths to new places."""

    def row_work(self, seed, number, parameters, prior):
        work = super().row_work(seed, number, parameters, prior)

        def carried(first, data, law_of_row, rows):
            before = rows * parameters.factors
            sums = work(first, data, law_of_row, rows)
            for old, new in zip(before, rows, strict=True):
                if (old > 0).sum() == (new > 0).sum():
                    new[new > 0] = old[old > 0]
            return sums

        return carried


def twin(kind, trial, cases, name):
    """Return a case whose sampler has another likelihood than its simulation."""
    model = cases[name].model
    settings = {field.name: getattr(model.likelihood, field.name) for field in fields(kind)}
    broken = replace(model, likelihood=kind(**settings))

    def update(rng, seed, state, _, data):
        return gibbs_rows.update_in_memory(rng, seed, state, broken, data)

    return trial(cases[name], update)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("trial", "replicates"),
    [
        (twin(FewerStrengths, Exposed, EXPOSED, "strengths"), 600),
        (twin(NoExposure, Exposed, EXPOSED, "strengths"), 600),
        (twin(NoBinaryExposure, Learning, LEARNING, "binary"), 600),
        (twin(LongerRows, Learning, LEARNING, "binary"), 600),
        (twin(CarriedStrengths, Exposed, EXPOSED, "strengths"), 1500),
    ],
    ids=["shape", "exposure", "learned exposure", "scale of exposures", "carried strengths"],
)
def test_broken_twins_are_caught(trial, replicates):
    assert is_caught(trial.one_sweep, replicates)


# The pieces


def test_strengths_of_the_prior_have_their_law():
    likelihood, rng = PoissonStrengths(), np.random.default_rng(0)
    parameters = likelihood.draw_prior(rng, 2, 3)
    shape = parameters.strength_scale**-2
    rows = likelihood.draw_sizes(rng, np.ones((4000, 2), np.int8), parameters)
    assert shape > 1.01
    assert stats.kstest(rows.ravel(), stats.gamma(shape, scale=1 / shape).cdf).pvalue > 1e-4


@pytest.mark.parametrize("kind", [PoissonCounts, PoissonStrengths])
@pytest.mark.parametrize("exposure", exposures.MODES)
def test_log_joint_is_that_of_its_parts(kind, exposure):
    likelihood, rng = kind(exposure=exposure, background=True), np.random.default_rng(1)
    parameters = likelihood.draw_prior(rng, 3, 4)
    z = rng.integers(0, 2, (ROWS, 3)).astype(np.int8)
    z[0] = 1
    rows = likelihood.draw_sizes(rng, z, parameters)
    values = likelihood.draw_data(rng, rows, parameters, OWN)
    values[0, 1] = np.nan
    data = with_missing(values)._replace(exposures=OWN if exposure == "given" else np.ones(0))
    features, mean = parameters.features, parameters.feature_scale
    every = np.vstack([features, parameters.background])
    exact = stats.gamma(0.5, scale=mean / 0.5).logpdf(every).sum()
    exact += stats.invgamma(2, scale=1.0).logpdf(mean) + np.log(mean)
    rates, seen = rows @ features + parameters.background, ~np.isnan(values)
    if exposure == "learn":
        nodes, weights = np.polynomial.legendre.leggauss(200)
        own = stats.gamma.ppf((nodes + 1) / 2, 2.0, scale=0.5)
        for n in range(ROWS):
            each = stats.poisson.logpmf(values[n, seen[n]], np.outer(own, rates[n, seen[n]]))
            exact += np.log(np.exp(each.sum(axis=1)) @ weights / 2)
    else:
        own = OWN if exposure == "given" else np.ones(ROWS)
        exact += stats.poisson.logpmf(values, own[:, None] * rates)[seen].sum()
    if kind is PoissonStrengths:
        a = parameters.strength_scale**-2
        exact += stats.gamma(a, scale=1 / a).logpdf(rows[z == 1]).sum()
        prior = stats.gamma(2, scale=8.0)
        exact += prior.logpdf(a) - prior.logsf(1.01) + np.log(a)
    assert likelihood.log_joint(data, rows, parameters) == pytest.approx(exact, rel=1e-6)
    weight = likelihood.log_weight(parameters, likelihood.sums(rng, data, rows, parameters))
    weight += likelihood.summed_log_terms(data, rows, parameters)
    assert likelihood.log_joint(data, rows, parameters) == pytest.approx(weight, rel=1e-12)


def test_strengths_that_all_are_one_leave_their_scale_alone():
    likelihood, rng = PoissonStrengths(), np.random.default_rng(0)
    rows = np.ones((6, 2))
    data = with_missing(rng.poisson(3.0, (6, 4)).astype(float))
    guess = likelihood.first_guess(data, 2)
    assert likelihood.update(rng, data, rows, guess).strength_scale == guess.strength_scale
    rows[0, 0] = 2.0
    assert likelihood.update(rng, data, rows, guess).strength_scale != guess.strength_scale


def test_a_law_of_gaussian_strengths_is_refused():
    with pytest.raises(InputError, match=r"strength_law.*gamma"):
        PoissonStrengths.make(Asked(strength_law="signed"), None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1.0, 2.0], "shape"),
        ([1.0, 0.0, 2.0], "0.0 in row 1"),
        ([1.0, np.nan, 2.0], "nan in row 1"),
        ([1.0, 2.0, np.inf], "inf in row 2"),
        ("much", "'much'"),
        ([[1.0], [2.0], [3.0]], "shape"),
        (["a", "b", "c"], "shape"),
    ],
)
def test_exposures_are_positive_numbers(given, told):
    with pytest.raises(InputError, match="exposure") as error:
        exposures.checked(given, 3)
    assert told in str(error.value)
    np.testing.assert_array_equal(exposures.checked([1, 2, 3], 3), [1.0, 2.0, 3.0])


def test_exposures_about_follow_the_totals_of_rows():
    data = with_missing(np.array([[1.0, 3.0], [2.0, np.nan], [0.0, 0.0]]))
    np.testing.assert_allclose(exposures.about(data, learn=True), [1.5, 1.5, 0.1])
    np.testing.assert_array_equal(exposures.about(data, learn=False), 1.0)


def test_annealing_is_told_the_shape_of_strengths():
    likelihood, data = PoissonStrengths(), complete(np.ones((3, 2)))
    given = likelihood.first_guess(data, 2)._replace(strength_scale=0.5)
    assert likelihood.row_kernels(data, given).features[2] == 4.0
