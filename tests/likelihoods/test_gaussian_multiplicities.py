"""Entries that count: the joint law of data, rows, weights and scales, and broken twins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ribp import counts
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
from tests.helpers.gibbs_cases import (
    AHEAD,
    BLANK,
    GAP,
    INTERVALS,
    LEARNED,
    NOTHING,
    POINTS,
    SOME,
    SWEEPS,
    Case,
    Trial,
    case,
    forgetful,
    heavier,
    noisier,
    some,
)

SUM = {"restrict": "sum"}
MORE = counts.by_row([counts.exactly(6)] * 2 + [counts.table([0, 0, 0.5, 0, 0, 0.5])] * 3)
"""Sums above the number of features, and a gap."""


def poisson(laws, missing, mass=None, concentration=1.5, **settings):
    return case(laws, PoissonMultiplicities(**settings), "gamma-odds", missing, mass, concentration)


def negative_binomial(laws, missing, mass=None, concentration=3.0, **settings):
    law = NegativeBinomialMultiplicities(**{"failures": 2.0, **settings})
    return case(laws, law, "weak-limit", missing, mass, concentration)


def roomy(laws, missing, **settings):
    """Return a case whose mass is far from the number of features, where values have no mean."""
    law = NegativeBinomialMultiplicities(**settings)
    return Case(Model(laws, 12, law, None, 3.0, "weak-limit"), missing)


CASES = {
    "poisson sums": poisson(INTERVALS, NOTHING, **SUM),
    "poisson sums, many units, missing": poisson(MORE, SOME, None, None, **SUM),
    "poisson sums, learned, background": poisson(LEARNED, SOME, background=True, **SUM),
    "poisson sums, known": poisson(POINTS, BLANK, 1.2, 1.0, known=AHEAD, shared=True, **SUM),
    "poisson non-zeros": poisson(INTERVALS, SOME),
    "poisson non-zeros, gap": poisson(GAP, NOTHING, None, None, shared=True),
    "poisson non-zeros, learned": poisson(LEARNED, BLANK, background=True),
    "poisson non-zeros, points": poisson(POINTS, SOME, 1.2, noise_scale=0.7),
    "negative binomial sums": negative_binomial(INTERVALS, SOME, **SUM),
    "negative binomial sums, gap": negative_binomial(MORE, NOTHING, None, None, **SUM),
    "negative binomial sums, learned": negative_binomial(
        LEARNED, BLANK, shared=True, background=True, failures=0.6, **SUM
    ),
    "negative binomial non-zeros": roomy(INTERVALS, NOTHING),
    "negative binomial non-zeros, gap, missing": negative_binomial(GAP, SOME, 1.2),
    "negative binomial non-zeros, learned": roomy(LEARNED, SOME, background=True, failures=2.0),
}
INSIDE = poisson(counts.by_row([counts.uniform(0, 4)] * 5), NOTHING, 1.2, 1.0, **SUM)
"""Where both restrictions allow the same numbers."""
QUICK = [
    "poisson sums, many units, missing",
    "poisson sums, learned, background",
    "poisson non-zeros, gap",
    "negative binomial sums, gap",
    "negative binomial sums, learned",
    "negative binomial non-zeros, gap, missing",
]


@pytest.mark.jit
@pytest.mark.parametrize("name", some(CASES, QUICK))
def test_one_sweep_keeps_the_joint_law(name):
    assert holds(Trial(CASES[name], gibbs_rows.update_in_memory).one_sweep, SWEEPS)


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
        (Trial(CASES["poisson non-zeros"], gibbs_rows.update_in_memory, noisier), 400),
        (Trial(CASES["poisson sums"], gibbs_rows.update_in_memory, heavier), 1500),
        (
            Trial(CASES["negative binomial sums, learned"], gibbs_rows.update_in_memory, forgetful),
            400,
        ),
        (Trial(CASES["negative binomial sums, gap"], as_if_binary), 1500),
        (Trial(INSIDE, other_restriction), 1500),
    ],
    ids=["noise", "mass", "learned laws", "units", "restriction"],
)
def test_broken_twins_are_caught(trial, replicates):
    assert is_caught(trial.one_sweep, replicates)


# The pieces


@pytest.mark.parametrize("name", CASES)
def test_log_joint_is_that_of_its_parts(name):
    model, missing = CASES[name]
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
