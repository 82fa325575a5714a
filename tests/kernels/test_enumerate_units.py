"""Rows of units with z summed out, against every row that there is."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from ribp.kernels.enumerate_units import next_row, units
from tests.helpers.multiplicity_cases import (
    COMMON,
    DIAGONAL,
    DIMS,
    FEATURES,
    KINDS,
    LAWS,
    LOADINGS,
    NOISE,
    SEEN,
    X,
    all_count_rows,
    growth_of,
    log_likelihood,
    log_rates,
    posterior,
    row_law,
    tables_of,
)


def answered(kind, table, seen, seeds):
    n = len(seeds)
    data = np.tile(np.where(seen, X / NOISE, 0.0), (n, 1))
    out = np.empty(n), np.empty((n, FEATURES)), np.zeros((n, FEATURES)), np.empty((n, FEATURES))
    units(
        seeds, data, np.tile(seen, (n, 1)), LOADINGS, COMMON, DIAGONAL, log_rates(kind),
        growth_of(kind), table, *out,
    )  # fmt: skip
    return out


def table_of(kind, law):
    table, _ = tables_of(kind, law, "sum", law.largest)
    return table + gammaln(np.arange(table.size) + 1.0)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_densities_probabilities_and_means_are_exact(kind, law, seen):
    law, seen = LAWS[law], SEEN[seen]
    log_sums, probs, sample, means = answered(kind, table_of(kind, law), seen, np.arange(1))
    rows = all_count_rows(law.largest)
    log_p = row_law(kind, law, "sum").log_prob(rows) + log_likelihood(rows, seen)
    empty = -0.5 * ((X / NOISE)[seen] ** 2).sum()
    assert log_sums[0] == pytest.approx(logsumexp(log_p) - empty, abs=1e-11)
    p = posterior(rows, kind, law, "sum", seen)
    np.testing.assert_allclose(probs[0], p @ (rows > 0), atol=1e-12)
    np.testing.assert_allclose(means[0], p @ rows, atol=1e-12)
    assert np.isfinite(law.log_probs(law.largest))[int(sample.sum())]


@pytest.mark.jit
def test_draws_have_the_posterior():
    law, seen, seeds = LAWS["a hole"], SEEN["most"], np.arange(20_000, dtype=np.uint64)
    _, _, sample, _ = answered("poisson", table_of("poisson", law), seen, seeds)
    rows = all_count_rows(3)
    p = posterior(rows, "poisson", law, "sum", seen)
    found = np.bincount(sample.astype(int) @ [16, 4, 1], minlength=64) / len(seeds)
    assert 0.5 * np.abs(found - p).sum() < 0.02


def test_a_law_without_any_row_is_impossible():
    table = np.full(3, -np.inf)
    log_sums, probs, _, means = answered("poisson", table, SEEN["all"], np.arange(1))
    assert log_sums[0] == -np.inf
    assert np.isnan(probs).all()
    assert np.isnan(means).all()


def test_rows_that_are_far_off_are_left_out_and_nothing_changes():
    loud = 40.0 * X / NOISE
    rows, table = all_count_rows(3), table_of("poisson", LAWS["interval"])
    out = np.empty(1), np.empty((1, FEATURES)), np.zeros((1, FEATURES)), np.empty((1, FEATURES))
    units(
        np.arange(1), loud[None], np.ones((1, DIMS), bool), LOADINGS, COMMON, DIAGONAL,
        log_rates("poisson"), 0.0, table, *out,
    )  # fmt: skip
    prior = row_law("poisson", LAWS["interval"], "sum").log_prob(rows)
    log_p = prior - 0.5 * ((loud - rows @ LOADINGS.T) ** 2).sum(axis=1) + 0.5 * (loud**2).sum()
    assert out[0][0] == pytest.approx(logsumexp(log_p), rel=1e-12)


def test_every_row_is_visited_once():
    members, size, met = np.empty(3, np.int64), 0, []
    while size >= 0:
        met.append(tuple(members[:size]))
        size = next_row(members, size, 2, 3)
    assert len(met) == len(set(met)) == 1 + 2 + 3 + 4
