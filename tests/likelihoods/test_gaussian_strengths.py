"""Entries with a strength: the joint law of data, rows, strengths and scales, and broken twins."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import stats

from ribp.errors import InputError
from ribp.likelihoods import GaussianStrengths, LinearGaussian
from ribp.likelihoods.data import with_missing
from ribp.likelihoods.strength_sweeps import strength_work
from ribp.mcmc import gibbs_rows
from ribp.testing.goodness import holds, is_caught
from tests.helpers.entry_cases import STRENGTHS
from tests.helpers.gibbs_cases import (
    SWEEPS,
    Trial,
    noisier,
    some,
)

QUICK = ["around one, gap, background", "signed", "positive, points, missing", "positive, gap"]


@pytest.mark.jit
@pytest.mark.parametrize("name", some(STRENGTHS, QUICK))
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Trial(STRENGTHS[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


# Broken twins; those of the scale move are caught in tests/kernels/test_strength_moves.py


class OneScaleTooFew(GaussianStrengths):
    """Draws the scale of strengths as if one in five had not been seen."""

    def draw(self, rng, parameters, sums):
        fewer = sums._replace(strengths=sums.strengths * np.array([[0.8], [0.8], [1.0]]))
        return super().draw(rng, parameters, fewer)


class FreeStrengths(GaussianStrengths):
    """Draws positive strengths as if they might be negative."""

    def row_work(self, seed, number, parameters, prior):
        return strength_work(seed, number, parameters, prior, 1.0, positive=False)


def twin(kind, name):
    """Return a case whose sampler has another likelihood than its simulation."""
    model = STRENGTHS[name].model
    settings = {field.name: getattr(model.likelihood, field.name) for field in fields(kind)}
    broken = replace(model, likelihood=kind(**settings))

    def update(rng, seed, state, _, data):
        return gibbs_rows.update_in_memory(rng, seed, state, broken, data)

    return Trial(STRENGTHS[name], update)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("trial", "replicates"),
    [
        (Trial(STRENGTHS["positive"], gibbs_rows.update_in_memory, noisier), 400),
        (twin(OneScaleTooFew, "around one"), 400),
        (twin(FreeStrengths, "positive"), 2000),
    ],
    ids=["noise", "scale", "negative strengths"],
)
def test_broken_twins_are_caught(trial, replicates):
    assert is_caught(trial.one_sweep, replicates)


# The pieces


@pytest.mark.parametrize("law", ["around-one", "signed", "positive"])
def test_strengths_of_the_prior_have_their_law(law):
    likelihood, rng = GaussianStrengths(strength_law=law), np.random.default_rng(0)
    parameters = likelihood.draw_prior(rng, 2, 3)
    tau, mu = parameters.strength_scale, likelihood.mean_strength
    rows = likelihood.draw_sizes(rng, np.ones((4000, 2), np.int8), parameters)
    low = -mu / tau if law == "positive" else -np.inf
    assert stats.kstest(rows.ravel(), stats.truncnorm(low, np.inf, mu, tau).cdf).pvalue > 1e-4
    assert (tau == 1.0) == (law == "signed")


@pytest.mark.parametrize("law", ["around-one", "signed", "positive"])
def test_log_joint_is_that_of_its_parts(law):
    likelihood, rng = GaussianStrengths(strength_law=law), np.random.default_rng(1)
    parameters = likelihood.draw_prior(rng, 3, 4)
    z = rng.integers(0, 2, (6, 3)).astype(np.int8)
    rows = likelihood.draw_sizes(rng, z, parameters)
    values = likelihood.draw_data(rng, rows, parameters)
    values[0, 1] = np.nan
    data = with_missing(values)
    noise, size, tau = parameters.noise_scale, parameters.feature_scale, parameters.strength_scale
    exact = LinearGaussian().scales_log_prior(parameters)
    for d in range(4):
        seen = ~np.isnan(values[:, d])
        y = rows[seen]
        cov = noise[d] ** 2 * (np.eye(len(y)) + size**2 * y @ y.T)
        exact += stats.multivariate_normal(cov=cov).logpdf(values[seen, d])
    mu = likelihood.mean_strength
    low = -mu / tau if law == "positive" else -np.inf
    exact += stats.truncnorm(low, np.inf, mu, tau).logpdf(rows[z == 1]).sum()
    if law != "signed":
        exact += stats.invgamma(2, scale=0.125).logpdf(tau**2) + np.log(2 * tau**2)
    assert likelihood.log_joint(data, rows, parameters) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("law", ["around-one", "signed", "positive"])
def test_log_density_of_strengths_given_data_and_rows(law):
    likelihood, rng = GaussianStrengths(background=True, strength_law=law), np.random.default_rng(2)
    parameters = likelihood.draw_prior(rng, 3, 4)
    most = 1 if law == "positive" else 3  # of more positive strengths the mass is a mean of draws
    z = np.array([rng.permutation(np.arange(3) < k) for k in rng.integers(0, most + 1, 6)], np.int8)
    rows = likelihood.draw_sizes(rng, z, parameters)
    values = likelihood.draw_data(rng, rows, parameters)
    values[0, 1] = values[2, 3] = np.nan
    loadings, exact = likelihood.loadings(parameters), 0.0
    mu, tau = likelihood.mean_strength, parameters.strength_scale
    for n, x in enumerate((values - parameters.background) / parameters.noise_scale):
        own, seen = z[n] == 1, ~np.isnan(x)
        a = loadings[np.ix_(own, seen)]
        m_matrix = np.linalg.inv(a @ a.T + np.eye(own.sum()) / tau**2)
        m = m_matrix @ (a @ x[seen] + mu / tau**2)
        if own.any() and law == "positive":
            width = np.sqrt(m_matrix[0, 0])
            exact += stats.truncnorm(-m[0] / width, np.inf, m[0], width).logpdf(rows[n, own][0])
        elif own.any():
            exact += stats.multivariate_normal(m, m_matrix).logpdf(rows[n, own])
    found = likelihood.sizes_log_density(with_missing(values), rows, parameters)
    assert found == pytest.approx(exact, rel=1e-9)


def test_a_law_must_be_one_that_exists():
    with pytest.raises(InputError, match="strength_law"):
        GaussianStrengths(strength_law="loud")
