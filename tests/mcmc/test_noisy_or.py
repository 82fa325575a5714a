"""Noisy-OR under the sampler with features kept: joint law, a broken twin, answers and refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import ribp
from ribp.errors import InputError
from ribp.kernels import noisy_or as kernel
from ribp.likelihoods.data import with_missing
from ribp.likelihoods.likelihood import Asked
from ribp.likelihoods.moments import moments
from ribp.likelihoods.noisy_or import NoisyOr
from ribp.mcmc import gibbs_rows
from ribp.report import Fit, page
from ribp.testing.exact import all_rows
from ribp.testing.goodness import holds, is_caught
from ribp.testing.recovery import f1
from tests.helpers import gibbs_cases as cases
from tests.helpers.entry_cases import NOISY_OR
from tests.helpers.short_searches import shorten

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("name", NOISY_OR)
def test_one_sweep_keeps_the_joint_law(name):
    trial = cases.Trial(NOISY_OR[name], gibbs_rows.update_in_memory)
    assert holds(trial.one_sweep, cases.SWEEPS)


def test_one_event_wherever_one_was_seen_is_caught(monkeypatch):
    def one(seed, number, first, data, observed, rows, loadings, offset, into):
        into[:] = data

    monkeypatch.setattr(kernel, "fill_counts", one)
    trial = cases.Trial(NOISY_OR["fixed mean"], gibbs_rows.update_in_memory)
    assert is_caught(trial.one_sweep, 1500)


def patients():
    """Return symptoms of patients with one or two of four diagnoses, and these."""
    rng = np.random.default_rng(1)
    ones = rng.integers(1, 3, 150)
    rows = np.array([rng.permutation(np.arange(4) < k) for k in ones])
    causes = np.where(rng.random((4, 20)) < 0.3, rng.uniform(0.6, 0.95, (4, 20)), 0.0)
    none = 0.98 * np.exp(rows @ np.log1p(-causes))
    X = pd.DataFrame(rng.random(none.shape) > none, columns=[f"s{d}" for d in range(20)])
    return X.astype(float).mask(rng.random(none.shape) < 0.02), ones, rows


def test_diagnoses_are_found_and_answers_follow_from_draws(monkeypatch):
    shorten(monkeypatch.setattr)
    X, ones, rows = patients()
    model = ribp.RestrictedIBP(
        "gibbs-rows", likelihood="noisy-or", counts=ones, max_features=8, n_chains=1, n_warmup=60,
        n_draws=30, random_state=0, progress=False,
    )  # fmt: skip
    with pytest.warns(ribp.errors.FitWarning):
        model.fit(X)
    assert f1(model.decode(X, ones), rows) > 0.8
    assert model.background_choice_.on
    frame = model.effects_frame()
    assert frame["with"].between(0, 1).all()
    assert (frame["change"] >= 0).all()  # a cause never prevents
    assert model.result_.posterior_predictive(0, 2).max() == 1.0
    probs = np.asarray(model.reconstruct(X, ones))
    rates = model.transform(X, ones) @ model.components_ + model.background_
    np.testing.assert_allclose(probs, 1.0 - np.exp(-rates), rtol=1e-12)
    assert "make of them" in page(Fit(model.result_, "x", model._data(X, reset=False)[0]))
    data = model._data(X.iloc[:2], reset=False)[0]
    every, law, draws = all_rows(8), model.result_.model.likelihood, model.result_.draws(100)
    size, found = every.sum(axis=1), []
    for n in range(2):
        for theta, given in zip(draws.log_odds, draws.parameters, strict=True):
            prior = every @ theta - logsumexp((every @ theta)[size == ones[n]])
            values = np.tile(data.values[n], (len(every), 1))
            terms = law.log_density(values, law.means(every, given), given)
            at = np.ones(20, bool) if data.complete else data.observed[n]
            found.append(logsumexp((prior + terms[:, at].sum(axis=1))[size == ones[n]]))
    expected = logsumexp(np.reshape(found, (2, -1)), axis=1) - np.log(len(draws.log_odds))
    rows_given = model.result_.rows_given(data, ones[:2])
    np.testing.assert_allclose(rows_given.log_density, expected, rtol=1e-9)


def test_entries_and_columns_alone():
    law, X = NoisyOr(), with_missing(np.array([[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]]))
    means = np.array([[0.3, 1.2]])
    for x in (0.0, 1.0):
        below, above = law.tails(np.full((1, 2), x), means, None)
        at = np.exp(law.log_density(np.full((1, 2), x), means, None))
        np.testing.assert_allclose(below + above + at, 1.0)
    p = law.expectations(means, None)
    np.testing.assert_allclose(law.variances(means, None), p * (1 - p))
    alone = law.column_log_density(X, np.ones((1, 2)))
    np.testing.assert_allclose(np.exp(alone), [[2.5 / 4, 1.5 / 3]])
    left = np.exp(law.left_out_log_density(X))
    np.testing.assert_allclose(left[:, 0], [1.5 / 3, 0.5 / 3, 1.5 / 3])
    linear, table = law.linearised(X)
    assert linear.background
    assert np.isfinite(table.values).all()
    made = NoisyOr.make(Asked(), moments(X))
    assert made.background
    assert made.prior_mean == pytest.approx(-np.log1p(-0.6))


@pytest.mark.parametrize("wrong", [2.0, 0.5, -1.0])
def test_only_yes_and_no(wrong):
    model = ribp.RestrictedIBP("gibbs-rows", likelihood="noisy-or", progress=False)
    with pytest.raises(InputError, match="must hold 0 and 1 under the noisy-OR likelihood"):
        model.fit(np.array([[0.0, 1.0], [1.0, wrong]]))
    with pytest.raises(InputError, match="must hold 0 and 1"):
        NoisyOr().check_values(with_missing(np.array([[0.0, wrong]])))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"background": False}, "background must be on with noisy-or"),
        ({"noise": "shared"}, r"noise must be left alone where data are yes and no"),
        ({"noise_scale": 1.0}, "noise_scale must be left alone"),
    ],
)
def test_what_it_has_no_use_for_is_refused(option, words):
    with pytest.raises(InputError, match=words):
        ribp.RestrictedIBP("gibbs-rows", likelihood="noisy-or", **option).fit(np.eye(4))
    if "background" not in option:
        with pytest.raises(InputError, match="left alone where data are counts"):
            ribp.RestrictedIBP("gibbs-rows", likelihood="poisson", **option).fit(np.eye(4))


def test_other_methods_refuse():
    with pytest.raises(InputError, match=r'"gibbs-rows" where data are yes and no \(noisy-OR\)'):
        ribp.RestrictedIBP(likelihood="noisy-or").fit(np.eye(4))
