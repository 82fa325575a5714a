"""Entries that count: the joint law of data, rows, weights and scales, and broken twins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ribp.entries import EntryLaw
from ribp.errors import InputError
from ribp.likelihoods import (
    LinearGaussian,
    NegativeBinomialMultiplicities,
    PoissonMultiplicities,
)
from ribp.likelihoods.data import with_missing
from ribp.mcmc import entry_weights, gibbs_rows
from ribp.model import Model
from ribp.polynomials import RestrictedEntries
from ribp.testing.goodness import holds, is_caught
from tests.helpers.entry_cases import INSIDE, MULTIPLICITIES
from tests.helpers.gibbs_cases import (
    INTERVALS,
    SWEEPS,
    Trial,
    forgetful,
    heavier,
    noisier,
    some,
)

QUICK = [
    "poisson sums, many units, missing",
    "poisson sums, learned, background",
    "poisson non-zeros, gap",
    "negative binomial sums, gap",
    "negative binomial sums, learned",
    "negative binomial non-zeros, gap, missing",
]


@pytest.mark.jit
@pytest.mark.parametrize("name", some(MULTIPLICITIES, QUICK))
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Trial(MULTIPLICITIES[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


# Broken twins; those of the moves of units are caught in tests/kernels/test_sweep_sums.py


def as_if_binary(rng, seed, state, model, data):
    """Draw weights from the number of rows that have a feature, not from their units."""
    old = entry_weights.update

    def update(rng, model, state, units, histogram):
        return old(rng, model, state, np.minimum(units, len(data.values)), histogram)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_weights, "update", update)
        return gibbs_rows.update_in_memory(rng, seed, state, model, data)


def other_restriction(rng, seed, state, model, data):
    """Sweep rows as if their number of non-zeros were restricted, not the sum."""
    broken = replace(model, likelihood=PoissonMultiplicities())
    prior = broken.row_prior(state)
    work = broken.likelihood.row_work(seed, state.number, state.parameters, prior)
    rows = state.rows.copy()
    work(0, data, model.counts.law_of_row, rows)
    return state._replace(rows=rows), None


@pytest.mark.jit
@pytest.mark.parametrize(
    ("trial", "replicates"),
    [
        (Trial(MULTIPLICITIES["poisson non-zeros"], gibbs_rows.update_in_memory, noisier), 400),
        (Trial(MULTIPLICITIES["poisson sums"], gibbs_rows.update_in_memory, heavier), 1500),
        (
            Trial(
                MULTIPLICITIES["negative binomial sums, learned"],
                gibbs_rows.update_in_memory,
                forgetful,
            ),
            400,
        ),
        (Trial(MULTIPLICITIES["negative binomial sums, gap"], as_if_binary), 1500),
        (Trial(INSIDE, other_restriction), 1500),
    ],
    ids=["noise", "mass", "learned laws", "units", "restriction"],
)
def test_broken_twins_are_caught(trial, replicates):
    assert is_caught(trial.one_sweep, replicates)


# The pieces


@pytest.mark.parametrize("name", MULTIPLICITIES)
def test_log_joint_is_that_of_its_parts(name):
    model, missing = MULTIPLICITIES[name]
    rng = np.random.default_rng(1)
    state, values = model.simulate(rng, missing.shape[1])
    values = np.where(missing, np.nan, values)
    likelihood, given, law = model.likelihood, state.parameters, model.entry_law
    plain = LinearGaussian(
        shared=likelihood.shared, background=likelihood.background, known=likelihood.known,
        noise_scale=likelihood.noise_scale,
    )  # fmt: skip
    exact = plain.log_joint(with_missing(values), state.rows, given)
    exact += model.weight_prior(state.mass, state.concentration).log_density(state.log_odds)
    if model.mass is None:
        exact += stats.gamma(1.0).logpdf(state.mass) + np.log(state.mass)
    if model.concentration is None:
        exact += stats.gamma(2.0, scale=0.5).logpdf(state.concentration)
        exact += np.log(state.concentration)
    if not model.learns_counts:
        for row, which in zip(state.rows, model.counts.law_of_row, strict=True):
            rows = RestrictedEntries(
                state.log_odds, model.counts.laws[which], entries=law.entries,
                restrict=law.restrict, failures=law.failures,
            )  # fmt: skip
            exact += float(rows.log_prob(row.astype(int)))
        assert model.log_joint(state, with_missing(values)) == pytest.approx(exact, rel=1e-11)


def test_what_cannot_be_is_refused():
    law = NegativeBinomialMultiplicities(failures=2.0)
    with pytest.raises(InputError, match="concentration"):
        Model(INTERVALS, 4, law, None, None, "weak-limit")
    with pytest.raises(InputError, match="weights"):
        Model(INTERVALS, 4, PoissonMultiplicities(), None, 1.0, "weak-limit")
    with pytest.raises(InputError, match="restrict"):
        PoissonMultiplicities(restrict="ones")
    assert law.entry_law == EntryLaw("negative_binomial", "nonzeros", 2.0)
