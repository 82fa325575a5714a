"""Rows to begin with: they obey their laws, seeds repeat, and which kind suits which laws."""

import numpy as np
import pytest

from ribp import counts
from ribp.kernels import sweep_collapsed as kernel
from ribp.likelihoods import LinearGaussian
from ribp.likelihoods.data import with_missing
from ribp.mcmc.rows_collapsed import summarise
from ribp.model import Model
from ribp.search import starts
from tests.helpers.search_cases import LAWS, obey


def test_filling_reaches_the_counts_and_keeps_the_summary():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(7, 4))
    rows = np.zeros((7, 5), np.int8)
    rows[0, 2] = rows[1, 4] = 1
    wanted = np.array([1, 3, 0, 2, 5, 1, 2])
    summary = summarise(data, rows.astype(float), np.full(5, 1.3))
    kernel.fill(np.uint64(3), 0, data, rows, wanted, *summary, np.zeros(5))
    np.testing.assert_array_equal(rows.sum(axis=1), wanted)
    assert rows[0, 2] == rows[1, 4] == 1  # ones that were there stay
    for kept, truth in zip(
        summary, summarise(data, rows.astype(float), np.full(5, 1.3)), strict=True
    ):
        np.testing.assert_allclose(kept, truth, atol=1e-10)


@pytest.mark.jit
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_rows_obey_their_laws_and_seeds_repeat(law, background, short_searches):
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 6))
    values[rng.random(values.shape) < 0.1] = np.nan
    values[3], values[:, 2] = np.nan, np.nan
    model, data = Model(LAWS[law], 8, LinearGaussian(background=background)), with_missing(values)

    def run(seed, number):
        rng = np.random.default_rng(seed)
        return starts.start_rows(rng, model, data, number, lambda: None)

    for number in range(4):
        rows = run(5, number)
        assert obey(rows, model)
        np.testing.assert_array_equal(rows, run(5, number))
        assert law in ("none", "wide") or (rows != run(6, number)).any()  # noise has no features


KINDS = {
    "groups": ["stage", "stage"],
    "one group": ["anneal_all"],
    "wide": ["grow", "anneal_all", "grow"],
    "wide groups": ["grow", "stage", "stage", "anneal_all", "grow"],
}


@pytest.mark.jit
@pytest.mark.parametrize("law", KINDS)
def test_kinds_take_turns(law, monkeypatch, short_searches):
    called = []
    for name in ("stage", "grow", "anneal_all"):
        method = getattr(starts._Search, name)

        def watched(search, *given, name=name, method=method):
            called.append((name, *given))
            return method(search, *given)

        monkeypatch.setattr(starts._Search, name, watched)
    rng = np.random.default_rng(0)
    model, data = Model(LAWS[law], 8, LinearGaussian()), with_missing(rng.normal(size=(40, 6)))
    n = len(KINDS[law])
    for number in range(2 * n):
        starts.start_rows(rng, model, data, number, lambda: None)
    assert [name for name, *_ in called[:n]] == KINDS[law]
    assert called[n:] == called[:n]
    assert len(set(called)) == n  # each with a heat of its own


@pytest.mark.jit
def test_groups_show_features_one_by_one():
    """With one feature in some rows and all but one in most, only staging finds them."""
    rng = np.random.default_rng(0)
    truth = np.vstack([np.eye(8), np.eye(8), 1 - np.eye(8)[rng.integers(8, size=60)]])
    truth = truth.astype(np.int8)
    values = truth @ rng.normal(0, 2, (8, 20)) + 0.3 * rng.normal(size=(76, 20))
    law = counts.as_row_counts(truth.sum(axis=1), 76)
    model = Model(law, 8, LinearGaussian())
    rows = starts.start_rows(rng, model, with_missing(values), 0, lambda: None)
    assert {tuple(column) for column in rows.T} == {tuple(column) for column in truth.T}
