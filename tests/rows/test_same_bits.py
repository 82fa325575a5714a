"""Rows in memory, in files and in shards: the same draws, bit for bit."""

import numpy as np
import pytest

from ribp import fitting
from ribp.likelihoods.moments import moments
from ribp.mcmc import gibbs_rows
from ribp.rows.local import LocalRows, LocalStore, spans
from ribp.rows.source import ArraySource, as_source, npy_source
from tests.helpers.marks import short_of_convergence
from tests.helpers.running_cases import save_often
from tests.helpers.same_bits import assert_same_results, assert_same_states
from tests.helpers.store_cases import (
    CASES,
    ROWS,
    SHARDS,
    StoppedError,
    case,
    data_of,
    features,
    in_memory,
    in_shards,
    model_of,
)

pytestmark = [
    pytest.mark.jit,
    short_of_convergence,
]


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("name", CASES)
def test_shards_and_threads_change_nothing(name, shards):
    n_threads, edges = SHARDS[shards]
    found = in_shards(name, lambda values: LocalStore(ArraySource(values), n_threads, edges))
    assert_same_states(in_memory(name), found)


def test_another_seed_is_noticed(monkeypatch):
    """The broken twin: one block that is swept with the key of another."""
    whole = in_memory("gaussian")
    sweep = gibbs_rows.Sweep
    monkeypatch.setattr(
        gibbs_rows,
        "Sweep",
        lambda likelihood, seed, parameters, steps: sweep(
            likelihood, seed + np.uint64(steps[0].number == 3), parameters, steps
        ),
    )
    found = in_shards("gaussian", lambda values: LocalStore(ArraySource(values), 1))
    with pytest.raises(AssertionError):
        assert_same_states(whole, found)


@pytest.mark.parametrize("name", ["gaussian", "background, missing"])
def test_moments_are_those_of_memory(name):
    _, _, values = case(name)
    survey = LocalStore(ArraySource(values), 1, (0, 4096)).look()
    for one, other in zip(survey.moments, moments(data_of(values)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(survey.moments.mean, np.nanmean(values, axis=0))
    np.testing.assert_allclose(survey.moments.variance, np.nanvar(values, axis=0))
    assert survey.moments.overall_mean == pytest.approx(np.nanmean(values))
    assert survey.complete == (not np.isnan(values).any())
    assert survey.digest == LocalStore(ArraySource(values), 2).look().digest
    values[17, 1] += 1e-9
    assert survey.digest != LocalStore(ArraySource(values), 2).look().digest


PLAN = {"n_chains": 2, "n_warmup": 4, "n_draws": 8, "seed": 7, "progress": False}


@pytest.mark.parametrize("grow", [False, True])
def test_a_fit_from_a_file_is_a_fit_from_memory(few, file, grow):
    values = np.load(file)
    in_mind = fitting.fit(
        model_of(ROWS), data_of(values), "gibbs-rows", grow=grow, thin=2, n_jobs=2, **PLAN
    )
    store = LocalStore(npy_source(file), 2)
    found = fitting.fit(model_of(ROWS), store, "gibbs-rows", grow=grow, thin=2, **PLAN)
    assert_same_results(in_mind, found)
    mapped = LocalStore(as_source(np.load(file, mmap_mode="r")), 1, (0, 4096))
    again = fitting.fit(model_of(ROWS), mapped, "gibbs-rows", grow=grow, thin=2, **PLAN)
    assert_same_results(found, again)


def test_few_rows_start_as_in_memory(few):
    values, _ = features(120)
    settings = PLAN | {"n_draws": 4, "n_warmup": 2, "n_chains": 1}
    in_mind = fitting.fit(model_of(120), data_of(values), "gibbs-rows", thin=1, **settings)
    store = LocalStore(ArraySource(values), 1)
    found = fitting.fit(model_of(120), store, "gibbs-rows", thin=1, **settings)
    assert_same_results(in_mind, found)


@pytest.mark.parametrize("fails_at", [5, 14, 17])
def test_a_run_that_was_killed_goes_on_with_the_same_bits(
    few, file, tmp_path, monkeypatch, fails_at
):
    save_often(monkeypatch, 3)
    store = LocalStore(npy_source(file), 2)
    whole = fitting.fit(model_of(ROWS), store, "gibbs-rows", thin=2, **PLAN)
    do, left = LocalRows.do, [fails_at]

    def failing(self, order):
        left[0] -= self.store is other and not order.fresh  # that of a start does not count
        if left[0] == 0:
            raise StoppedError
        return do(self, order)

    monkeypatch.setattr(LocalRows, "do", failing)
    other = LocalStore(npy_source(file), 1, (0, 4096))
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        fitting.fit(model_of(ROWS), other, "gibbs-rows", thin=2, checkpoint=folder, **PLAN)
    monkeypatch.setattr(LocalRows, "do", do)
    fresh = LocalStore(npy_source(file), 1, (0, 8192))
    found = fitting.resume(folder, fresh, progress=False)
    assert_same_results(whole, found)


def test_shards_cover_all_rows():
    for n_rows, n_shards in [(1, 3), (4096, 2), (9000, 2), (9000, 3), (100_000, 7)]:
        found = spans(n_rows, n_shards)
        assert [a for a, _ in found] == [0, *(b for _, b in found[:-1])]
        assert found[-1][1] == n_rows
        assert all(a % 4096 == 0 and b > a for a, b in found)
        assert len(found) == min(n_shards, -(-n_rows // 4096))
