"""Sums over rows for features of a table of kinds: against the laws of the kinds."""

import numpy as np
import pytest
from scipy.special import gammaln

from ribp.kernels import kind_features as kernel
from ribp.kernels.kind_terms import LEVELS, SQUARE
from tests.helpers.kind_table import (
    COLUMNS,
    GIVEN,
    LAW,
    LEVEL,
    NAMES,
    OWN,
    PLACES,
    ROWS,
    SEEN,
    N,
    X,
)


def added(which, two, seen, steps):
    """Return the sums of the kernel, by column of the data."""
    sums = np.zeros((len(NAMES), 3))
    observed = np.zeros((0, 0), bool) if seen.all() else seen
    kernel.add_sums(
        which, two, PLACES.numbers(X), observed, np.log(OWN), ROWS, COLUMNS, GIVEN.features,
        GIVEN.background, LEVEL, np.vstack([steps, np.exp(steps)])[:, COLUMNS.place], sums,
    )  # fmt: skip
    found = np.empty_like(sums)
    found[COLUMNS.place] = sums
    return found


def by_definition(which, two, seen, steps):
    """Return the same from the laws."""
    eta, found = LAW.exposed(LAW.means(ROWS, GIVEN), OWN), np.zeros((len(NAMES), 3))
    members = np.ones(N, bool) if which < 0 else ROWS[:, which] == 1
    for d, kind in enumerate(PLACES.kinds):
        at, own = PLACES.latent(d), GIVEN.own[PLACES.own(d)]
        level = 1 if kind.form == LEVELS else 0
        here = members & seen[:, d]
        x, before = X[here, d], eta[here][:, at]
        after = before + steps[d] * (np.arange(kind.width) == level)
        found[d, kernel.GAIN] = (
            kind.log_density(x, after, own) - kind.log_density(x, before, own)
        ).sum()
        slopes = kind.slopes(x, after if two else before, own)
        found[d, kernel.SLOPE], found[d, kernel.BENT] = (one[:, level].sum() for one in slopes)
    return found


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("which", [-1, 0, 2])
@pytest.mark.parametrize("two", [False, True])
def test_sums_before_a_step_and_after_it(which, seen, two):
    steps = np.random.default_rng(0).normal(0, 1, len(NAMES)) * two
    found = added(which, two, SEEN[seen], steps)
    expected = by_definition(which, two, SEEN[seen], steps)
    at = np.array([not two or kind.form != SQUARE for kind in PLACES.kinds])  # these take no steps
    np.testing.assert_allclose(found[at], expected[at], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("level", [0.0, 30.0])
@pytest.mark.parametrize("seen", SEEN)
def test_own_numbers_at_candidates(seen, level):
    """Log-likelihoods of thresholds and shapes; squares and numbers of entries for real columns.

    Exponentials of ordered levels are multiplied, unless eta is large.
    """
    given = GIVEN._replace(background=GIVEN.background + level)
    observed = np.zeros((0, 0), bool) if seen == "all" else SEEN[seen]
    some = np.flatnonzero(PLACES.n_own[COLUMNS.place] > 0)
    numbers, expected = np.zeros((some.size, 2, 4)), np.zeros((some.size, 2))
    eta = LAW.exposed(LAW.means(ROWS, given), OWN)
    for k, c in enumerate(some):
        d = int(COLUMNS.place[c])
        kind, here = PLACES.kinds[d], SEEN[seen][:, d]
        x, v = X[here, d], eta[here][:, PLACES.latent(d)]
        if kind.form == SQUARE:
            rest = kind.slopes(x, v, GIVEN.own[PLACES.own(d)])[0]
            expected[k] = [(rest**2).sum(), here.sum()]
            continue
        for candidate, shift in enumerate((0.0, 0.7)):
            own = GIVEN.own[PLACES.own(d)] + shift
            line = kind.thresholds(own) if kind.levels else kind.numbers(own)
            numbers[k, candidate, : len(line)] = line
            constant = 0.0 if kind.levels else gammaln(x + 1.0)
            expected[k, candidate] = (kind.log_density(x, v, own) + constant).sum()
    found = np.zeros(expected.shape)
    kernel.own_log_likelihoods(
        PLACES.numbers(X), observed, np.log(OWN), ROWS, COLUMNS, given.features, given.background,
        some, numbers, found,
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-9)
