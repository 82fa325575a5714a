"""Rows of a table of kinds: conditionals and transitions against enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

from ribp import kinds
from ribp.kernels import kind_terms
from ribp.kernels import sweep_kinds as kernel
from ribp.kernels.sweep_gaussian import FLIPS, RELOCATIONS, WHOLE
from tests.helpers.kind_cases import KINDS, VALUES, table
from tests.helpers.row_cases import (
    EXACT,
    FEATURES,
    ROWS,
    TABLE,
    THETA,
    after_flip,
    after_proposal,
    after_relocations,
    after_walk,
    posterior,
    proposal_law,
    step,
)

MIXED = list(KINDS)
TABLES = {name: [name] * 2 for name in KINDS} | {"mixed": MIXED, "many": ["binary"] * 19}
SIZES = {"usual": 1.0, "large": 40.0, "very large": 200.0, "huge": 2000.0}

OWN = 1.7
"""The exposure of rows."""


class Row:
    """One row of a table, with features."""

    def __init__(self, names, seen="most", size=1.0):
        rng = np.random.default_rng(3)
        self.law = table(names)
        self.x = np.array([VALUES[name][at % len(VALUES[name])] for at, name in enumerate(names)])
        self.seen = np.arange(len(names)) % 4 != 3 if seen == "most" else np.ones(len(names), bool)
        given = self.law.draw_prior(rng, FEATURES, len(names))
        numbers = np.array([KINDS[name].has_units for name in names])[self.law.places.column]
        self.given = given._replace(features=given.features * np.where(numbers, 1.0, size))
        self.latent = self.law._latent(self.given.features, self.given.background)
        self.columns = self.law.places.columns(self.given.own)
        self.terms = kind_terms.new_terms(len(names))
        mask = np.zeros(0, bool) if self.seen.all() else self.seen
        kind_terms.fill_terms(
            self.law.places.numbers(self.x[None])[0], mask, np.log(OWN), *self.columns, *self.terms
        )
        self.work = np.empty((kernel.WORK, FEATURES))
        self.shares = np.empty(self.law.places.n_latent)
        kernel.fill_linear(*self.terms, self.latent.loadings, self.work)

    def log_likelihood(self):
        eta = self.law.exposed(self.law.means(ROWS, self.given), np.full(len(ROWS), OWN))
        density = self.law.log_density(np.tile(self.x, (len(ROWS), 1)), eta, self.given)
        return density[:, self.seen].sum(axis=1)

    def log_odds(self, law):
        def odds(z, i):
            eta = np.empty((2, self.shares.size))
            kind_terms.fill_latent(z, self.latent.features, self.latent.background, eta)
            kernel.fill_gains(0, z, eta, *self.terms, *self.latent, self.work, self.shares)
            prior = THETA[i] + step(TABLE[law], int(z.sum() - z[i]))
            return prior + self.work[kernel.GAINS, i]

        return odds

    def log_weights(self, z, i):
        eta = np.empty((2, self.shares.size))
        kernel.relocation_log_weights(
            i, z, 1.0, THETA, *self.terms, *self.latent, eta, self.work, self.shares
        )
        return self.work[kernel.GAINS].copy()


@pytest.mark.parametrize("seen", ["all", "most"])
@pytest.mark.parametrize("names", TABLES)
def test_flips_and_relocations_leave_the_posterior_unchanged(names, seen):
    row = Row(TABLES[names], seen)
    for law in ("interval", "one count"):
        pi = posterior(row.log_likelihood(), TABLE[law])
        for i in range(FEATURES):
            np.testing.assert_allclose(after_flip(pi, i, row.log_odds(law)), pi, **EXACT)
        np.testing.assert_allclose(after_relocations(pi, row.log_weights), pi, **EXACT)


@pytest.mark.parametrize("size", SIZES)
def test_gains_whatever_the_size_of_features(size):
    """Eight factors to a logarithm, fewer, or differences where exponentials are too large."""
    row = Row(["binary"] * 9 + ["ordinal", *["categorical"] * 3, "binomial"], "all", SIZES[size])
    every = {"usual": 64, "large": 15, "very large": 3, "huge": 0}[size]
    assert row.latent.every == every
    density = row.log_likelihood()
    for at in range(len(ROWS)):
        weights = row.log_weights(ROWS[at].copy(), 0) if ROWS[at, 0] else None
        for j in range(FEATURES):
            if weights is not None and (j == 0 or not ROWS[at, j]):
                there = (at & ~1) | 1 << j
                expected = density[there] - density[at & ~1] + THETA[j]
                assert weights[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def gains(law, features, x):
    """Return gains of all rows of features, whatever they are."""
    latent, terms = law._latent(features, np.zeros(features.shape[1])), kind_terms.new_terms(3)
    columns = law.places.columns(law.places.start)
    kind_terms.fill_terms(x, np.zeros(0, bool), 0.0, *columns, *terms)
    work, eta = np.empty((kernel.WORK, FEATURES)), np.empty((2, features.shape[1]))
    kernel.fill_linear(*terms, latent.loadings, work)
    found = []
    for z in ROWS:
        kind_terms.fill_latent(z, latent.features, latent.background, eta)
        kernel.fill_gains(0, z, eta, *terms, *latent, work, np.empty(eta.shape[1]))
        found.append(work[kernel.GAINS].copy())
    return np.array(found)


@pytest.mark.parametrize("first", [0.0, 2.5])
def test_two_unordered_levels_are_a_binary_column(first):
    """Whatever both levels of a feature have in common."""
    binary, two = table(["binary"] * 3), table([kinds.categorical(["a", "b"])] * 3)
    features = np.random.default_rng(0).normal(size=(FEATURES, 3))
    wide = np.full((FEATURES, 6), first)
    wide[:, 1::2] += features
    x = np.array([1.0, 0.0, 1.0])
    rounding = 1e-14  # gains are sums of numbers of about one, which may cancel
    np.testing.assert_allclose(
        gains(two, wide, x), gains(binary, features, x), rtol=1e-12, atol=rounding
    )


@pytest.mark.parametrize("number", range(2, 9))
def test_any_number_of_unordered_levels(number):
    """Kernels take three at a time, and less trouble for four or fewer."""
    rng = np.random.default_rng(number)
    law = table([kinds.categorical([f"level {r}" for r in range(number)])] * 3)
    features, x = 2.0 * rng.normal(size=(FEATURES, 3 * number)), np.array([0.0, number - 1.0, 1.0])
    eta = (ROWS @ features).reshape(len(ROWS), 3, number)
    density = (eta[:, np.arange(3), x.astype(int)] - logsumexp(eta, axis=2)).sum(axis=1)
    at = np.arange(len(ROWS))
    found = gains(law, features, x)
    for i in range(FEATURES):
        expected = density[at | 1 << i] - density[at & ~(1 << i)]
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-12, atol=1e-13)


def test_gains_from_a_feature_on_are_those_of_all():
    row = Row(MIXED, "all")
    eta = np.empty((2, row.shares.size))
    for z in ROWS:
        kind_terms.fill_latent(z, row.latent.features, row.latent.background, eta)
        kernel.fill_gains(0, z, eta, *row.terms, *row.latent, row.work, row.shares)
        everything = row.work[kernel.GAINS].copy()
        row.work[kernel.GAINS] = np.nan
        kernel.fill_gains(2, z, eta, *row.terms, *row.latent, row.work, row.shares)
        np.testing.assert_array_equal(row.work[kernel.GAINS, 2:], everything[2:])
        assert np.isnan(row.work[kernel.GAINS, :2]).all()


@pytest.mark.parametrize("level", [0.0, 30.0, 700.0, 800.0])
def test_factors_agree_with_differences_where_eta_is_extreme(level):
    names = ["binary"] * 5 + ["ordinal", "categorical", "binomial", "negbin"]
    row = Row(names, "all", 3.0)
    signs = np.where(np.arange(row.shares.size) % 2, -1.0, 1.0)
    background = row.latent.background[kind_terms.ETA] + level * signs
    factors = row.latent._replace(background=kernel.with_odds(background))
    assert factors.every > 0
    eta = np.empty((2, row.shares.size))
    for z in ROWS:
        kind_terms.fill_latent(z, factors.features, factors.background, eta)
        gains = []
        for latent in (factors, factors._replace(every=0)):
            with np.errstate(invalid="ignore"):  # exp eta is infinite at the highest level
                kernel.fill_gains(0, z, eta, *row.terms, *latent, row.work, row.shares)
            gains.append(row.work[kernel.GAINS].copy())
        np.testing.assert_allclose(*gains, rtol=1e-9, atol=1e-9)


def test_rates_that_are_too_large_count_for_nothing():
    row = Row(["log-poisson"] * 2, "all", 2000.0)
    odds = row.log_odds("interval")(ROWS[0].copy(), int(row.given.features[:, 0].argmax()))
    assert odds < -1e100 or odds == -np.inf


def test_relocations_that_walk_are_caught():
    row = Row(MIXED)
    pi = posterior(row.log_likelihood(), TABLE["interval"])
    assert np.abs(after_walk(pi, row.log_weights) - pi).sum() > 1e-3


@pytest.mark.parametrize("law", TABLE)
def test_whole_rows_leave_the_posterior_unchanged(law):
    row, shift = Row(MIXED), np.array([0.5, -1.0, 2.0, 0.1])
    pi, q = posterior(row.log_likelihood(), TABLE[law]), proposal_law(TABLE[law], THETA + shift)
    eta = np.empty((2, row.shares.size))
    given = row.latent.features, row.latent.background
    excess = np.array([kernel.excess(z, shift, *row.terms, *given, eta, row.shares) for z in ROWS])
    np.testing.assert_allclose(after_proposal(pi, q, excess), pi, **EXACT)
    assert np.abs(after_proposal(pi, q, excess + ROWS @ shift) - pi).sum() > 0.01


def swept(names, moves, theta=THETA, seen="most", n=12):
    """Return rows after a sweep that makes some of the moves."""
    row = Row(names, seen)
    rows = np.tile(ROWS[5], (n, 1))
    data = np.tile(row.law.places.numbers(row.x[None]), (n, 1))
    observed = np.tile(row.seen, (n, 1)) if seen == "most" else np.zeros((0, 0), bool)
    table_ = TABLE["interval"]
    steps = np.diff(table_)[None]
    size = row.shares.size
    kernel.sweep(
        np.uint64(1), 0, 7, np.zeros((n, FEATURES)), data, observed, np.full(n, np.log(OWN)), rows,
        row.columns, row.terms, row.latent, theta, table_[None], steps, np.zeros(n, np.int64),
        np.array([[one in moves for one in (FLIPS, RELOCATIONS, WHOLE)]]),
        np.ones((size, FEATURES)), np.full(FEATURES, float(size)), np.eye(FEATURES), 0.5, 4.0,
    )  # fmt: skip
    return rows


@pytest.mark.parametrize("seen", ["all", "most"])
def test_a_sweep_makes_the_moves_it_is_told(seen):
    assert (swept(MIXED, ()) == ROWS[5]).all()
    assert (swept(MIXED, (FLIPS,), seen=seen).sum(axis=1) != 2).any()
    moved = swept(MIXED, (RELOCATIONS,), seen=seen)
    assert (moved.sum(axis=1) == 2).all()
    assert (moved != ROWS[5]).any()
    assert (swept(["binary"] * 3, (WHOLE,), seen=seen) != ROWS[5]).any()


def test_places_without_weight_are_not_taken():
    moved = swept(["binary"] * 3, (RELOCATIONS,), np.full(FEATURES, -np.inf))
    assert (moved == ROWS[5]).all()


def test_levels_share_what_is_observed_of_their_column():
    law = table(["categorical", "binary"])
    columns, mask = law.places.columns(law.places.start), np.ones(4, bool)
    kernel.spread_mask(np.array([False, True]), columns, mask)
    np.testing.assert_array_equal(mask, [False, False, False, True])
