"""Rows in memory, in files and in shards: the same draws, bit for bit."""

import numpy as np
import pytest

from ribp import fitting
from ribp.likelihoods.moments import moments
from ribp.mcmc import gibbs_rows
from ribp.scale import fit as scale_fit
from ribp.scale.in_process import InProcess, spans
from ribp.scale.source import ArraySource, as_source, npy_source
from tests.helpers.marks import short_of_convergence
from tests.helpers.running_cases import save_often
from tests.helpers.same_bits import assert_same_results, assert_same_states
from tests.helpers.scale_cases import (
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
    found = in_shards(name, lambda values: InProcess(ArraySource(values), n_threads, edges))
    assert_same_states(in_memory(name), found)


def test_another_seed_is_noticed(monkeypatch):
    """The broken twin: one block that is swept with the key of another."""
    whole = in_memory("gaussian")
    kept = gibbs_rows.order
    monkeypatch.setattr(
        gibbs_rows,
        "order",
        lambda seed, state, model: kept(seed + np.uint64(state.number == 3), state, model),
    )
    found = in_shards("gaussian", lambda values: InProcess(ArraySource(values), 1))
    with pytest.raises(AssertionError):
        assert_same_states(whole, found)


@pytest.mark.parametrize("name", ["gaussian", "background, missing"])
def test_moments_are_those_of_memory(name):
    _, _, values = case(name)
    survey = InProcess(ArraySource(values), 1, (0, 4096)).survey()
    for one, other in zip(survey.moments, moments(data_of(values)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(survey.moments.mean, np.nanmean(values, axis=0))
    np.testing.assert_allclose(survey.moments.variance, np.nanvar(values, axis=0))
    assert survey.moments.overall_mean == pytest.approx(np.nanmean(values))
    assert survey.complete == (not np.isnan(values).any())
    assert survey.digest == InProcess(ArraySource(values), 2).survey().digest
    values[17, 1] += 1e-9
    assert survey.digest != InProcess(ArraySource(values), 2).survey().digest


PLAN = {"n_chains": 2, "n_warmup": 4, "n_draws": 8, "seed": 7, "progress": False}


@pytest.mark.parametrize("grow", [False, True])
def test_a_fit_from_a_file_is_a_fit_from_memory(few, file, grow):
    values = np.load(file)
    in_mind = fitting.fit(
        model_of(ROWS), data_of(values), "gibbs-rows", grow=grow, thin=2, n_jobs=2, **PLAN
    )
    keeper = InProcess(npy_source(file), 2)
    survey = keeper.survey()
    found = scale_fit.fit(model_of(ROWS), keeper, survey, grow=grow, thin=2, **PLAN)
    assert_same_results(in_mind, found)
    mapped = InProcess(as_source(np.load(file, mmap_mode="r")), 1, (0, 4096))
    again = scale_fit.fit(model_of(ROWS), mapped, mapped.survey(), grow=grow, thin=2, **PLAN)
    assert_same_results(found, again)


def test_few_rows_start_as_in_memory(few):
    values, _ = features(120)
    settings = PLAN | {"n_draws": 4, "n_warmup": 2, "n_chains": 1}
    in_mind = fitting.fit(model_of(120), data_of(values), "gibbs-rows", thin=1, **settings)
    keeper = InProcess(ArraySource(values), 1)
    found = scale_fit.fit(model_of(120), keeper, keeper.survey(), thin=1, **settings)
    assert_same_results(in_mind, found)


@pytest.mark.parametrize("fails_at", [5, 14, 17])
def test_a_run_that_was_killed_goes_on_with_the_same_bits(
    few, file, tmp_path, monkeypatch, fails_at
):
    save_often(monkeypatch, 3)
    keeper = InProcess(npy_source(file), 2)
    survey = keeper.survey()
    whole = scale_fit.fit(model_of(ROWS), keeper, survey, thin=2, **PLAN)
    sweep, done = InProcess.sweep, []

    def failing(self, order):
        done.append(order.number)
        if sum(number < 2**31 for number in done) == fails_at:
            raise StoppedError
        return sweep(self, order)

    monkeypatch.setattr(InProcess, "sweep", failing)
    other = InProcess(npy_source(file), 1, (0, 4096))
    other.survey()
    folder = tmp_path / "run"
    with pytest.raises(StoppedError):
        scale_fit.fit(model_of(ROWS), other, survey, thin=2, checkpoint=folder, **PLAN)
    monkeypatch.setattr(InProcess, "sweep", sweep)
    fresh = InProcess(npy_source(file), 1, (0, 8192))
    found = scale_fit.resume(folder, fresh, fresh.survey(), progress=False)
    assert_same_results(whole, found)


def test_shards_cover_all_rows():
    for n_rows, n_shards in [(1, 3), (4096, 2), (9000, 2), (9000, 3), (100_000, 7)]:
        found = spans(n_rows, n_shards)
        assert [a for a, _ in found] == [0, *(b for _, b in found[:-1])]
        assert found[-1][1] == n_rows
        assert all(a % 4096 == 0 and b > a for a, b in found)
        assert len(found) == min(n_shards, -(-n_rows // 4096))
