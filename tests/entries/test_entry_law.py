"""The law of rows given weights: normalisers, draws and limits, against their definition."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from ribp import counts
from ribp.entries import BINARY, EntryLaw
from ribp.errors import InputError
from ribp.polynomials import RestrictedEntries

THETA = np.array([0.3, -0.9, 0.1])
LAWS = [
    EntryLaw("poisson", "nonzeros"),
    EntryLaw("poisson", "sum"),
    EntryLaw("negative_binomial", "nonzeros", 2.0),
    EntryLaw("negative_binomial", "sum", 0.6),
]


def log_weights(law, rows):
    """Return sum_i log a_i(z_i), from its definition."""
    if law.entries == "poisson":
        each = rows * THETA - gammaln(rows + 1.0)
    else:
        r = law.failures
        each = gammaln(rows + r) - gammaln(r) - gammaln(rows + 1.0)
        each = each - rows * np.logaddexp(0.0, -THETA)
    return each.sum(axis=1)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tables_are_those_of_rows_by_their_definition(law):
    f = counts.table([0.2, 0.5, 0.0, 0.3])
    rows = np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(-1, 3)
    rows = rows[law.totals(rows) <= 3]
    table = law.tables(f.log_probs(3), THETA)
    exact = RestrictedEntries(
        THETA, f, entries=law.entries, restrict=law.restrict, failures=law.failures
    ).log_prob(rows)
    np.testing.assert_allclose(table[law.totals(rows)] + log_weights(law, rows), exact, rtol=1e-12)


def test_binary_tables_have_no_more_counts_than_features():
    table = BINARY.tables(np.zeros((2, 9)), np.zeros(3))
    np.testing.assert_allclose(table, -np.log([[1, 3, 3, 1]] * 2))
    gone = BINARY.log_normalisers(np.array([0.0, -np.inf]), 2)
    np.testing.assert_array_equal(gone, [0.0, 0.0, -np.inf])


@pytest.mark.parametrize("law", [BINARY, *LAWS], ids=str)
def test_drawn_rows_have_the_counts_that_are_asked_for(law):
    asked = np.array([0, 1, 2, 3, 2])
    rows = law.draw_rows(np.random.default_rng(0), THETA, asked)
    np.testing.assert_array_equal(law.totals(rows), asked)
    assert rows.dtype == (np.float64 if law.counts else np.int8)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_probabilities_are_those_of_entries_that_are_free(law):
    v = np.arange(400)
    each = np.array([_log_prior(law, theta, v) for theta in THETA])
    np.testing.assert_allclose(law.probabilities(THETA), 1.0 - np.exp(-logsumexp(each, axis=1)))


def _log_prior(law, theta, v):
    if law.entries == "poisson":
        return v * theta - gammaln(v + 1.0)
    r = law.failures
    return gammaln(v + r) - gammaln(r) - gammaln(v + 1.0) - v * np.logaddexp(0.0, -theta)


def test_how_many_rows_there_are():
    table = np.log([0.5, 0.0, 0.5], where=[True, False, True], out=np.full(3, -np.inf))
    assert BINARY.possible_rows(table, 3) == 1 + 3
    assert EntryLaw("poisson", "sum").possible_rows(table, 3) == 1 + 6
    assert EntryLaw("poisson").possible_rows(table, 3) == np.inf
    assert EntryLaw("poisson").possible_rows(np.array([0.0, -np.inf]), 3) == 1


def test_sums_need_a_largest_one_and_are_stored_in_few_bytes():
    law = EntryLaw("poisson", "sum")
    assert law.most((counts.exactly(4), counts.uniform(0, 7)), 3) == 7
    assert law.most((counts.exactly(0),), 3) == 0
    assert law.sizes_type(7) == np.uint8
    assert law.sizes_type(300) == np.uint16
    assert EntryLaw("poisson").sizes_type(7) == np.uint32
    assert BINARY.sizes_type(7) == np.float32
    with pytest.raises(InputError, match="truncated"):
        law.most((counts.poisson(3.0),), 3)


@pytest.mark.parametrize(
    "asked",
    [("binary", "sum"), ("poisson", "ones"), ("negative_binomial", "nonzeros", 0.5)],
)
def test_laws_that_cannot_be_are_refused(asked):
    with pytest.raises(InputError, match=r"restrict|failures"):
        EntryLaw(*asked)
